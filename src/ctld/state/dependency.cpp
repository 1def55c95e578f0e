// Reading, showing and evaluating job dependencies.
#include "ctld/state/dependency.hpp"

#include <array>

#include "common/base/text.hpp"
#include "ctld/state/exit_status.hpp"

namespace sluice::state {
namespace {

struct KindName {
  DependencyKind kind;
  std::string_view name;
};
constexpr std::array<KindName, 7> kKinds{{
    {DependencyKind::kAfter, "after"},
    {DependencyKind::kAfterAny, "afterany"},
    {DependencyKind::kAfterOk, "afterok"},
    {DependencyKind::kAfterNotOk, "afternotok"},
    {DependencyKind::kAfterCorr, "aftercorr"},
    {DependencyKind::kAfterAny, "afterburstbuffer"},
    {DependencyKind::kSingleton, "singleton"},
}};

bool parse_job(std::string_view text, DependencyItem& item) {
  for (const std::string_view note : {"(unfulfilled)", "(failed)"}) {
    if (!text.ends_with(note)) continue;
    item.failed = note == "(failed)";
    text.remove_suffix(note.size());
  }
  if (const size_t plus = text.find('+'); plus != std::string_view::npos) {
    const auto number = to_number<uint32_t>(text.substr(plus + 1));
    if (!number) return false;
    if (item.kind == DependencyKind::kAfter) item.delay = *number;
    else item.component = *number;
    text = text.substr(0, plus);
  }
  if (const size_t bar = text.find('_'); bar != std::string_view::npos) {
    const std::string_view task = text.substr(bar + 1);
    item.all_tasks = task == "*";
    const auto number = to_number<uint32_t>(task);
    if (!item.all_tasks && !number) return false;
    if (number) item.task = *number;
    text = text.substr(0, bar);
  }
  const auto id = to_number<uint32_t>(text);
  if (!id || *id == kNoJob) return false;
  item.job = *id;
  return true;
}

bool parse_term(std::string_view term, std::vector<DependencyItem>& items) {
  const size_t colon = term.find(':');
  std::string_view word = term.substr(0, colon);
  DependencyItem item;
  if (const size_t note = word.find('('); note != std::string_view::npos) word = word.substr(0, note);
  const KindName* kind = nullptr;
  for (const KindName& row : kKinds) {
    if (iequals(row.name, word)) kind = &row;
  }
  if (kind == nullptr && to_number<uint32_t>(term)) {  // a bare job id
    item.kind = DependencyKind::kAfterAny;
    if (!parse_job(term, item)) return false;
    items.push_back(item);
    return true;
  }
  if (kind == nullptr) return false;
  item.kind = kind->kind;
  if (item.kind == DependencyKind::kSingleton) {
    items.push_back(item);
    return colon == std::string_view::npos;
  }
  if (colon == std::string_view::npos) return false;
  for (const std::string& id : split(term.substr(colon + 1), ':')) {
    DependencyItem one = item;
    if (!parse_job(id, one)) return false;
    items.push_back(one);
  }
  return true;
}

enum class Outcome { kWait, kMet, kNever };

bool has_started(const Job& job) { return job.start != kNoTime && job.state != JobState::kPending; }

// Of one record that is over.
bool succeeded(const Job& job) {
  return job.state == JobState::kCompleted && shell_code(job.exit_status) == 0;
}

// Calls visit(record) for what the item names; false when nothing is there any more.
template <class Visit>
bool for_named_jobs(const ClusterState& state, const DependencyItem& item, Visit&& visit) {
  if (item.component) {
    const Job* job = find_component(state, item.job, *item.component);
    if (job != nullptr) visit(*job);
    return job != nullptr;
  }
  if (item.task != kNoTask) {
    const Job* job = find_array_task(state, item.job, item.task);
    if (job != nullptr) visit(*job);
    return job != nullptr;
  }
  if (const ArrayTasks* tasks = state.arrays.find(item.job); tasks != nullptr) {
    tasks->jobs.for_each([&](uint32_t id) { visit(state.jobs.at(id)); });
    return true;
  }
  const Job* job = state.jobs.find(item.job);
  if (job != nullptr) visit(*job);
  return job != nullptr;
}

// Components of one heterogeneous job start together and do not wait for one another.
bool is_same_het(const Job& a, const Job& b) {
  return a.het != nullptr && b.het != nullptr && a.het->leader == b.het->leader;
}

Outcome singleton_outcome(const ClusterState& state, const Job& waiting) {
  Outcome outcome = Outcome::kMet;
  const auto look = [&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    if (id < waiting.id && job.spec->uid == waiting.spec->uid &&
        job.spec->name == waiting.spec->name && !is_same_het(job, waiting)) {
      outcome = Outcome::kWait;
    }
    return outcome == Outcome::kMet;
  };
  state.active.for_each(look);
  if (outcome == Outcome::kMet) state.pending.for_each(look);
  return outcome;
}

Outcome outcome_of(const ClusterState& state, const Job& waiting, const DependencyItem& given,
                   Time now) {
  if (given.kind == DependencyKind::kSingleton) return singleton_outcome(state, waiting);
  DependencyItem item = given;
  if (item.kind == DependencyKind::kAfterCorr) {
    // the task of the same number; a record of several tasks waits for all
    if (waiting.array != nullptr) item.task = waiting.array->task;
    item.kind = DependencyKind::kAfterOk;
  }
  bool all_over = true, all_started = true, all_good = true;
  const bool known = for_named_jobs(state, item, [&](const Job& job) {
    const bool over = is_finished(job);
    all_over = all_over && over;
    all_good = all_good && (!over || succeeded(job));
    const bool started = over || (has_started(job) &&
                                  now >= job.start + std::chrono::minutes(item.delay));
    all_started = all_started && started;
  });
  if (!known) return Outcome::kMet;  // purged, or never there: nothing to wait for
  switch (item.kind) {
    case DependencyKind::kAfter: return all_started ? Outcome::kMet : Outcome::kWait;
    case DependencyKind::kAfterAny: return all_over ? Outcome::kMet : Outcome::kWait;
    case DependencyKind::kAfterOk:
      if (!all_good) return Outcome::kNever;
      return all_over ? Outcome::kMet : Outcome::kWait;
    default:  // kAfterNotOk
      if (!all_over) return Outcome::kWait;
      return all_good ? Outcome::kNever : Outcome::kMet;
  }
}

}  // namespace

Result<Dependency> parse_dependency(std::string_view text) {
  Dependency dependency;
  dependency.any = text.find('?') != std::string_view::npos;
  if (dependency.any && text.find(',') != std::string_view::npos) {
    return failure(ErrorCode::kInvalidDependency);
  }
  for (const std::string& term : split(text, dependency.any ? '?' : ',')) {
    if (!parse_term(trim(term), dependency.items)) return failure(ErrorCode::kInvalidDependency);
  }
  return dependency;
}

std::string format_dependency(const Dependency& dependency) {
  std::string out;
  for (const DependencyItem& item : dependency.items) {
    if (!out.empty()) out += dependency.any ? '?' : ',';
    for (const KindName& row : kKinds) {
      if (row.kind != item.kind) continue;
      out += row.name;
      break;
    }
    if (item.kind != DependencyKind::kSingleton) {
      out += ':' + std::to_string(item.job);
      if (item.task != kNoTask) out += '_' + std::to_string(item.task);
      if (item.all_tasks) out += "_*";
      if (item.component) out += '+' + std::to_string(*item.component);
      if (item.delay != 0) out += '+' + std::to_string(item.delay);
    }
    out += item.failed ? "(failed)" : "(unfulfilled)";
  }
  return out;
}

DependencyResult evaluate_dependency(const ClusterState& state, const Job& job,
                                     const Dependency& dependency, Time now) {
  DependencyResult result;
  result.left.any = dependency.any;
  bool all_failed = true;
  for (DependencyItem item : dependency.items) {
    if (!item.failed) {
      const Outcome outcome = outcome_of(state, job, item, now);
      if (outcome == Outcome::kMet) {
        if (!dependency.any) continue;
        result.left.items.clear();
        return result;
      }
      item.failed = outcome == Outcome::kNever;
    }
    result.never = result.never || item.failed;
    all_failed = all_failed && item.failed;
    result.left.items.push_back(item);
  }
  if (dependency.any) result.never = all_failed;
  return result;
}

}  // namespace sluice::state
