// Look-ups in the state, and what the commands show of nodes.
#include "ctld/state/core/cluster_state.hpp"

#include <algorithm>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/core/power_saving.hpp"

namespace sluice::state {
namespace {

bool is_up_without(const Node& node, NodeFlags unusable) {
  return !node.removed && node.base == NodeBaseState::kIdle && (node.flags & unusable) == 0;
}

// How many names a list may have.
constexpr size_t kMostNamesOfNodes = 16'384;
constexpr size_t kMostNamesOfEach = 4;

constexpr NodeFlags kNeverUsable = kNodeDrain | kNodeMaint | kNodeReserved | kNodeFailing |
                                   kNodeRebootIssued | kNodeInvalidReg | kNodePowerDown |
                                   kNodePoweringDown;

}  // namespace

const Partition* find_partition(const ClusterState& state, std::string_view name) {
  for (const Partition& partition : *state.partitions) {
    if (partition.config->name == name) return &partition;
  }
  return nullptr;
}

const Partition* default_partition(const ClusterState& state) {
  for (const Partition& partition : *state.partitions) {
    if (partition.config->is_default) return &partition;
  }
  return nullptr;
}

const Node* find_node(const ClusterState& state, std::string_view name) {
  const auto found = state.node_names->find(std::string(name));
  return found == state.node_names->end() ? nullptr : state.nodes.find(found->second);
}

Result<Bitmap> resolve_nodes(const ClusterState& state, std::string_view host_list) {
  const Result<size_t> count = count_hosts(host_list);
  if (!count) return tl::unexpected(count.error());
  // names may come many times over, but not for ever: making and looking up each takes time
  if (*count > kMostNamesOfNodes + kMostNamesOfEach * state.node_names->size())
    return failure(ErrorCode::kInvalidNodeName);
  const Result<std::vector<std::string>> names = expand_hosts(host_list);
  if (!names) return tl::unexpected(names.error());
  Bitmap nodes;
  for (const std::string& name : *names) {
    const Node* node = find_node(state, name);
    if (node == nullptr) return failure(ErrorCode::kInvalidNodeName);
    nodes.set(node->id);
  }
  return nodes;
}

std::string node_list(const ClusterState& state, const Bitmap& nodes) {
  std::vector<std::string> names;
  nodes.for_each([&](size_t id) { names.push_back(state.nodes.at(static_cast<NodeId>(id)).name); });
  return fold_hosts(names);
}

std::optional<size_t> allocation_position(const Allocation& allocation, NodeId node) {
  const auto at =
      std::lower_bound(allocation.nodes.begin(), allocation.nodes.end(), node,
                       [](const NodeAllocation& a, NodeId wanted) { return a.node < wanted; });
  if (at == allocation.nodes.end() || at->node != node) return std::nullopt;
  return static_cast<size_t>(at - allocation.nodes.begin());
}

Bitmap allocation_positions(const Job& job, const Bitmap& nodes) {
  Bitmap positions;
  if (job.allocation == nullptr) return positions;
  nodes.for_each([&](size_t id) {
    const auto at = allocation_position(*job.allocation, static_cast<NodeId>(id));
    if (at) positions.set(*at);
  });
  return positions;
}

Bitmap held_nodes(const Job& job) {
  Bitmap nodes;
  if (job.allocation == nullptr) return nodes;
  for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
    if (!job.released.test(at)) nodes.set(job.allocation->nodes[at].node);
  }
  return nodes;
}

bool is_ready(const ClusterState& state, const Job& job) {
  if (job.preparing.none()) return true;
  return prologs_may_run(job) && has_option(state.config->prolog_flags, "NoHold");
}

const Job* find_component(const ClusterState& state, JobId leader, uint32_t offset) {
  const Job* job = state.jobs.find(leader + offset);
  return job != nullptr && job->het != nullptr && job->het->leader == leader &&
                 job->het->offset == offset
             ? job
             : nullptr;
}

FoundJob find_array_task(const ClusterState& state, JobId array_job, uint32_t task) {
  if (task == kNoTask) return find_job(state, array_job);
  const ArrayTasks* tasks = state.arrays.find(array_job);
  if (tasks == nullptr) return {};
  if (const JobId id = tasks->by_task.find(task); id != kNoJob) return find_job(state, id);
  const Job* waiting = state.jobs.find(array_job);
  const bool is_its =
      waiting != nullptr && waiting->array != nullptr && waiting->array->pending.contains(task);
  return is_its ? FoundJob(waiting) : FoundJob();
}

std::vector<std::string> partitions_of(const ClusterState& state, const Job& job) {
  std::vector<std::string> names = split_names(job.spec->partitions.view());
  if (names.empty() && !job.partition.empty()) names.push_back(job.partition.str());
  if (names.empty()) {
    const Partition* partition = default_partition(state);
    if (partition != nullptr) names.push_back(partition->config->name);
  }
  return names;
}

bool is_admin(const ClusterState& state, uint32_t uid) {
  return uid == 0 || uid == state.config->slurm_user_id ||
         admin_level(state.accounting, uid) == AdminLevel::kAdministrator;
}

bool is_operator(const ClusterState& state, uint32_t uid) {
  return is_admin(state, uid) || admin_level(state.accounting, uid) == AdminLevel::kOperator;
}

bool may_act_as_owner(const ClusterState& state, const Job& job, uint32_t uid) {
  return uid == job.spec->uid || uid == 0 || uid == state.config->slurm_user_id;
}

bool is_owner_or_admin(const ClusterState& state, const Job& job, uint32_t uid) {
  return uid == job.spec->uid || is_operator(state, uid) ||
         is_coordinator(state.accounting, uid, job.spec->account.view());
}

const Step* find_step(const Job& job, StepNumber step) {
  for (const auto& s : job.steps) {
    if (s->id.step == step) return s.get();
  }
  return nullptr;
}

bool is_eligible(const Job& job, Time now) {
  return job.state == JobState::kPending && job.hold == HoldKind::kNone && job.dependency.empty() &&
         job.spec->begin <= now && (job.eligible == kNoTime || job.eligible <= now);
}

NodeBaseState shown_base(const Node& node) {
  if (node.base != NodeBaseState::kIdle) return node.base;
  // a node whose jobs are all completing is idle, with the COMPLETING flag
  if (node.running_jobs <= node.completing_jobs) return NodeBaseState::kIdle;
  if (node.exclusive || node.used_cpus >= effective_cpus(*node.config)) {
    return NodeBaseState::kAllocated;
  }
  return node.used_cpus == 0 ? NodeBaseState::kIdle : NodeBaseState::kMixed;
}

NodeFlags shown_flags(const Node& node) {
  return node.flags | (node.completing_jobs > 0 ? kNodeCompleting : 0);
}

bool expects_agent(const Node& node) {
  return !node.removed && node.base != NodeBaseState::kFuture && !is_asleep(node) &&
         (node.flags & kNodePoweringDown) == 0;
}

bool is_asleep(const Node& node) {
  return (node.flags & (kNodePoweredDown | kNodePoweringUp)) != 0;
}

bool is_schedulable(const Node& node) {
  return is_up_without(
      node, kNeverUsable | kNodeNoRespond | kNodePoweredDown | kNodePowerUp | kNodePoweringUp);
}

bool may_serve(const ClusterState& state, const Node& node) {
  if (!is_asleep(node)) return is_schedulable(node);
  return saves_power(*state.config) && is_up_without(node, kNeverUsable);
}

uint64_t usable_memory_mib(const NodeConfig& node) {
  return node.real_memory_mib > node.mem_spec_limit_mib
             ? node.real_memory_mib - node.mem_spec_limit_mib
             : 0;
}

}  // namespace sluice::state
