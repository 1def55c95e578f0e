// Reading, showing and evaluating job dependencies.
#include "ctld/state/dependency.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "common/base/index_ops.hpp"
#include "common/base/text.hpp"
#include "ctld/state/fold.hpp"

namespace sluice::state {
namespace {

struct KindName {
  DependencyKind kind;
  std::string_view name;
};
constexpr uint64_t kMostTasks = 10'000;  // of one "12_[...]"
constexpr size_t kMostItems = 10'000;    // of a job's dependency, each task one: they are looked at again and again
constexpr size_t kMostFollowed = 50'000;  // jobs and items that is_circular() looks at before it gives up
constexpr std::array<KindName, 7> kKinds{{
    {DependencyKind::kAfter, "after"},
    {DependencyKind::kAfterAny, "afterany"},
    {DependencyKind::kAfterOk, "afterok"},
    {DependencyKind::kAfterNotOk, "afternotok"},
    {DependencyKind::kAfterCorr, "aftercorr"},
    {DependencyKind::kAfterBurstBuffer, "afterburstbuffer"},
    {DependencyKind::kSingleton, "singleton"},
}};

// A job, its task, or several of its tasks ("12_[1-3]"), each an item.
bool parse_jobs(std::string_view text, DependencyItem item, std::vector<DependencyItem>& items) {
  bool is_noted = false;  // as a waiting job has it, which may have been given "+0" when that was taken
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
  std::optional<IndexSet> tasks;
  if (const size_t bar = text.find('_'); bar != std::string_view::npos) {
    const std::string_view list = text.substr(bar + 1);
    item.all_tasks = list == "*";
    if (!item.all_tasks) tasks = IndexSet::parse_tasks(list);
    if (!item.all_tasks && (!tasks || tasks->empty() || tasks->size() > kMostTasks)) return false;
    text = text.substr(0, bar);
  }
  const auto id = to_number<uint32_t>(text);
  if (!id || *id == kNoJob) return false;
  item.job = *id;
  if (!tasks) items.push_back(item);
  else tasks->for_each([&](uint32_t task) {
    item.task = task;
    items.push_back(item);
  });
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

enum class Outcome { kWait, kMet, kNever };

bool has_started(const Job& job) { return job.start != kNoTime && job.state != JobState::kPending; }

// Of jobs that are over, too: what never ran has its end as its start.
bool is_delay_over(Time start, Minutes delay, Time now) { return delay == 0 || now >= start + std::chrono::minutes(delay); }

// How far the jobs are that an item names.
struct Progress {
  bool known = false;  // false: purged, or never there
  bool all_over = true, all_good = true;
  bool some_waits = false;        // has not started
  Time latest_start = kNoTime;    // of those that have

  void add(const Job& job) {
    const bool over = is_finished(job);
    known = true;
    all_over = all_over && over;
    all_good = all_good && (!over || succeeded(job));
    some_waits = some_waits || !(over || has_started(job));
    latest_start = std::max(latest_start, job.start);
  }
  [[nodiscard]] bool all_started(Minutes delay, Time now) const { return !some_waits && is_delay_over(latest_start, delay, now); }
};

Progress progress_of_array(const ClusterState& state, const ArrayTasks& tasks) {
  Progress progress;
  bool cancelled = false;  // some have no record; as in Slurm that matters when all the others are over
  tasks.jobs.for_each([&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    progress.add(job);
    cancelled = cancelled || !job.array->cancelled.empty();
  });
  progress.known = true;
  progress.all_good = progress.all_good && tasks.folded_bad == 0;
  progress.latest_start = std::max(progress.latest_start, tasks.latest_start);
  if (progress.all_over && cancelled) progress.all_good = false;
  return progress;
}

// Tasks of an array that had records of their own, and are over.
IndexSet tasks_over(const ClusterState& state, const ArrayTasks& tasks) {
  std::vector<uint32_t> over;
  tasks.jobs.for_each([&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    if (is_finished(job) && job.array->task != kNoTask) over.push_back(job.array->task);
  });
  tasks.folded.for_each([&](uint32_t id) { over.push_back(state.folded.at(id).task); });
  return index_set_of(over);
}

// Whether any of a record's tasks has or may get a partner in the array: they are not all decided alike.
bool waits_for_partners(const ClusterState& state, const ArrayInfo& waiting, JobId array) {
  const ArrayTasks* tasks = state.arrays.find(array);
  if (tasks == nullptr) return false;
  bool any_left = false;
  tasks->jobs.for_each([&](uint32_t id) { any_left = any_left || !is_finished(state.jobs.at(id)); });
  return any_left || tasks_over(state, *tasks).intersects(waiting.pending);
}

// Components of one heterogeneous job start together and do not wait for one another.
bool is_same_het(const Job& a, const Job& b) {
  return a.het != nullptr && b.het != nullptr && a.het->leader == b.het->leader;
}

// Ids wrap round at MaxJobId: of those that are in use, what is not below the next one is left from the round before.
// The waiting job may be new: then it has no record, and all others came before it.
class Earlier {
 public:
  Earlier(const ClusterState& state, const Job& waiting)
      : waiting_(waiting.id), next_(state.next_job_id), is_new_(!state.jobs.contains(waiting.id)) {}
  [[nodiscard]] bool contains(JobId id) const {
    if (id == waiting_ || is_new_) return id != waiting_;
    const bool old = id >= next_, waits_long = waiting_ >= next_;
    return old != waits_long ? old : id < waiting_;
  }

 private:
  JobId waiting_, next_;
  bool is_new_;
};

Outcome singleton_outcome(const ClusterState& state, const Job& waiting) {
  Outcome outcome = Outcome::kMet;
  const Earlier earlier(state, waiting);
  const auto look = [&](uint32_t id) {
    if (!earlier.contains(id)) return true;
    const Job& job = state.jobs.at(id);
    const bool together = job.array != nullptr && waiting.array != nullptr &&
                          job.array->array_job == waiting.array->array_job;
    if (!together && job.spec->uid == waiting.spec->uid && job.spec->name == waiting.spec->name &&
        !is_same_het(job, waiting)) {
      outcome = Outcome::kWait;
    }
    return outcome == Outcome::kMet;
  };
  state.active.for_each(look);
  if (outcome == Outcome::kMet) state.pending.for_each(look);
  return outcome;
}

// Looks at one job's dependency. It may name the same array, or all of a user's jobs, ten thousand times: these are gone
// through once.
class Evaluation {
 public:
  Evaluation(const ClusterState& state, const Job& waiting, Time now) : state_(state), waiting_(waiting), now_(now) {}

  Outcome outcome_of(const DependencyItem& given) {
    if (given.kind == DependencyKind::kSingleton) {
      if (!singleton_) singleton_ = singleton_outcome(state_, waiting_);
      return *singleton_;
    }
    DependencyItem item = given;
    if (item.kind == DependencyKind::kAfterCorr) {
      // The task of the same number: where the array has none, and for jobs that are no array, all of it.
      // A record of several tasks waits; tasks whose turn comes are split off, and what is left then has no partners.
      const bool task = waiting_.array != nullptr && given.task == kNoTask;
      if (task && waiting_.array->task == kNoTask && may_get_partners(item.job)) return Outcome::kWait;
      if (task && find_array_task(state_, item.job, waiting_.array->task)) item.task = waiting_.array->task;
      item.kind = DependencyKind::kAfterOk;
    }
    const Progress is = progress_of(item);
    if (!is.known) return Outcome::kMet;  // nothing to wait for
    switch (item.kind) {
      case DependencyKind::kAfter: return is.all_started(item.delay, now_) ? Outcome::kMet : Outcome::kWait;
      case DependencyKind::kAfterOk:  // of an array it is decided when all of it is over, as in Slurm: a task may be queued again
        if (!is.all_over) return Outcome::kWait;
        return is.all_good ? Outcome::kMet : Outcome::kNever;
      case DependencyKind::kAfterNotOk:
        if (!is.all_over) return Outcome::kWait;
        return is.all_good ? Outcome::kNever : Outcome::kMet;
      default: return is.all_over ? Outcome::kMet : Outcome::kWait;  // afterany, afterburstbuffer
    }
  }

 private:
  bool may_get_partners(JobId array) {
    const auto [at, fresh] = partners_.try_emplace(array, false);
    if (fresh) at->second = waits_for_partners(state_, *waiting_.array, array);
    return at->second;
  }

  Progress progress_of(const DependencyItem& item) {
    Progress progress;
    if (const Job* part = item.component ? find_component(state_, item.job, *item.component) : nullptr) {
      progress.add(*part);
      return progress;
    }
    if (const ArrayTasks* tasks = state_.arrays.find(item.job); tasks != nullptr && item.task == kNoTask) {
      const auto [at, fresh] = arrays_.try_emplace(item.job);
      if (fresh) at->second = progress_of_array(state_, *tasks);
      return at->second;
    }
    const FoundJob job = find_array_task(state_, item.job, item.task);
    if (job) progress.add(*job);
    return progress;
  }

  const ClusterState& state_;
  const Job& waiting_;
  const Time now_;
  std::optional<Outcome> singleton_;
  std::unordered_map<JobId, Progress> arrays_;
  std::unordered_map<JobId, bool> partners_;
};

// The jobs that a pending one still waits for.
std::vector<DependencyItem> waits_for(const Job& job) {
  if (job.state != JobState::kPending || job.dependency.empty()) return {};
  const auto parsed = parse_dependency(job.dependency.view());
  return parsed ? parsed->items : std::vector<DependencyItem>();
}

// Whether the item means the job, or the array that it is part of.
bool names(const DependencyItem& item, const Job& job) {
  if (item.kind == DependencyKind::kSingleton) return false;
  if (item.job == job.id && item.task == kNoTask) return true;
  if (job.array == nullptr || item.job != job.array->array_job) return false;
  return item.task == kNoTask || item.task == job.array->task || job.array->pending.contains(item.task);
}

}  // namespace

Result<Dependency> parse_dependency(std::string_view text) {
  Dependency dependency;
  dependency.any = text.find('?') != std::string_view::npos;
  for (const std::string_view term : split_terms(text)) {
    if (iequals(term.substr(0, 7), "expand:")) return failure(ErrorCode::kNotSupported);
    const bool good = parse_term(trim(term), dependency.items) && dependency.items.size() <= kMostItems;
    if (!good) return failure(ErrorCode::kInvalidDependency);
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
  Evaluation evaluation(state, job, now);
  for (DependencyItem item : dependency.items) {
    if (item.task == kNoTask && state.arrays.contains(item.job)) item.all_tasks = true;
    if (!item.failed) {
      const Outcome outcome = evaluation.outcome_of(item);
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

IndexSet tasks_decided(const ClusterState& state, const Job& job, const Dependency& dependency) {
  IndexSet decided;
  if (job.array == nullptr || job.array->task != kNoTask) return decided;
  for (const DependencyItem& item : dependency.items) {
    if (item.kind != DependencyKind::kAfterCorr || item.task != kNoTask) continue;
    const ArrayTasks* tasks = state.arrays.find(item.job);
    if (tasks != nullptr) decided.insert(job.array->pending & tasks_over(state, *tasks));
  }
  return decided;
}

bool is_circular(const ClusterState& state, const Job& job, const Dependency& dependency) {
  const auto depth = option_value(state.config->dependency_parameters, "max_depend_depth");
  const size_t most = to_number<size_t>(depth.value_or("")).value_or(SIZE_MAX);
  std::vector<DependencyItem> open = dependency.items;
  std::unordered_set<JobId> seen;
  std::unordered_set<JobId> arrays;
  size_t left = kMostFollowed;
  while (!open.empty() && seen.size() < most) {
    const DependencyItem item = open.back();
    open.pop_back();
    if (names(item, job)) return true;
    const auto follow = [&](JobId id) {
      if (left == 0) return;
      --left;
      const Job* other = state.jobs.find(id);
      if (other == nullptr || !seen.insert(id).second) return;
      for (const DependencyItem& next : waits_for(*other)) {
        if (left == 0) return;
        --left;
        open.push_back(next);
      }
    };
    const ArrayTasks* tasks = state.arrays.find(item.job);
    if (tasks == nullptr) follow(item.job);
    else if (arrays.insert(item.job).second) tasks->jobs.for_each(follow);
  }
  return false;
}

}  // namespace sluice::state
