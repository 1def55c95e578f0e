// Messages to nodes and watchers, put together from the state.
#include "ctld/state/rules/step/launch_message.hpp"

#include <algorithm>

#include "common/syntax/told_cpus.hpp"
#include "ctld/fit/needs.hpp"

namespace sluice::state {

protocol::NodeAddress node_address(const Node& node) {
  protocol::NodeAddress address;
  address.name = node.name;
  address.host = node_host_address(node);
  if (address.host.empty()) address.host = node_host_name(node);
  if (address.host.empty()) address.host = node.name;
  address.port = node.config->port;
  if (node.hardware != nullptr && node.hardware->port != 0) address.port = node.hardware->port;
  return address;
}

std::vector<protocol::NodeAddress> allocation_addresses(const ClusterState& state, const Job& job) {
  std::vector<protocol::NodeAddress> addresses;
  if (job.allocation == nullptr) return addresses;
  for (const NodeAllocation& part : job.allocation->nodes) {
    addresses.push_back(node_address(state.nodes.at(part.node)));
  }
  return addresses;
}

bool holds_gres(const Job& job) {
  return job.allocation != nullptr &&
         std::ranges::any_of(job.allocation->nodes,
                             [](const NodeAllocation& part) { return !part.gres.empty(); });
}

namespace {

// As the job was submitted; a batch script also finds the memory that it was given by default, or
// that MaxMemPerCPU left to each of its CPUs.
std::shared_ptr<const JobSpec> spec_to_launch(const ClusterState& state, const Job& job,
                                              StepNumber step) {
  if (step != kBatchStep) return job.spec;
  fit::DefaultMemory memory{job.spec->memory_kind, job.spec->memory_mib};
  uint32_t more_cpus = 1;  // in place of each, where MaxMemPerCPU bounds the memory of one
  if (const Partition* partition = find_partition(state, job.partition.view())) {
    if (memory.kind == MemoryKind::kDefault)
      memory = fit::default_memory(*partition->config, *state.config);
    if (memory.kind == MemoryKind::kPerCpu) {
      const auto bounded = fit::within_memory_limit(memory.mib, *partition->config, *state.config);
      memory.mib = bounded.per_cpu_mib;
      more_cpus = bounded.cpus;
    }
  }
  const bool oom_kill = job.spec->oom_kill_step == Toggle::kDefault &&
                        has_option(state.config->task_plugin_param, "OOMKillStep");
  const bool same = memory.kind == job.spec->memory_kind && memory.mib == job.spec->memory_mib;
  if (same && !oom_kill) return job.spec;
  auto spec = std::make_shared<JobSpec>(*job.spec);
  if (oom_kill) spec->oom_kill_step = Toggle::kYes;
  spec->memory_kind = memory.kind;
  spec->memory_mib = memory.mib;
  spec->cpus_per_task *= more_cpus;  // 0: it was not given
  return spec;
}

HetComponent describe_component(const ClusterState& state, const Job& job,
                                std::shared_ptr<const JobSpec> spec) {
  HetComponent out;
  out.job = job.id;
  out.spec = std::move(spec);
  out.partition = job.partition.str();
  if (job.allocation == nullptr) return out;
  out.node_list = job.allocation->node_list;
  for (const NodeAllocation& part : job.allocation->nodes) {
    out.nodes.push_back(state.nodes.at(part.node).name);
    out.cpus.push_back(told_cpus(*job.spec, part));
  }
  return out;
}

// What a launch tells of the heterogeneous job: a batch script of all components, a step of those
// it runs in.
void add_components(const ClusterState& state, const Job& job, const Step& step,
                    protocol::StepLaunch& launch) {
  launch.world = step.world;
  launch.first_node = step.first_node;
  if (job.het == nullptr) return;
  launch.het_leader = job.het->leader;
  for_components(state, *job.het, [&](const Job& other) {
    const bool spanned = step.world != nullptr &&
                         std::ranges::find(step.world->jobs, other.id) != step.world->jobs.end();
    if (step.id.step != kBatchStep && !spanned) return;
    launch.components.push_back(
        describe_component(state, other, spec_to_launch(state, other, step.id.step)));
  });
}

}  // namespace

protocol::StepLaunch describe_launch(const ClusterState& state, const Job& job, const Step& step) {
  protocol::StepLaunch launch;
  launch.key = {step.id, job.restart_count};
  launch.cluster_id = state.cluster_id;
  launch.cluster_name = state.config->cluster_name;
  launch.uid = job.spec->uid;
  launch.gid = job.spec->gid;
  launch.user_name = job.spec->user_name.str();
  launch.group_name = job.spec->group_name.str();
  launch.job_spec = spec_to_launch(state, job, step.id.step);
  launch.allocation = job.allocation;
  launch.allocation_nodes = allocation_addresses(state, job);
  for (const NodeAllocation& part : job.allocation->nodes) {
    launch.allocation_cpus.push_back(told_cpus(*job.spec, part));
    launch.job_memory_mib.push_back(part.memory_mib);
  }
  launch.array = job.array;
  launch.partition = job.partition.str();
  launch.account = job.spec->account.str();
  launch.qos = job.spec->qos.str();
  launch.reservation = reservation_of(job).str();
  launch.job_start = job.start;
  launch.job_end = job.end;
  launch.step = step.spec;
  launch.layout = *step.layout;
  launch.job_round = round_of_job(state, job.id);
  launch.controller_start = state.epoch_start;
  add_components(state, job, step, launch);
  return launch;
}

std::optional<protocol::StepLaunch> make_step_launch(const ClusterState& state,
                                                     const protocol::StepKey& key) {
  const Job* job = state.jobs.find(key.id.job);
  if (job == nullptr || job->restart_count != key.restart || job->allocation == nullptr ||
      is_completing(*job)) {
    return std::nullopt;
  }
  const Step* step = find_step(*job, key.id.step);
  if (step == nullptr) return std::nullopt;
  return describe_launch(state, *job, *step);
}

protocol::TerminateStepRequest make_terminate_step(const ClusterState& state,
                                                   const TerminateStep& effect) {
  protocol::TerminateStepRequest request{effect.key, effect.at_once, {}};
  const Job* job = state.jobs.find(effect.key.id.job);
  const Step* step = job != nullptr ? find_step(*job, effect.key.id.step) : nullptr;
  const bool late = step != nullptr && job->restart_count == effect.key.restart &&
                    step->state == StepState::kTimeout;
  if (late) request.message = "CANCELLED DUE TO TIME LIMIT";
  return request;
}

std::optional<protocol::TerminateJobRequest> make_terminate_job(const ClusterState& state,
                                                                const TerminateJob& effect) {
  const Job* job = state.jobs.find(effect.job);
  if (job == nullptr) return std::nullopt;
  const bool over = job->restart_count != effect.restart || job->allocation == nullptr;
  // a node that was lost is cleaned whatever came of the job
  if (over && !effect.at_once) return std::nullopt;
  protocol::TerminateJobRequest request;
  request.job = effect.job;
  request.restart = effect.restart;
  request.at_once = effect.at_once;
  request.timed_out = effect.timed_out;
  request.message = effect.message;
  request.uid = job->spec->uid;
  request.job_spec = job->spec;
  request.partition = job->partition.str();
  if (job->allocation != nullptr) request.node_list = job->allocation->node_list;
  if (holds_gres(*job)) request.allocation = job->allocation;
  request.exit_status = job->exit_status;
  request.derived_exit_status = job->derived_exit_status;
  return request;
}

protocol::JobWatchUpdate make_watch_update(const ClusterState& state, const Job& job) {
  protocol::JobWatchUpdate update;
  update.job = job.id;
  update.state = job.state;
  update.flags = job.flags;
  update.reason = job.reason;
  update.allocation = job.allocation;
  update.nodes = allocation_addresses(state, job);
  if (job.allocation != nullptr) {
    for (const NodeAllocation& part : job.allocation->nodes) {
      update.cpus_per_node.push_back(told_cpus(*job.spec, part));
    }
  }
  update.partition = job.partition.str();
  update.account = job.spec->account.str();
  update.qos = job.spec->qos.str();
  update.exit_status = job.exit_status;
  update.ready = job.state == JobState::kRunning && is_ready(state, job);
  update.booting = job.state == JobState::kRunning && is_booting(job);
  if (job.het != nullptr && job.state == JobState::kRunning) {
    for_components(state, *job.het, [&](const Job& other) {
      update.ready = update.ready && is_ready(state, other);
      update.components.push_back(describe_component(state, other, nullptr));
    });
  }
  update.end = job.end;
  return update;
}

}  // namespace sluice::state
