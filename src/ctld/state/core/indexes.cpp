// The indexes of jobs and the use of nodes, kept in step with the jobs.
#include "ctld/state/core/indexes.hpp"

#include <algorithm>

#include "common/model/job_age.hpp"
#include "common/model/system_cores.hpp"
#include "ctld/state/core/charging.hpp"

namespace sluice::state {
namespace {

constexpr uint32_t kRequestBuckets = 4096;

uint32_t request_bucket(uint32_t uid, uint64_t request) {
  const uint64_t mixed = (request ^ (uint64_t{uid} << 32)) * 0x9e3779b97f4a7c15ULL;
  return static_cast<uint32_t>(mixed >> 40) % kRequestBuckets;
}

CowIdSet& set_of(ClusterState& state, JobPlace::Kind kind) {
  switch (kind) {
    case JobPlace::Kind::kPending: return state.pending;
    case JobPlace::Kind::kActive: return state.active;
    default: return state.finished;
  }
}

void count_running_task(ClusterState& state, const Job& job, int change) {
  if (job.array == nullptr) return;
  ArrayTasks& tasks = state.arrays.edit(job.array->array_job);
  tasks.running = static_cast<uint32_t>(static_cast<int>(tasks.running) + change);
}

bool is_unfinished(JobPlace::Kind kind) { return kind != JobPlace::Kind::kFinished; }

void note_unfinished(ClusterState& state, const Job& job) {
  state.names.insert(job.spec->uid, job.spec->name, job.id);
  if (job.array != nullptr && job.array->array_job != job.id)
    state.arrays.edit(job.array->array_job).unfinished.insert(job.id);
}

void forget_unfinished(ClusterState& state, const Job& job) {
  state.names.erase(job.spec->uid, job.spec->name, job.id);
  if (job.array != nullptr && job.array->array_job != job.id)
    state.arrays.edit(job.array->array_job).unfinished.erase(job.id);
}

// Cores that jobs other than `job` hold on the node.
Bitmap cores_of_others(const ClusterState& state, const Node& node, JobId job) {
  Bitmap cores;
  for (const JobId id : node.jobs) {
    if (id == job) continue;
    const Job& other = state.jobs.at(id);
    if (!holds_processors(other)) continue;
    const auto at = allocation_position(*other.allocation, node.id);
    if (at) cores |= other.allocation->nodes[*at].cores;
  }
  return cores;
}

void take_processors(Node& node, const NodeAllocation& part) {
  if (node.used_cores.intersects(part.cores)) node.shared_cores = true;
  node.used_cores |= part.cores;
  node.used_cpus += part.cpus;
}

void give_processors_back(const ClusterState& state, Node& node, const NodeAllocation& part,
                          JobId job) {
  if (node.shared_cores) {
    node.used_cores = cores_of_others(state, node, job);
  } else {
    node.used_cores.and_not(part.cores);
  }
  node.used_cpus -= part.cpus;
}

// With one more or one less user of it; a node's snapshots keep what they had.
void change_used_gres(Node& node, const GresShares& shares, bool more) {
  if (shares.empty()) return;
  GresShares used = node.used_gres == nullptr ? GresShares{} : *node.used_gres;
  if (more) add_shares(used, shares);
  else remove_shares(used, shares);
  node.used_gres = used.empty() ? nullptr : std::make_shared<const GresShares>(std::move(used));
}

}  // namespace

JobPlace place_of(const Job& job) {
  JobPlace place;
  if (is_completing(job) || job.state == JobState::kRunning || job.state == JobState::kSuspended) {
    place.kind = JobPlace::Kind::kActive;
    place.group_alone = job.spec->sharing == Sharing::kTopo;
  } else if (job.state == JobState::kPending) {
    place.age_limited = job.age_limited;
    place.waiting = comes_later(job) || job.spec->deadline != kNoTime;
    if (job.array != nullptr && job.array->task == kNoTask) {
      place.count = std::max<uint64_t>(1, job.array->pending.size());
    }
  } else {
    place.kind = JobPlace::Kind::kFinished;
  }
  return place;
}

ArrayTasks& tasks_of_array(ClusterState& state, JobId array, const JobSpec& spec) {
  const bool fresh = !state.arrays.contains(array);
  ArrayTasks& tasks = state.arrays.edit_or_insert(array);
  if (!fresh) return tasks;
  tasks.uid = spec.uid;
  tasks.heavy_text = heavy_text(spec);
  count_heavy_text(state, tasks.uid, 0, tasks.heavy_text);
  return tasks;
}

void forget_array_if_over(ClusterState& state, JobId array) {
  const ArrayTasks& tasks = state.arrays.at(array);
  if (!tasks.jobs.empty() || !tasks.folded.empty()) return;
  count_heavy_text(state, tasks.uid, tasks.heavy_text, 0);
  state.arrays.erase(array);
}

void index_job(ClusterState& state, const Job& job) {
  hold(state.accounting.held, state.accounting, counted(job));
  const JobPlace place = place_of(job);
  set_of(state, place.kind).insert(job.id);
  if (place.waiting) state.waiting.insert(job.id);
  if (place.age_limited) state.age_limited.insert(job.id);
  if (place.group_alone) state.group_alone.insert(job.id);
  state.job_count += place.count;
  if (job.array != nullptr) {
    ArrayTasks& tasks = tasks_of_array(state, job.array->array_job, *job.spec);
    tasks.jobs.insert(job.id);
    if (job.array->task != kNoTask) tasks.by_task.set(job.array->task, job.id);
    if (place.kind == JobPlace::Kind::kActive) count_running_task(state, job, 1);
  } else {
    count_heavy_text(state, job.spec->uid, 0, heavy_text(*job.spec));
  }
  count_heavy_text(state, job.spec->uid, 0, heavy_text_of_steps(job));
  if (is_unfinished(place.kind)) note_unfinished(state, job);
  const uint64_t request = job.spec->request_id;
  if (request != 0 && (job.array == nullptr || job.array->array_job == job.id)) {
    state.requests.edit_or_insert(request_bucket(job.spec->uid, request))
        .entries.push_back({request, job.spec->uid, job.id});
  }
}

void unindex_job(ClusterState& state, const Job& job) {
  release(state.accounting.held, state.accounting, counted(job));
  const JobPlace place = place_of(job);
  set_of(state, place.kind).erase(job.id);
  if (place.waiting) state.waiting.erase(job.id);
  if (place.age_limited) state.age_limited.erase(job.id);
  if (place.group_alone) state.group_alone.erase(job.id);
  state.job_count -= place.count;
  count_heavy_text(state, job.spec->uid, heavy_text_of_steps(job), 0);
  if (is_unfinished(place.kind)) forget_unfinished(state, job);
  if (job.array != nullptr) {
    if (place.kind == JobPlace::Kind::kActive) count_running_task(state, job, -1);
    ArrayTasks& tasks = state.arrays.edit(job.array->array_job);
    tasks.jobs.erase(job.id);
    if (job.array->task != kNoTask) tasks.by_task.erase(job.array->task, job.id);
    forget_array_if_over(state, job.array->array_job);
  } else {
    count_heavy_text(state, job.spec->uid, heavy_text(*job.spec), 0);
  }
  const uint64_t request = job.spec->request_id;
  if (request == 0) return;
  const uint32_t bucket = request_bucket(job.spec->uid, request);
  if (!state.requests.contains(bucket)) return;
  auto& entries = state.requests.edit(bucket).entries;
  std::erase_if(entries, [&](const RequestBucket::Entry& e) { return e.job == job.id; });
  if (entries.empty()) state.requests.erase(bucket);
}

void recount_text(ClusterState& state, const Job& job, const JobSpec& before,
                  const JobSpec& change) {
  if (job.array == nullptr) {
    count_heavy_text(state, before.uid, heavy_text(before), 0);
    return count_heavy_text(state, job.spec->uid, 0, heavy_text(*job.spec));
  }
  const size_t more = heavy_text(change);
  if (more == 0) return;
  state.arrays.edit(job.array->array_job).heavy_text += more;
  count_heavy_text(state, job.spec->uid, 0, more);
}

void rename_job(ClusterState& state, const Job& job, const JobSpec& before) {
  const JobSpec& spec = *job.spec;
  if (!is_unfinished(place_of(job).kind) || (spec.uid == before.uid && spec.name == before.name))
    return;
  state.names.erase(before.uid, before.name, job.id);
  state.names.insert(spec.uid, spec.name, job.id);
}

JobId find_request(const ClusterState& state, uint32_t uid, uint64_t request) {
  const RequestBucket* bucket = state.requests.find(request_bucket(uid, request));
  if (request == 0 || bucket == nullptr) return kNoJob;
  for (const RequestBucket::Entry& entry : bucket->entries) {
    if (entry.request == request && entry.uid == uid) return entry.job;
  }
  return kNoJob;
}

void move_job(ClusterState& state, const Job& job, const JobPlace& before) {
  const JobPlace after = place_of(job);
  if (after.kind != before.kind) {
    set_of(state, before.kind).erase(job.id);
    set_of(state, after.kind).insert(job.id);
    if (is_unfinished(before.kind) && !is_unfinished(after.kind)) forget_unfinished(state, job);
    if (is_unfinished(after.kind) && !is_unfinished(before.kind)) note_unfinished(state, job);
    if (before.kind == JobPlace::Kind::kActive) count_running_task(state, job, -1);
    if (after.kind == JobPlace::Kind::kActive) count_running_task(state, job, 1);
  }
  if (after.waiting && !before.waiting) state.waiting.insert(job.id);
  if (before.waiting && !after.waiting) state.waiting.erase(job.id);
  if (after.age_limited && !before.age_limited) state.age_limited.insert(job.id);
  if (before.age_limited && !after.age_limited) state.age_limited.erase(job.id);
  if (after.group_alone && !before.group_alone) state.group_alone.insert(job.id);
  if (before.group_alone && !after.group_alone) state.group_alone.erase(job.id);
  state.job_count += after.count - before.count;
}

void recount_job(ClusterState& state, const Job& job, const Counted& before) {
  const Counted after = counted(job);
  if (after == before) return;
  release(state.accounting.held, state.accounting, before);
  hold(state.accounting.held, state.accounting, after);
}

bool holds_processors(const Job& job) {
  return job.state != JobState::kSuspended || job.time_sliced;
}

// Without this job: another one may have it whole, where one was suspended.
void mark_exclusive(const ClusterState& state, Node& node, JobId gone) {
  node.exclusive = std::ranges::any_of(node.jobs, [&](JobId id) {
    const Job& job = state.jobs.at(id);
    return id != gone && job.allocation->whole_nodes && holds_processors(job);
  });
}

void occupy_processors(ClusterState& state, const Job& job) {
  for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
    if (job.released.test(at)) continue;
    const NodeAllocation& part = job.allocation->nodes[at];
    Node& node = state.nodes.edit(part.node);
    take_processors(node, part);
    node.exclusive = node.exclusive || job.allocation->whole_nodes;
  }
}

void release_processors(ClusterState& state, const Job& job) {
  for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
    if (job.released.test(at)) continue;
    const NodeAllocation& part = job.allocation->nodes[at];
    Node& node = state.nodes.edit(part.node);
    give_processors_back(state, node, part, job.id);
    mark_exclusive(state, node, job.id);
  }
}

void refresh_gres(Node& node) {
  static const std::vector<GresDevices> nothing;
  node.gres = make_inventory(node.config->gres,
                             node.hardware == nullptr ? nothing : node.hardware->devices);
}

void occupy_nodes(ClusterState& state, const Job& job) {
  const bool completing = is_completing(job);
  for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
    if (job.released.test(at)) continue;
    const NodeAllocation& part = job.allocation->nodes[at];
    Node& node = state.nodes.edit(part.node);
    if (holds_processors(job)) take_processors(node, part);
    node.used_memory_mib += part.memory_mib;
    change_used_gres(node, part.gres, true);
    node.jobs.push_back(job.id);
    node.running_jobs = static_cast<uint32_t>(node.jobs.size());
    node.completing_jobs += completing ? 1 : 0;
    if (job.allocation->whole_nodes && holds_processors(job)) node.exclusive = true;
  }
}

void vacate_nodes(ClusterState& state, const Job& job, const Bitmap& positions, Time time) {
  const bool completing = is_completing(job);
  positions.for_each([&](size_t at) {
    const NodeAllocation& part = job.allocation->nodes[at];
    Node& node = state.nodes.edit(part.node);
    if (holds_processors(job)) give_processors_back(state, node, part, job.id);
    node.used_memory_mib -= part.memory_mib;
    change_used_gres(node, part.gres, false);
    std::erase(node.jobs, job.id);
    node.running_jobs = static_cast<uint32_t>(node.jobs.size());
    if (node.jobs.empty()) node.shared_cores = false;
    node.completing_jobs -= completing ? 1 : 0;
    mark_exclusive(state, node, job.id);
    if (time != kNoTime) node.last_busy = time;
  });
}

void count_completing(ClusterState& state, const Job& job, int change) {
  held_nodes(job).for_each([&](size_t id) {
    Node& node = state.nodes.edit(static_cast<NodeId>(id));
    node.completing_jobs = static_cast<uint32_t>(static_cast<int>(node.completing_jobs) + change);
  });
}

Partition make_partition(const ClusterState& state, std::shared_ptr<const PartitionConfig> config) {
  Partition partition;
  for (const std::string& name : config->nodes) {
    const Node* node = find_node(state, name);
    if (node == nullptr) continue;
    partition.nodes.set(node->id);
    partition.total_cpus += node->config->cpus;
    partition.max_node_cpus = std::max(partition.max_node_cpus, effective_cpus(*node->config));
    partition.max_node_memory_mib =
        std::max(partition.max_node_memory_mib, usable_memory_mib(*node->config));
  }
  partition.config = std::move(config);
  return partition;
}

void rebuild_node_names(ClusterState& state) {
  auto names = std::make_shared<NodeNames>();
  auto features = std::make_shared<FeatureCounts>();
  state.nodes.for_each([&](const Node& node) {
    if (node.removed) return;
    names->emplace(node.name, node.id);
    if (node.config == nullptr) return;
    for (const std::string& feature : node.config->features) ++(*features)[feature];
  });
  auto groups = std::make_shared<std::vector<Bitmap>>();
  for (const SwitchConfig& one : state.config->switches) {
    if (one.nodes.empty()) continue;
    Bitmap& group = groups->emplace_back();
    for (const std::string& name : one.nodes) {
      if (const auto at = names->find(name); at != names->end()) group.set(at->second);
    }
  }
  state.leaf_groups = std::move(groups);
  state.node_names = std::move(names);
  state.features = std::move(features);
}

void recount_features(ClusterState& state, const NodeConfig& before, const NodeConfig& after) {
  if (before.features == after.features) return;
  auto features = std::make_shared<FeatureCounts>(*state.features);
  for (const std::string& feature : after.features) ++(*features)[feature];
  for (const std::string& feature : before.features) {
    const auto at = features->find(feature);
    if (at != features->end() && --at->second == 0) features->erase(at);
  }
  state.features = std::move(features);
}

}  // namespace sluice::state
