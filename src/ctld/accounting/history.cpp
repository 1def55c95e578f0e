#include "ctld/accounting/history.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/environment/gres_env.hpp"
#include "common/format/reservation_keys.hpp"
#include "common/history/job_identity.hpp"
#include "common/model/system_cores.hpp"
#include "common/names/job_states.hpp"
#include "common/names/step_names.hpp"
#include "ctld/fit/needs.hpp"
#include "ctld/state/limits/billing.hpp"
#include "ctld/state/rules/licenses.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::ctld {
namespace {

void set_billing(NamedTresList& list, uint64_t billing) {
  for (NamedTres& one : list) {
    if (one.name == "billing") one.count = billing;
  }
}

std::string text(const SharedText& shared) { return std::string(shared.view()); }

// A command line of some megabytes is not written again with every record of its job.
std::string kept_line(std::string_view line) {
  constexpr size_t kMost = 32U << 10;
  if (line.size() <= kMost) return std::string(line);
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;  // UTF-8
  return std::string(line.substr(0, end)) + "...";
}

void by_name(NamedTresList& list) { std::ranges::sort(list, {}, &NamedTres::name); }

// ",gres/gpu=2,gres/gpu:a100=2", ",license/matlab=2"
void add_listed(std::string_view listed, NamedTresList& list) {
  for (const std::string& one : split_list(listed)) {
    const size_t equals = one.rfind('=');
    if (equals == std::string::npos) continue;
    const auto count = to_number<uint64_t>(std::string_view(one).substr(equals + 1));
    if (count) list.push_back({one.substr(0, equals), *count});
  }
}

void add_licenses(const Job& job, const ClusterConfig& config, NamedTresList& list) {
  add_listed(license_tres(job.spec->licenses.view(), config.accounting_storage_tres), list);
  by_name(list);
}

void add_requests(const state::ClusterState& state, const Job& job, JobHistory& out) {
  const state::Partition* partition = state::find_partition(state, job.partition);
  if (partition == nullptr) partition = state::default_partition(state);
  if (partition == nullptr) return;
  auto tres = state::requested_tres(*job.spec, *partition->config, *state.config);
  if (!tres) return;
  if (tres->all_memory && !partition->nodes.none() && fit::rules_of(*state.config).uses_memory) {
    const Node& first = state.nodes.at(static_cast<NodeId>(partition->nodes.find_first()));
    tres->memory_mib = first.config->real_memory_mib * tres->nodes;
  }
  out.requested_cpus = static_cast<uint32_t>(tres->cpus);
  out.requested_nodes = static_cast<uint32_t>(tres->nodes);
  out.requested_memory_mib = tres->memory_mib;
  out.requested_memory_per_cpu_mib = tres->memory_per_cpu_mib;
  out.requested_tres = named_tres(*tres, *state.config);
  add_licenses(job, *state.config, out.requested_tres);
  set_billing(out.requested_tres, state::requested_billing(state, job, *tres));
}

void add_names(const Job& job, const ClusterConfig& config, JobHistory& out) {
  const JobSpec& spec = *job.spec;
  const auto keeps = [&](std::string_view flag) {
    return has_option(config.accounting_store_flags, flag);
  };
  out.uid = spec.uid;
  out.gid = spec.gid;
  out.user = text(spec.user_name);
  out.group = text(spec.group_name);
  out.name = text(spec.name);
  out.account = text(spec.account);
  out.qos = text(spec.qos);
  out.qos_asked = runs_softly(job.account.get()) ? text(job.account->own_qos) : out.qos;
  out.wckey = text(spec.wckey);
  if (keeps("job_comment")) out.comment = text(spec.comment);
  out.admin_comment = text(spec.admin_comment);
  if (keeps("job_extra")) out.extra = text(spec.extra);
  out.mcs_label = text(spec.mcs_label);
  out.constraint = text(spec.constraint);
  out.container = text(spec.container);
  out.licenses = text(spec.licenses);
  out.submit_line = kept_line(spec.submit_line.view());
  out.work_dir = text(spec.work_dir);
  if (!keeps("no_stdio")) {
    out.std_in = text(spec.std_in);
    out.std_out = text(spec.std_out);
    out.std_err = text(spec.std_err);
    // where a script's streams go when nobody says so
    if (spec.batch && out.std_in.empty()) out.std_in = "/dev/null";
    if (spec.batch && out.std_out.empty())
      out.std_out = job.array != nullptr ? "slurm-%A_%a.out" : "slurm-%j.out";
  }
  if (keeps("job_script")) out.script_blob = text(spec.script_blob);
  if (keeps("job_env")) out.environment_blob = text(spec.environment_blob);
  out.cpu_freq = text(spec.cpu_freq);
  out.batch = spec.batch;
  out.requested_tasks = spec.num_tasks;
}

void add_times(const Job& job, JobHistory& out) {
  out.submit = job.submit;
  out.eligible = job.eligible;
  if (job.allocation != nullptr) out.start = job.start;
  if (is_terminal(job.state)) out.end = job.end;
  out.time_limit = job.time_limit != 0 ? job.time_limit : job.spec->time_limit;
  if (job.suspended_at == kNoTime) return;
  // before_suspend is what it has run until then
  const Duration since_start = job.suspended_at - job.start;
  if (since_start > job.before_suspend) out.suspended = since_start - job.before_suspend;
  if (job.state == JobState::kSuspended) out.suspended_since = job.suspended_at;
}

// As Slurm names what nobody asked for: where the srun of a step made its job, too, it is Block.
std::string default_layout(const Job& job, const Step& step, const StepHistory& history) {
  const bool own_job = step.spec != nullptr && !step.spec->submit_line.empty() &&
                       step.spec->submit_line == job.spec->submit_line;
  return own_job || history.tasks > history.node_count ? "Block" : "Cyclic";
}

}  // namespace

NamedTresList named_tres(const state::TresCounts& counts, const ClusterConfig& config) {
  NamedTresList out{{"cpu", counts.cpus}, {"node", counts.nodes}, {"billing", counts.cpus}};
  if (counts.memory_mib > 0) out.push_back({"mem", counts.memory_mib});
  add_listed(gres_tres(counts.gres, config.accounting_storage_tres), out);
  by_name(out);
  return out;
}

JobHistory job_history(const state::ClusterState& state, const Job& job, WaitingTasks tasks) {
  JobHistory out;
  set_identity(out, job, tasks);
  add_names(job, *state.config, out);
  add_times(job, out);
  add_requests(state, job, out);
  out.partition = text(job.partition.empty() ? job.spec->partitions : job.partition);
  out.reservation = text(reservation_of(job));
  out.requested_reservations = text(job.spec->reservation);
  if (const Reservation* one = state::find_reservation(state, out.reservation))
    out.reservation_id = one->id;
  out.sharing = job.spec->sharing;
  out.state = job.state;
  out.flags = job.flags & ~(kJobCompleting | kJobConfiguring);  // they pass without a record
  // what it waited for, never why it ended
  const bool ended_run = is_terminal(job.state) && job.allocation != nullptr;
  out.reason = reason_text(ended_run ? JobReason::kNone : job.reason);
  out.exit_status = job.exit_status;
  out.derived_exit_status = job.derived_exit_status;
  out.ended_by = job.cancelled_by;
  out.failed_node = text(job.failed_node);
  out.priority = job.spec->priority != UINT32_MAX ? job.spec->priority : job.priority;
  if (job.allocation == nullptr) return out;
  out.nodes = job.allocation->node_list;
  out.node_count = static_cast<uint32_t>(job.allocation->nodes.size());
  out.cpus = job.allocation->cpus;
  state::TresCounts held = state::allocated_tres(*job.allocation);
  out.allocated_tres = named_tres(held, *state.config);
  add_licenses(job, *state.config, out.allocated_tres);
  set_billing(out.allocated_tres, state::shown_billing(state, job, held));
  return out;
}

StepHistory step_history(const ClusterConfig& config, const Job& job, const Step& step) {
  StepHistory out;
  out.id = step.id;
  out.job_submit = job.submit;
  out.job_restarts = job.restart_count;
  out.name = step.spec != nullptr && step.id.step <= kMaxNormalStep
                 ? text(step.spec->name)
                 : step_number_text(step.id.step);
  out.state = step.state == StepState::kPending ? StepState::kRunning : step.state;
  out.start = step.start;
  out.exit_status = step.exit_status;
  out.ended_by = step.cancelled_by;
  if (step.spec != nullptr) {
    const StepSpec& spec = *step.spec;
    out.submit_line = kept_line(spec.submit_line.view());
    out.work_dir = text(spec.work_dir);
    out.layout = text(spec.distribution);
    out.cpu_freq = text(spec.cpu_freq);
    out.std_in = text(spec.std_in);
    out.std_out = text(spec.std_out);
    out.std_err = text(spec.std_err);
    out.time_limit = spec.time_limit;
  } else if (step.id.step == kBatchStep) {
    out.work_dir = text(job.spec->work_dir);
  }
  if (step.layout == nullptr) return out;
  out.nodes = step.layout->node_list;
  out.node_count = static_cast<uint32_t>(step.layout->nodes.size());
  out.tasks = std::max(step.layout->num_tasks, 1U);
  if (out.layout.empty() && step.id.step <= kMaxNormalStep)
    out.layout = default_layout(job, step, out);
  state::TresCounts held;
  held.nodes = out.node_count;
  for (const StepNode& node : step.layout->nodes) {
    held.cpus += node.cpus;
    held.memory_mib += node.memory_mib;
    for (const GresShare& share : node.gres)
      add_shares(held.gres, {{share.name, share.type, share.count, {}, {}}});
  }
  out.cpus = static_cast<uint32_t>(held.cpus);
  out.allocated_tres = named_tres(held, config);
  std::erase_if(out.allocated_tres, [&](const NamedTres& one) {
    return one.name == "billing" && step.id.step != kExternStep;
  });
  return out;
}

UsageHistory usage_history(const protocol::StepUsage& usage, const Step& step) {
  if (usage.measured != nullptr) return *usage.measured;
  constexpr uint64_t kKib = 1024;
  UsageHistory out;
  out.user_cpu = usage.user_cpu;
  out.system_cpu = usage.system_cpu;
  out.tasks = step.layout != nullptr ? std::max(step.layout->num_tasks, 1U) : 1;
  const auto of = [](uint64_t most, uint64_t total) {
    UsageExtent extent;
    extent.max = most;
    extent.total = total;
    return extent;
  };
  const auto cpu = static_cast<uint64_t>((usage.user_cpu + usage.system_cpu).count());
  out.cpu = of(cpu, cpu);
  out.memory = of(usage.max_rss_kib * kKib, usage.max_rss_kib * kKib);
  out.virtual_memory = of(usage.max_vsize_kib * kKib, usage.max_vsize_kib * kKib);
  out.read = of(usage.read_bytes, usage.read_bytes);
  out.written = of(usage.write_bytes, usage.write_bytes);
  return out;
}

std::optional<NodeHistory> node_history(const Node& node, const ClusterConfig& config) {
  const NodeBaseState base = state::shown_base(node);
  const NodeFlags flags = state::shown_flags(node);
  if (node.removed || (base != NodeBaseState::kDown && (flags & (kNodeDrain | kNodeFailing)) == 0))
    return std::nullopt;
  NodeHistory out;
  out.node = node.name;
  out.state = node_state_complete(base, flags);
  out.reason = text(node.reason);
  out.reason_uid = node.reason_uid;
  state::TresCounts counts;
  counts.nodes = 1;
  counts.cpus = node.config->cpus;
  counts.memory_mib = node.config->real_memory_mib;
  out.tres = named_tres(counts, config);
  return out;
}

ClusterHistory cluster_history(const state::ClusterState& state) {
  ClusterHistory out;
  state::TresCounts counts;
  Bitmap nodes;
  state.nodes.for_each([&](const Node& node) {
    if (node.removed) return;
    nodes.set(node.id);
    ++counts.nodes;
    counts.cpus += node.config->cpus;
    counts.memory_mib += node.config->real_memory_mib;
    if (node.gres == nullptr) return;
    for (const GresShare& share : all_of(*node.gres)) add_shares(counts.gres, {share});
  });
  out.nodes = state::node_list(state, nodes);
  out.tres = named_tres(counts, *state.config);
  add_listed(license_tres(state.config->licenses, state.config->accounting_storage_tres), out.tres);
  // those that are to be counted are known, and can be limited, before a node has any
  for (const std::string& name : state.config->accounting_storage_tres) {
    const bool there = std::ranges::find(out.tres, name, &NamedTres::name) != out.tres.end();
    if (!there) out.tres.push_back({name, 0});
  }
  by_name(out.tres);
  return out;
}

ReservationHistory reservation_history(const state::ClusterState& state,
                                       const Reservation& reservation) {
  ReservationHistory out;
  out.name = reservation.name;
  out.id = reservation.id;
  out.nodes = state::node_list(state, reservation.nodes);
  out.accounts = reservation.accounts;
  out.users = reservation.users;
  out.flags = reservation_flags_text(reservation);
  out.start = reservation.start;
  out.end = reservation.end;
  state::TresCounts counts;
  reservation.nodes.for_each([&](size_t id) {
    const Node* node = state.nodes.find(static_cast<NodeId>(id));
    if (node == nullptr) return;
    const auto part = std::ranges::find(reservation.cores, node->id, &ReservedCores::node);
    const auto gres = std::ranges::find(reservation.gres, node->id, &ReservedGres::node);
    if (gres != reservation.gres.end()) add_shares(counts.gres, gres->shares);
    if (part != reservation.cores.end()) {
      counts.cpus += part->cores.count() * cpus_of_core(*node->config);
    } else if (gres == reservation.gres.end()) {
      counts.cpus += node->config->cpus;
    }
  });
  // Slurm names the nodes beside it, and bills nobody
  if (counts.cpus > 0) out.tres.push_back({"cpu", counts.cpus});
  const std::vector<std::string>& tracked = state.config->accounting_storage_tres;
  add_listed(gres_tres(counts.gres, tracked), out.tres);
  add_listed(license_tres(reservation.licenses, tracked), out.tres);
  by_name(out.tres);
  return out;
}

}  // namespace sluice::ctld
