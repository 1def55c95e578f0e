// Reading and showing job dependencies.
#include <algorithm>
#include <array>
#include <optional>

#include "common/base/index_ops.hpp"
#include "common/base/text.hpp"
#include "ctld/state/rules/dependency.hpp"

namespace sluice::state {
namespace {

struct KindName {
  DependencyKind kind;
  std::string_view name;
};
// of all items together: what is kept of each is looked at again and again
constexpr uint64_t kMostTasks = 10'000;
constexpr size_t kMostPieces = 1000;   // of what is new: jobs, single tasks, and ranges of tasks
constexpr uint64_t kShownSingly = 64;  // tasks of all items together; more are shown as lists
constexpr std::array<KindName, 7> kKinds{{
    {DependencyKind::kAfter, "after"},
    {DependencyKind::kAfterAny, "afterany"},
    {DependencyKind::kAfterOk, "afterok"},
    {DependencyKind::kAfterNotOk, "afternotok"},
    {DependencyKind::kAfterCorr, "aftercorr"},
    {DependencyKind::kAfterBurstBuffer, "afterburstbuffer"},
    {DependencyKind::kSingleton, "singleton"},
}};

// How many items they are where each task stands for itself.
uint64_t tasks_of(const DependencyItem& item) { return std::max<uint64_t>(1, item.tasks.size()); }

// Calls visit(item) for each task by itself.
template <class Visit>
void for_each_singly(const DependencyItem& item, Visit&& visit) {
  if (item.tasks.size() <= 1) return visit(item);
  item.tasks.for_each([&](uint32_t task) {
    DependencyItem one = item;
    one.tasks = IndexSet(task, task);
    visit(one);
  });
}

// A job, its task, or several of its tasks ("12_[1-3]").
bool parse_jobs(std::string_view text, DependencyItem item, std::vector<DependencyItem>& items) {
  // as a waiting job has it, which may have been given "+0" when that was taken
  bool is_noted = false;
  for (const std::string_view note : {"(unfulfilled)", "(failed)"}) {
    if (!text.ends_with(note)) continue;
    is_noted = true;
    item.failed = note == "(failed)";
    text.remove_suffix(note.size());
  }
  if (const size_t plus = text.find('+'); plus != std::string_view::npos) {
    const auto number = to_number<uint32_t>(text.substr(plus + 1));
    if (!number || (*number == 0 && !is_noted)) return false;
    if (item.kind == DependencyKind::kAfter) item.delay = *number;
    else item.component = *number;
    text = text.substr(0, plus);
  }
  if (const size_t bar = text.find('_'); bar != std::string_view::npos) {
    const std::string_view list = text.substr(bar + 1);
    item.all_tasks = list == "*";
    auto tasks = item.all_tasks ? IndexSet() : IndexSet::parse_tasks(list);
    if (!tasks || (tasks->empty() && !item.all_tasks) || tasks->size() > kMostTasks) return false;
    item.tasks = std::move(*tasks);
    text = text.substr(0, bar);
  }
  const auto id = to_number<uint32_t>(text);
  if (!id || *id == kNoJob) return false;
  item.job = *id;
  items.push_back(std::move(item));
  return true;
}

bool parse_term(std::string_view term, std::vector<DependencyItem>& items) {
  const size_t colon = term.find(':');
  std::string_view word = term.substr(0, colon);
  DependencyItem item;
  if (const size_t note = word.find('('); note != std::string_view::npos)
    word = word.substr(0, note);
  const KindName* kind = nullptr;
  for (const KindName& row : kKinds) {
    if (iequals(row.name, word)) kind = &row;
  }
  if (kind == nullptr && to_number<uint32_t>(term)) {  // a bare job id
    item.kind = DependencyKind::kAfterAny;
    return parse_jobs(term, item, items);
  }
  if (kind == nullptr) return false;
  item.kind = kind->kind;
  if (item.kind == DependencyKind::kSingleton) {
    items.push_back(item);
    return colon == std::string_view::npos;
  }
  if (colon == std::string_view::npos || colon + 1 == term.size()) return false;
  for (const std::string& id : split(term.substr(colon + 1), ':')) {
    if (!parse_jobs(id, item, items)) return false;
  }
  return true;
}

// At "," and "?", but not in brackets.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  if (text.empty()) return terms;
  size_t from = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[' || text[at] == ']') inside = text[at] == '[';
    if (inside || (text[at] != ',' && text[at] != '?')) continue;
    terms.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  terms.push_back(text.substr(from));
  return terms;
}

bool differ_by_task_alone(const DependencyItem& a, const DependencyItem& b) {
  return a.kind == b.kind && a.job == b.job && a.delay == b.delay && a.component == b.component &&
         a.failed == b.failed && !a.tasks.empty() && !b.tasks.empty();
}

// Few tasks stand each for itself, as Slurm has them; of many, neighbours of one array become one
// item.
std::vector<DependencyItem> put_together(std::vector<DependencyItem> items, uint64_t all_tasks) {
  std::vector<DependencyItem> out;
  if (all_tasks <= kShownSingly) {
    for (const DependencyItem& item : items)
      for_each_singly(item, [&](const DependencyItem& one) { out.push_back(one); });
    return out;
  }
  std::vector<uint32_t> tasks;
  for (size_t at = 0; at < items.size();) {
    const size_t first = at;
    while (at < items.size() && (at == first || differ_by_task_alone(items[first], items[at])))
      ++at;
    if (at - first > 1) {
      tasks.clear();
      for (size_t one = first; one < at; ++one)
        items[one].tasks.for_each([&](uint32_t task) { tasks.push_back(task); });
      items[first].tasks = index_set_of(tasks);
    }
    out.push_back(std::move(items[first]));
  }
  return out;
}

// As in Slurm the first one of a kind about the same job or tasks counts, whatever its delay.
bool say_the_same(const DependencyItem& a, const DependencyItem& b) {
  return a.kind == b.kind && a.job == b.job && a.component == b.component &&
         a.all_tasks == b.all_tasks && a.tasks == b.tasks;
}

void drop_repeated(Dependency& dependency) {
  std::vector<DependencyItem> out;
  for (DependencyItem& item : dependency.items) {
    const auto same = [&](const DependencyItem& one) { return say_the_same(one, item); };
    if (std::ranges::none_of(out, same)) out.push_back(std::move(item));
  }
  dependency.items = std::move(out);
  if (dependency.items.size() == 1 && dependency.items[0].tasks.size() < 2) dependency.any = false;
}

// Of several tasks of which any is enough, so that a "?" says so.
std::vector<DependencyItem> in_two(const DependencyItem& item) {
  std::vector<DependencyItem> two(2, item);
  const uint32_t first = *two[1].tasks.pop_first();
  two[0].tasks = IndexSet(first, first);
  return two;
}

void append_item(const DependencyItem& item, bool any, std::string& out) {
  if (!out.empty()) out += any ? '?' : ',';
  for (const KindName& row : kKinds) {
    if (row.kind != item.kind) continue;
    out += row.name;
    break;
  }
  if (item.kind != DependencyKind::kSingleton) {
    out += ':' + std::to_string(item.job);
    const size_t tasks = item.tasks.size();
    if (tasks == 1) out += '_' + std::to_string(item.tasks.front());
    if (tasks > 1) out += "_[" + item.tasks.to_text() + ']';
    if (item.all_tasks) out += "_*";
    if (item.component) out += '+' + std::to_string(*item.component);
    if (item.delay != 0) out += '+' + std::to_string(item.delay);
  }
  out += item.failed ? "(failed)" : "(unfulfilled)";
}

}  // namespace

Result<Dependency> parse_dependency(std::string_view text, DependencyText source) {
  const auto invalid = [] { return failure(ErrorCode::kInvalidDependency); };
  Dependency dependency;
  dependency.any = text.find('?') != std::string_view::npos;
  std::vector<DependencyItem> items;
  uint64_t tasks = 0;
  for (const std::string_view term : split_terms(text)) {
    if (iequals(term.substr(0, 7), "expand:")) return failure(ErrorCode::kNotSupported);
    const size_t before = items.size();
    if (!parse_term(trim(term), items)) return invalid();
    for (size_t at = before; at < items.size(); ++at) tasks += tasks_of(items[at]);
    if (tasks > kMostTasks) return invalid();
  }
  dependency.items = put_together(std::move(items), tasks);
  size_t pieces = 0;
  for (const DependencyItem& item : dependency.items)
    pieces += std::max<size_t>(1, item.tasks.ranges().size());
  if (source == DependencyText::kKept) return dependency;
  if (pieces > kMostPieces) return invalid();
  drop_repeated(dependency);
  return dependency;
}

std::string format_dependency(const Dependency& dependency) {
  const bool alone =
      dependency.any && dependency.items.size() == 1 && dependency.items[0].tasks.size() > 1;
  if (alone) return format_dependency({in_two(dependency.items[0]), true});
  uint64_t tasks = 0;
  for (const DependencyItem& item : dependency.items) tasks += tasks_of(item);
  std::string out;
  for (const DependencyItem& item : dependency.items) {
    if (tasks > kShownSingly) append_item(item, dependency.any, out);
    else
      for_each_singly(item,
                      [&](const DependencyItem& one) { append_item(one, dependency.any, out); });
  }
  return out;
}

}  // namespace sluice::state
