// Checks of single records, of nodes against their jobs, and of the indexes.
#include "ctld/state/core/invariants.hpp"

#include <algorithm>
#include <map>

#include "ctld/state/core/deep_equal.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/core/indexes.hpp"

namespace sluice::state {
namespace {

using Problems = std::vector<std::string>;

void check_job(const ClusterState& state, const Job& job, Problems& problems) {
  const auto wrong = [&](const char* what) {
    problems.push_back("job " + std::to_string(job.id) + ": " + what);
  };
  const JobPlace place = place_of(job);
  const bool completing = is_completing(job);
  if (job.spec == nullptr) wrong("has no spec");
  const bool running = job.state == JobState::kRunning || job.state == JobState::kSuspended;
  if (job.grace_end != kNoTime && !running) wrong("is to be ended and does not run");
  if (completing && !is_terminal(job.state)) wrong("is completing without having ended");
  if (job.state == JobState::kPending && job.allocation != nullptr) wrong("waits with nodes");
  if (state.pending.contains(job.id) != (place.kind == JobPlace::Kind::kPending) ||
      state.active.contains(job.id) != (place.kind == JobPlace::Kind::kActive) ||
      state.finished.contains(job.id) != (place.kind == JobPlace::Kind::kFinished) ||
      state.waiting.contains(job.id) != place.waiting ||
      state.age_limited.contains(job.id) != place.age_limited) {
    wrong("is in the wrong index");
  }
  if (place.kind == JobPlace::Kind::kActive) {
    if (job.allocation == nullptr || job.allocation->nodes.empty()) {
      wrong("is active without nodes");
      return;
    }
    const size_t held = job.allocation->nodes.size() - job.released.count();
    if (held == 0) wrong("is active and has given all nodes back");
    if (!completing && job.start == kNoTime) wrong("runs without a start");
    for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
      const Node* node = state.nodes.find(job.allocation->nodes[at].node);
      const bool listed =
          node != nullptr && std::count(node->jobs.begin(), node->jobs.end(), job.id) == 1;
      if (listed == job.released.test(at)) wrong("and its nodes disagree");
    }
  } else if (!job.steps.empty()) {
    wrong("has steps without nodes");
  }
  for (const auto& step : job.steps) {
    if (step->id.job != job.id || step->nodes_left.none()) wrong("has a step that is over");
  }
  if (job.het != nullptr) {
    if (job.id != job.het->leader + job.het->offset || job.het->offset >= job.het->size) {
      wrong("is not where its heterogeneous job has it");
    }
    for_components(state, *job.het, [&](const Job& other) {
      const bool runs = other.state == JobState::kRunning || other.state == JobState::kSuspended;
      if (job.state == JobState::kPending && runs) wrong("waits while another component runs");
    });
  }
  if (job.array != nullptr) {
    const ArrayTasks* tasks = state.arrays.find(job.array->array_job);
    if (tasks == nullptr || !tasks->jobs.contains(job.id)) wrong("is missing in its array");
    const bool found = job.array->task == kNoTask ||
                       (tasks != nullptr && tasks->by_task.find(job.array->task) == job.id);
    if (!found) wrong("is not found by its task");
    if (job.array->task == kNoTask && job.id != job.array->array_job)
      wrong("holds an array's waiting tasks and not its id");
    if ((job.array->task == kNoTask) == job.array->pending.empty())
      wrong("is task and array at once");
    if (job.array->cancelled.intersects(job.array->pending))
      wrong("waits with tasks that were cancelled");
    if (!job.array->cancelled.empty() && job.id != job.array->array_job)
      wrong("knows cancelled tasks of its array");
  }
}

// Whether jobs of its partition may share cores (OverSubscribe).
bool may_share_cores(const ClusterState& state, const Job& job) {
  const Partition* partition = find_partition(state, job.partition.view());
  return partition != nullptr && (partition->config->over_subscribe == OverSubscribe::kYes ||
                                  partition->config->over_subscribe == OverSubscribe::kForce);
}

// No unit of a name is held twice; of those that are shared no more than there is.
bool gres_collide(const Node& node, const GresShares& held, const GresShares& more) {
  for (const GresShare& share : more) {
    for (const GresShare& other : held) {
      if (other.name == share.name && share.parts.empty() && other.units.intersects(share.units))
        return true;
    }
  }
  GresShares sum = held;
  add_shares(sum, more);
  if (node.gres == nullptr) return false;
  for (const GresKind& kind : node.gres->kinds) {
    if (!kind.parts.empty() && count_of(sum, kind.name, kind.type) > kind.count) return true;
  }
  return false;
}

void check_node(const ClusterState& state, const Node& node, Problems& problems) {
  const auto wrong = [&](const std::string& what) {
    problems.push_back("node " + node.name + ": " + what);
  };
  uint32_t cpus = 0, completing = 0;
  uint64_t memory = 0;
  Bitmap cores;
  bool whole = false, sharing = false, suspended = false;
  GresShares gres;
  for (const JobId id : node.jobs) {
    const Job* job = state.jobs.find(id);
    if (job == nullptr || job->allocation == nullptr) {
      wrong("holds job " + std::to_string(id) + ", which has no nodes");
      continue;
    }
    const auto at = allocation_position(*job->allocation, node.id);
    if (!at) {
      wrong("is no node of its job " + std::to_string(id));
      continue;
    }
    const NodeAllocation& part = job->allocation->nodes[*at];
    // a job that was suspended goes on beside those that got its CPUs meanwhile
    sharing = sharing || may_share_cores(state, *job) || job->suspended_at != kNoTime;
    if (holds_processors(*job)) {
      if (!sharing && cores.intersects(part.cores)) {
        wrong("cores allocated twice, by job " + std::to_string(id));
      }
      cores |= part.cores;
      cpus += part.cpus;
    }
    memory += part.memory_mib;
    if (gres_collide(node, gres, part.gres)) {
      wrong("generic resources allocated twice, by job " + std::to_string(id));
    }
    add_shares(gres, part.gres);
    whole = whole || (job->allocation->whole_nodes && holds_processors(*job));
    suspended = suspended || job->suspended_at != kNoTime;
    completing += is_completing(*job) ? 1 : 0;
  }
  if (whole && node.jobs.size() > 1 && !suspended) wrong("held whole and shared");
  if (cpus != node.used_cpus || memory != node.used_memory_mib || !(cores == node.used_cores)) {
    wrong("sums differ from those of its jobs");
  }
  const bool none = node.used_gres == nullptr;
  if (none ? !gres.empty() : !same_shares(*node.used_gres, gres)) {
    wrong("generic resources in use differ from those of its jobs");
  }
  if (!sharing && cpus > node.config->cpus) wrong("more CPUs allocated than there are");
  if (memory > node.config->real_memory_mib) { wrong("more memory allocated than there is"); }
  if (completing != node.completing_jobs) wrong("wrong number of completing jobs");
  if (node.running_jobs != node.jobs.size()) wrong("wrong number of jobs");
  if (whole != node.exclusive) wrong("wrong exclusive mark");
  if (node.removed && !node.jobs.empty()) wrong("removed with jobs on it");
}

// Calls look(job id) for each job that the event touches.
template <class Look>
void touched_jobs(const Event& event, Look&& look) {
  std::visit(
      [&](const auto& e) {
        using E = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<E, JobSubmitted>) look(e.job.id);
        else if constexpr (std::is_same_v<E, JobStarted>) {
          look(e.record);
          for (const auto& start : e.starts) look(start.job);
        } else if constexpr (std::is_same_v<E, ArrayTasksSplit>) {
          look(e.array_job);
          for (const auto& task : e.tasks) look(task.job);
        } else if constexpr (std::is_same_v<E, StepCreated>) look(e.step->id.job);
        else if constexpr (requires { e.id.job; }) look(e.id.job);
        else if constexpr (requires { e.array_job; }) look(e.array_job);
        else if constexpr (requires { JobId{e.job}; }) look(e.job);
      },
      event);
}

template <class T>
void compare_tables(const char* what, const CowTable<T>& a, const CowTable<T>& b,
                    Problems& problems) {
  uint32_t at = a.next_id(0), bt = b.next_id(0);
  while (at != CowTable<T>::kNone || bt != CowTable<T>::kNone) {
    if (at != bt) {
      problems.push_back(std::string(what) + " " + std::to_string(std::min(at, bt)) +
                         ": only in one");
      if (at < bt) at = a.next_id(at + 1);
      else bt = b.next_id(bt + 1);
      continue;
    }
    std::string path;
    if (!deep_equal(a.at(at), b.at(at), path)) {
      problems.push_back(std::string(what) + " " + std::to_string(at) + ": " + path + " differs");
    }
    at = a.next_id(at + 1);
    bt = b.next_id(bt + 1);
  }
}

template <class T>
void compare_held(const char* what, const CowTable<T>& a, const CowTable<T>& b,
                  Problems& problems) {
  bool same = a.size() == b.size();
  for (uint32_t id = a.next_id(0); same && id != CowTable<T>::kNone; id = a.next_id(id + 1)) {
    const T* other = b.find(id);
    same = other != nullptr && *other == a.at(id);
  }
  if (!same) problems.push_back(std::string("what jobs hold of an ") + what + " differs");
}

void compare_folded(const ClusterState& a, const ClusterState& b, Problems& problems) {
  if (a.folded.size() != b.folded.size()) problems.emplace_back("number of folded tasks differs");
  a.folded.for_each([&](const FoldedTask& task) {
    const FoldedTask* other = b.folded.find(task.id);
    std::string path;
    if (other == nullptr) path = "everything";
    if (other != nullptr && deep_equal(unfolded(task), unfolded(*other), path)) return;
    problems.push_back("folded task " + std::to_string(task.id) + ": " + path + " differs");
  });
}

void check_folded(const ClusterState& state, const FoldedTask& task, Problems& problems) {
  const auto wrong = [&](const char* what) {
    problems.push_back("folded task " + std::to_string(task.id) + ": " + what);
  };
  const Job job = unfolded(task);
  if (!may_fold(job)) wrong("may not be folded");
  if (state.jobs.contains(task.id)) wrong("has a record, too");
  if (state.finished.contains(task.id)) wrong("is in an index of records");
  const ArrayTasks* tasks = state.arrays.find(job.array->array_job);
  if (tasks == nullptr || !tasks->folded.contains(task.id)) wrong("is missing in its array");
  else if (tasks->by_task.find(task.task) != task.id) wrong("is not found by its task");
  else if (tasks->oldest_end > task.end) wrong("ended before the oldest of its array");
  else if (tasks->latest_start < task.start) wrong("started after the latest of its array");
}

bool same_gres(const Node& a, const Node& b) {
  if (a.used_gres == nullptr || b.used_gres == nullptr) return a.used_gres == b.used_gres;
  return same_shares(*a.used_gres, *b.used_gres);
}

void compare_derived(const ClusterState& a, const ClusterState& b, Problems& problems) {
  const auto same = [&](bool equal, const char* what) {
    if (!equal) problems.push_back(std::string(what) + " differs");
  };
  same(a.pending == b.pending, "index of pending jobs");
  same(a.waiting == b.waiting, "index of waiting jobs");
  same(a.age_limited == b.age_limited, "index of jobs without age");
  same(a.active == b.active, "index of active jobs");
  same(a.group_alone == b.group_alone, "index of jobs with groups of nodes for themselves");
  same(*a.leaf_groups == *b.leaf_groups, "groups of nodes");
  same(a.finished == b.finished, "index of finished jobs");
  same(a.names == b.names, "index of names");
  same(a.job_count == b.job_count, "number of jobs");
  same(*a.node_names == *b.node_names, "node names");
  same(*a.features == *b.features, "features of nodes");
  same(*a.trigger_nodes == *b.trigger_nodes, "nodes of triggers");
  same(a.arrays.size() == b.arrays.size(), "number of arrays");
  compare_held("association", a.accounting.held.associations, b.accounting.held.associations,
               problems);
  compare_held("QOS", a.accounting.held.qos, b.accounting.held.qos, problems);
  compare_held("member of a QOS", a.accounting.held.members, b.accounting.held.members, problems);
  a.arrays.for_each([&](const ArrayTasks& tasks) {
    const FoundJob job =
        find_job(a, tasks.jobs.empty() ? tasks.folded.front() : tasks.jobs.front());
    const ArrayTasks* other = b.arrays.find(job->array->array_job);
    same(other != nullptr && other->jobs == tasks.jobs && other->running == tasks.running &&
             other->unfinished == tasks.unfinished && other->folded == tasks.folded &&
             other->folded_bad == tasks.folded_bad,
         "array");
  });
  same(a.partitions->size() == b.partitions->size(), "number of partitions");
  for (size_t at = 0; at < std::min(a.partitions->size(), b.partitions->size()); ++at) {
    const Partition& p = (*a.partitions)[at];
    const Partition& q = (*b.partitions)[at];
    same(*p.config == *q.config && p.nodes == q.nodes && p.total_cpus == q.total_cpus, "partition");
  }
  a.nodes.for_each([&](const Node& node) {
    const Node* other = b.nodes.find(node.id);
    if (other == nullptr) return;
    std::vector<JobId> mine = node.jobs, theirs = other->jobs;
    std::sort(mine.begin(), mine.end());
    std::sort(theirs.begin(), theirs.end());
    same(mine == theirs && node.used_cpus == other->used_cpus &&
             node.used_memory_mib == other->used_memory_mib && same_gres(node, *other) &&
             node.used_cores == other->used_cores && node.exclusive == other->exclusive &&
             node.running_jobs == other->running_jobs &&
             node.completing_jobs == other->completing_jobs,
         "use of a node");
  });
}

}  // namespace

std::vector<std::string> differences(const ClusterState& a, const ClusterState& b) {
  Problems problems;
  if (a.cluster_id != b.cluster_id || a.epoch != b.epoch || a.epoch_start != b.epoch_start ||
      a.next_job_id != b.next_job_id || a.job_id_round != b.job_id_round ||
      a.credential_key != b.credential_key ||
      a.credential_key_changed != b.credential_key_changed || a.next_node_id != b.next_node_id ||
      !(*a.config == *b.config)) {
    problems.emplace_back("the cluster's own values differ");
  }
  std::string path;
  const bool triggers =
      a.next_trigger_id == b.next_trigger_id && deep_equal(*a.triggers, *b.triggers, path);
  if (!triggers) problems.push_back("triggers: " + path + " differs");
  const bool crontabs =
      std::ranges::equal(*a.crontabs, *b.crontabs, [&](const auto& x, const auto& y) {
        return x.first == y.first && deep_equal(x.second, y.second, path);
      });
  if (!crontabs) problems.emplace_back("crontabs differ");
  const bool reservations = a.next_reservation_id == b.next_reservation_id &&
                            deep_equal(*a.reservations, *b.reservations, path);
  if (!reservations) problems.push_back("reservations: " + path + " differs");
  if (*a.user_groups != *b.user_groups) problems.emplace_back("groups of users differ");
  if (!deep_equal(make_accounting_image(a.accounting), make_accounting_image(b.accounting), path))
    problems.push_back("accounting: " + path + " differs");
  compare_tables("job", a.jobs, b.jobs, problems);
  compare_tables("node", a.nodes, b.nodes, problems);
  compare_folded(a, b, problems);
  compare_derived(a, b, problems);
  return problems;
}

std::vector<std::string> check_state(const ClusterState& state) {
  Problems problems;
  state.jobs.for_each([&](const Job& job) { check_job(state, job, problems); });
  state.nodes.for_each([&](const Node& node) { check_node(state, node, problems); });
  state.folded.for_each([&](const FoldedTask& task) { check_folded(state, task, problems); });
  ClusterState rebuilt = state;
  rebuild_derived(rebuilt);
  compare_derived(state, rebuilt, problems);
  return problems;
}

std::vector<std::string> check_after(const ClusterState& state, const Event& event) {
  Problems problems;
  touched_jobs(event, [&](JobId id) {
    const Job* job = state.jobs.find(id);
    if (job == nullptr) return;
    check_job(state, *job, problems);
    if (job->allocation == nullptr) return;
    for (const NodeAllocation& part : job->allocation->nodes) {
      check_node(state, state.nodes.at(part.node), problems);
    }
  });
  return problems;
}

std::vector<std::string> check_transition(const ClusterState& before, const Event& event) {
  Problems problems;
  const auto must = [&](bool legal, const char* what) {
    if (!legal) problems.push_back(std::string(name_of(event)) + ": " + what);
  };
  const auto place = [&](JobId id) { return place_of(*find_job(before, id)).kind; };
  std::visit(
      [&](const auto& e) {
        using E = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<E, JobSubmitted>) {
          must(!before.jobs.contains(e.job.id), "the id is taken");
        } else if constexpr (std::is_same_v<E, JobStarted>) {
          must(place(e.record) == JobPlace::Kind::kPending, "the job does not wait");
          must(before.jobs.at(e.record).hold == HoldKind::kNone, "the job is held");
        } else if constexpr (std::is_same_v<E, JobCompleting>) {
          must(place(e.job) == JobPlace::Kind::kActive, "the job has no nodes");
          must(!is_terminal(before.jobs.at(e.job).state), "the job is over already");
        } else if constexpr (std::is_same_v<E, JobNodesReleased>) {
          must(place(e.job) == JobPlace::Kind::kActive, "the job has no nodes");
          must(!before.jobs.at(e.job).released.intersects(e.positions), "given back twice");
        } else if constexpr (std::is_same_v<E, JobEnded>) {
          must(place(e.job) != JobPlace::Kind::kFinished, "the job is over already");
        } else if constexpr (std::is_same_v<E, JobRequeued>) {
          must(place(e.job) != JobPlace::Kind::kPending, "the job waits already");
          must(e.restart_count == find_job(before, e.job)->restart_count + 1,
               "wrong restart count");
        } else if constexpr (std::is_same_v<E, JobRequeueCancelled>) {
          must(place(e.job) == JobPlace::Kind::kActive, "the job has no nodes");
          must((before.jobs.at(e.job).flags & kJobRequeued) != 0, "it was not to be requeued");
        } else if constexpr (std::is_same_v<E, JobSuspended>) {
          const Job& job = before.jobs.at(e.job);
          must(job.state == JobState::kRunning || (job.time_sliced && !e.time_slice),
               "the job does not run");
        } else if constexpr (std::is_same_v<E, JobResumed>) {
          must(before.jobs.at(e.job).state == JobState::kSuspended, "the job is not suspended");
        } else if constexpr (std::is_same_v<E, JobPreempted>) {
          must(place(e.job) == JobPlace::Kind::kActive, "the job has no nodes");
          must(!is_terminal(before.jobs.at(e.job).state), "the job is over already");
          must(before.jobs.at(e.job).grace_end == kNoTime, "the job was told already");
        } else if constexpr (std::is_same_v<E, JobsPurged>) {
          for (const JobId id : e.jobs)
            must(place(id) == JobPlace::Kind::kFinished, "not over yet");
          e.folded.for_each(
              [&](uint32_t id) { must(before.folded.contains(id), "no folded task"); });
        } else if constexpr (std::is_same_v<E, ArrayTasksFolded>) {
          e.jobs.for_each(
              [&](uint32_t id) { must(may_fold(before.jobs.at(id)), "may not be folded"); });
        } else if constexpr (std::is_same_v<E, JobShrunk>) {
          // a suspended one loses a node that is DOWN
          const JobState state = before.jobs.at(e.job).state;
          must(state == JobState::kRunning || state == JobState::kSuspended,
               "the job does not run");
        }
      },
      event);
  return problems;
}

}  // namespace sluice::state
