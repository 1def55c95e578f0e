// Evaluating job dependencies.
#include "ctld/state/rules/dependency.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "common/base/index_ops.hpp"
#include "common/base/text.hpp"
#include "ctld/state/core/fold.hpp"

namespace sluice::state {
namespace {

// jobs, items and pieces of text that a DependencyReach looks at before it gives up
constexpr size_t kMostFollowed = 50'000;

enum class Outcome { kWait, kMet, kNever };

bool has_started(const Job& job) { return job.start != kNoTime && job.state != JobState::kPending; }

// Of jobs that are over, too: what never ran has its end as its start.
bool is_delay_over(Time start, Minutes delay, Time now) {
  return delay == 0 || now >= start + std::chrono::minutes(delay);
}

// The state's notes of an array, gathered when they are first asked for.
class Notes {
 public:
  Notes(const ClusterState& state, DependencyNotes& notes) : state_(state), notes_(notes) {}

  const JobsProgress& whole(JobId array, const ArrayTasks& tasks) {
    const auto [at, fresh] = notes_.arrays.try_emplace(array);
    if (fresh) at->second = progress_of_array(tasks);
    return at->second;
  }
  const DependencyNotes::Tasks& tasks(JobId array, const ArrayTasks& tasks) {
    const auto [at, fresh] = notes_.tasks.try_emplace(array);
    if (fresh) at->second = progress_of_tasks(tasks);
    return at->second;
  }

 private:
  [[nodiscard]] JobsProgress progress_of_array(const ArrayTasks& tasks) const {
    JobsProgress progress;
    // some have no record; as in Slurm that matters when all the others are over
    bool cancelled = false;
    tasks.jobs.for_each([&](uint32_t id) {
      const Job& job = state_.jobs.at(id);
      progress.add(job);
      cancelled = cancelled || !job.array->cancelled.empty();
    });
    progress.known = true;
    progress.all_good = progress.all_good && tasks.folded_bad == 0;
    progress.latest_start = std::max(progress.latest_start, tasks.latest_start);
    if (progress.all_over && cancelled) progress.all_good = false;
    return progress;
  }

  [[nodiscard]] DependencyNotes::Tasks progress_of_tasks(const ArrayTasks& tasks) const {
    std::vector<uint32_t> waiting, running, good, bad;
    IndexSet rest;  // of the record that has no task of its own
    bool rest_over = false;
    tasks.jobs.for_each([&](uint32_t id) {
      const Job& job = state_.jobs.at(id);
      const bool over = is_finished(job);
      if (job.array->task == kNoTask) {
        rest = job.array->pending;
        rest_over = over;
      } else if (over) {
        (succeeded(job) ? good : bad).push_back(job.array->task);
      } else {
        (has_started(job) ? running : waiting).push_back(job.array->task);
      }
    });
    tasks.folded.for_each([&](uint32_t id) {
      const FoldedTask& task = state_.folded.at(id);
      (succeeded(*task.model) ? good : bad).push_back(task.task);
    });
    DependencyNotes::Tasks made{
        index_set_of(waiting), index_set_of(running), index_set_of(good), index_set_of(bad), {}};
    made.with_records = made.good;
    made.with_records.insert(made.bad);
    (rest_over ? made.bad : made.waiting).insert(rest);
    return made;
  }

  const ClusterState& state_;
  DependencyNotes& notes_;
};

// Whether the array has tasks that are not over: no look at each of them.
bool is_unfinished(const ClusterState& state, JobId array, const ArrayTasks& tasks) {
  const Job* own = state.jobs.find(array);
  return !tasks.unfinished.empty() || (own != nullptr && !is_finished(*own));
}

// Components of one heterogeneous job start together and do not wait for one another.
bool is_same_het(const Job& a, const Job& b) {
  return a.het != nullptr && b.het != nullptr && a.het->leader == b.het->leader;
}

// Ids from … up to, without, to.
struct IdRange {
  uint32_t from = 0;
  uint32_t to = 0;
  [[nodiscard]] bool contains(JobId id) const { return from <= id && id < to; }
};

// The id that was given at its submission: tasks of an array get theirs when they start.
JobId submitted_as(const Job& job) { return job.array == nullptr ? job.id : job.array->array_job; }

// Ids wrap round at MaxJobId: of those that are in use, what is not below the next one is left from
// the round before. The waiting job may be new: then it has no record, and all others came before
// it.
struct OtherIds {
  std::array<IdRange, 2> earlier, later;
};
OtherIds other_ids(const ClusterState& state, const Job& waiting) {
  const JobId id = submitted_as(waiting), next = state.next_job_id;
  if (!state.jobs.contains(waiting.id)) return {{{{0, id}, {id + 1, UINT32_MAX}}}, {}};
  if (id >= next) return {{{{next, id}, {}}}, {{{id + 1, UINT32_MAX}, {0, next}}}};
  return {{{{next, UINT32_MAX}, {0, id}}}, {{{id + 1, next}, {}}}};
}

// Whether a named job that was submitted before the waiting one is not of its own array or
// heterogeneous job.
bool has_other(const ClusterState& state, const NamedJobs& named, const Job& waiting) {
  static const CowIdSet kNone;
  const JobId array = waiting.array == nullptr ? kNoJob : waiting.array->array_job;
  const OtherIds ids = other_ids(state, waiting);
  const auto is_earlier = [&](JobId id) {
    return std::ranges::any_of(ids.earlier, [id](IdRange range) { return range.contains(id); });
  };
  for (const JobId id : named.few) {
    const Job& job = state.jobs.at(id);
    const bool together = job.array != nullptr && job.array->array_job == array;
    if (is_earlier(submitted_as(job)) && !together && !is_same_het(job, waiting)) return true;
  }
  const ArrayTasks* tasks = state.arrays.find(array);
  const CowIdSet& own = tasks == nullptr ? kNone : tasks->unfinished;
  const auto any_in = [&](const std::array<IdRange, 2>& ranges, auto&& counts) {
    return std::ranges::any_of(ranges, [&](IdRange range) {
      for (uint32_t id = named.many.next_not_in(own, range.from); id < range.to;
           id = named.many.next_not_in(own, id + 1)) {
        if (counts(id)) return true;
      }
      return false;
    });
  };
  const auto is_apart = [&](JobId id) {
    return id != array && !is_same_het(state.jobs.at(id), waiting);
  };
  // tasks of an earlier array that started late
  const auto is_late = [&](JobId id) {
    const Job& job = state.jobs.at(id);
    return job.array != nullptr && is_earlier(job.array->array_job);
  };
  return any_in(ids.earlier, is_apart) || any_in(ids.later, is_late);
}

Outcome singleton_outcome(const ClusterState& state, const Job& waiting) {
  const NamedJobs* named = state.names.find(waiting.spec->uid, waiting.spec->name);
  if (named == nullptr) return Outcome::kMet;
  return has_other(state, *named, waiting) ? Outcome::kWait : Outcome::kMet;
}

// Of several tasks of one array: which are still waited for, and which spoil it.
struct TasksLeft {
  IndexSet waiting, never;
};

// Looks at one job's dependency.
class Evaluation {
 public:
  Evaluation(const ClusterState& state, const Job& waiting, Time now, DependencyNotes& notes)
      : state_(state), waiting_(waiting), now_(now), notes_(state, notes) {}

  Outcome outcome_of(const DependencyItem& item) {
    if (item.kind == DependencyKind::kSingleton) {
      // it is shown as it was given until the job is released, as in Slurm
      if (waiting_.hold != HoldKind::kNone) return Outcome::kWait;
      if (!singleton_) singleton_ = singleton_outcome(state_, waiting_);
      return *singleton_;
    }
    uint32_t task = item.tasks.empty() ? kNoTask : item.tasks.front();
    DependencyKind kind = item.kind;
    if (kind == DependencyKind::kAfterCorr) {
      // The task of the same number: where the array has none, and for jobs that are no array, all
      // of it. A record of several tasks waits; tasks whose turn comes are split off, and what is
      // left then has no partners.
      const bool partner = waiting_.array != nullptr && task == kNoTask;
      if (partner && waiting_.array->task == kNoTask && may_get_partners(item.job))
        return Outcome::kWait;
      if (partner && find_array_task(state_, item.job, waiting_.array->task))
        task = waiting_.array->task;
      kind = DependencyKind::kAfterOk;
    }
    const ArrayTasks* array =
        task == kNoTask && !part_of(item) ? state_.arrays.find(item.job) : nullptr;
    const bool by_start = kind == DependencyKind::kAfter;
    // of an array it is decided when all of it is over, as in Slurm: a task may be queued again
    if (array != nullptr && !by_start && is_unfinished(state_, item.job, *array))
      return Outcome::kWait;
    const JobsProgress is =
        array != nullptr ? notes_.whole(item.job, *array) : progress_of(item, task);
    if (!is.known) return Outcome::kMet;  // nothing to wait for
    if (by_start) return is.all_started(item.delay, now_) ? Outcome::kMet : Outcome::kWait;
    if (!is.all_over) return Outcome::kWait;
    switch (kind) {
      case DependencyKind::kAfterOk: return is.all_good ? Outcome::kMet : Outcome::kNever;
      case DependencyKind::kAfterNotOk: return is.all_good ? Outcome::kNever : Outcome::kMet;
      default: return Outcome::kMet;  // afterany, afterburstbuffer
    }
  }

  // Nothing: the item is not one of several tasks, and has one outcome.
  std::optional<TasksLeft> tasks_left(const DependencyItem& item) {
    if (item.tasks.size() <= 1 || part_of(item) != nullptr) return std::nullopt;
    TasksLeft left;
    const ArrayTasks* array = state_.arrays.find(item.job);
    if (array == nullptr) return left;
    const DependencyNotes::Tasks& are = notes_.tasks(item.job, *array);
    left.waiting = item.tasks & are.waiting;
    if (item.kind == DependencyKind::kAfter) {
      if (item.delay != 0) left.waiting.insert(started_lately(item, *array));
      return left;
    }
    left.waiting.insert(item.tasks & are.running);
    const bool good =
        item.kind == DependencyKind::kAfterOk || item.kind == DependencyKind::kAfterCorr;
    if (good) left.never = item.tasks & are.bad;
    if (item.kind == DependencyKind::kAfterNotOk) left.never = item.tasks & are.good;
    return left;
  }

 private:
  // afterok:12+1
  [[nodiscard]] const Job* part_of(const DependencyItem& item) const {
    return item.component ? find_component(state_, item.job, *item.component) : nullptr;
  }

  // Whether any of the waiting record's tasks has or may get a partner in the array: they are not
  // all decided alike.
  bool may_get_partners(JobId array) {
    const ArrayTasks* tasks = state_.arrays.find(array);
    if (tasks == nullptr) return false;
    return is_unfinished(state_, array, *tasks) ||
           notes_.tasks(array, *tasks).with_records.intersects(waiting_.array->pending);
  }

  JobsProgress progress_of(const DependencyItem& item, uint32_t task) {
    JobsProgress progress;
    if (const Job* part = part_of(item)) {
      progress.add(*part);
    } else if (const FoundJob job = find_array_task(state_, item.job, task)) {
      progress.add(*job);
    }
    return progress;
  }

  // Those of the item's tasks that have started no longer ago than its minutes.
  IndexSet started_lately(const DependencyItem& item, const ArrayTasks& array) {
    std::vector<uint32_t> late;
    const auto look = [&](uint32_t task, Time start) {
      if (start != kNoTime && item.tasks.contains(task) && !is_delay_over(start, item.delay, now_))
        late.push_back(task);
    };
    array.jobs.for_each([&](uint32_t id) {
      const Job& job = state_.jobs.at(id);
      if (job.array->task != kNoTask) look(job.array->task, job.start);
      else if (is_finished(job))
        job.array->pending.for_each([&](uint32_t task) { look(task, job.start); });
    });
    array.folded.for_each(
        [&](uint32_t id) { look(state_.folded.at(id).task, state_.folded.at(id).start); });
    return index_set_of(late);
  }

  const ClusterState& state_;
  const Job& waiting_;
  const Time now_;
  Notes notes_;
  std::optional<Outcome> singleton_;
};

// The jobs that a pending one still waits for.
std::vector<DependencyItem> waits_for(const Job& job) {
  if (job.state != JobState::kPending || job.dependency.empty()) return {};
  const auto parsed = parse_dependency(job.dependency.view(), DependencyText::kKept);
  return parsed ? parsed->items : std::vector<DependencyItem>();
}

}  // namespace

void JobsProgress::add(const Job& job) {
  const bool over = is_finished(job);
  known = true;
  all_over = all_over && over;
  all_good = all_good && (!over || succeeded(job));
  some_waits = some_waits || !(over || has_started(job));
  latest_start = std::max(latest_start, job.start);
}

bool JobsProgress::all_started(Minutes delay, Time now) const {
  return !some_waits && is_delay_over(latest_start, delay, now);
}

DependencyResult evaluate_dependency(const ClusterState& state, const Job& job,
                                     const Dependency& dependency, Time now,
                                     DependencyNotes& notes) {
  DependencyResult result;
  result.left.any = dependency.any;
  bool all_failed = true, some_failed = false, some_met = false;
  Evaluation evaluation(state, job, now, notes);
  const auto keep = [&](const DependencyItem& item, bool failed) {
    result.left.items.push_back(item);
    result.left.items.back().failed = failed;
    some_failed = some_failed || failed;
    all_failed = all_failed && failed;
  };
  const auto keep_tasks = [&](DependencyItem item, IndexSet tasks, bool failed) {
    if (tasks.empty()) return;
    item.tasks = std::move(tasks);
    keep(item, failed);
  };
  for (DependencyItem item : dependency.items) {
    if (item.tasks.empty() && state.arrays.contains(item.job)) item.all_tasks = true;
    if (item.failed) {
      keep(item, true);
    } else if (auto left = evaluation.tasks_left(item)) {
      some_met = some_met || left->waiting.size() + left->never.size() < item.tasks.size();
      keep_tasks(item, std::move(left->waiting), false);
      keep_tasks(item, std::move(left->never), true);
    } else {
      const Outcome outcome = evaluation.outcome_of(item);
      if (outcome == Outcome::kMet) some_met = true;
      else keep(item, outcome == Outcome::kNever);
    }
    if (!dependency.any || !some_met) continue;
    result.left.items.clear();  // one is enough, whatever became of others
    return result;
  }
  result.never = dependency.any ? all_failed && some_failed : some_failed;
  return result;
}

IndexSet tasks_decided(const ClusterState& state, const Job& job, const Dependency& dependency,
                       DependencyNotes& notes) {
  IndexSet decided;
  if (job.array == nullptr || job.array->task != kNoTask) return decided;
  for (const DependencyItem& item : dependency.items) {
    if (item.kind != DependencyKind::kAfterCorr || !item.tasks.empty()) continue;
    const ArrayTasks* tasks = state.arrays.find(item.job);
    if (tasks != nullptr)
      decided.insert(job.array->pending & Notes(state, notes).tasks(item.job, *tasks).with_records);
  }
  return decided;
}

DependencyReach::DependencyReach(const ClusterState& state, const Dependency& dependency) {
  constexpr size_t kPiece = 16;  // bytes of text
  const auto depth = option_value(state.config->dependency_parameters, "max_depend_depth");
  const size_t most = to_number<size_t>(depth.value_or("")).value_or(SIZE_MAX);
  std::vector<DependencyItem> open = dependency.items;
  std::unordered_set<JobId> seen;
  std::unordered_set<JobId> arrays;
  std::unordered_map<JobId, std::vector<IndexSet::Range>> ranges;
  size_t left = kMostFollowed;
  const auto follow = [&](JobId id) {
    if (left == 0) return;
    --left;
    const Job* other = state.jobs.find(id);
    if (other == nullptr || !seen.insert(id).second) return;
    left -= std::min(left, other->dependency.size() / kPiece);
    for (DependencyItem& next : waits_for(*other)) {
      if (left == 0) return;
      left -= std::min(left, 1 + next.tasks.ranges().size());
      open.push_back(std::move(next));
    }
  };
  while (!open.empty() && seen.size() < most) {
    const DependencyItem item = std::move(open.back());
    open.pop_back();
    if (item.kind == DependencyKind::kSingleton) continue;
    const auto& tasks_named = item.tasks.ranges();
    if (tasks_named.empty()) named_[item.job].whole = true;
    else std::ranges::copy(tasks_named, std::back_inserter(ranges[item.job]));
    const ArrayTasks* tasks = state.arrays.find(item.job);
    if (tasks == nullptr) follow(item.job);
    else if (arrays.insert(item.job).second) tasks->jobs.for_each(follow);
  }
  for (auto& [job, named] : ranges) {
    std::ranges::sort(named, {}, &IndexSet::Range::first);
    for (const IndexSet::Range& range : named) named_[job].tasks.insert(range.first, range.last);
  }
}

bool DependencyReach::contains(const Job& job) const {
  if (const auto at = named_.find(job.id); at != named_.end() && at->second.whole) return true;
  if (job.array == nullptr) return false;
  const auto at = named_.find(job.array->array_job);
  if (at == named_.end()) return false;
  const Named& named = at->second;
  return named.whole || (job.array->task != kNoTask ? named.tasks.contains(job.array->task)
                                                    : named.tasks.intersects(job.array->pending));
}

}  // namespace sluice::state
