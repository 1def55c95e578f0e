#include "ctld/job_submit/cluster_records.hpp"

#include <algorithm>
#include <utility>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "ctld/job_submit/job_fields.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/rules/access.hpp"

namespace sluice::ctld {
namespace {

template <class Number>
double as_number(Number number) {
  return static_cast<double>(number);
}

LuaValue list_value(const std::vector<std::string>& names) { return text_value(join(names, ",")); }

// As the plugins of Slurm see them.
double state_number(PartitionState state) {
  switch (state) {
    case PartitionState::kUp: return 3;
    case PartitionState::kDrain: return 2;
    case PartitionState::kDown: return 1;
    case PartitionState::kInactive: return 0;
  }
  return 0;
}

double flag_bits(const PartitionConfig& config) {
  const std::pair<bool, uint32_t> bits[] = {{config.is_default, 1},
                                            {config.hidden, 2},
                                            {config.disable_root_jobs.value_or(false), 4},
                                            {config.root_only, 8},
                                            {config.req_resv, 16},
                                            {config.lln, 32},
                                            {config.exclusive == ExclusiveMode::kUser, 64}};
  uint32_t out = 0;
  for (const auto& [on, bit] : bits) out |= on ? bit : 0;
  return as_number(out);
}

double share_number(const PartitionConfig& config) {
  switch (config.over_subscribe) {
    case OverSubscribe::kNo: return 1;
    case OverSubscribe::kYes: return as_number(config.over_subscribe_count);
    case OverSubscribe::kForce: return as_number(config.over_subscribe_count | 0x8000);
    case OverSubscribe::kExclusive: return 0;
  }
  return 1;
}

double memory_number(const std::optional<uint64_t>& per_cpu,
                     const std::optional<uint64_t>& per_node) {
  if (per_cpu && *per_cpu > 0) return kMemPerCpu + as_number(*per_cpu);
  return as_number(per_node.value_or(0));
}

LuaRecord::Values values_of(const state::Partition& partition) {
  const PartitionConfig& config = *partition.config;
  return {
      {"allow_accounts", list_value(config.allow_accounts)},
      {"allow_alloc_nodes", list_value(config.alloc_nodes)},
      {"allow_groups", list_value(config.allow_groups)},
      {"allow_qos", list_value(config.allow_qos)},
      {"alternate", text_value(config.alternate)},
      {"billing_weights_str", text_value(config.tres_billing_weights)},
      {"def_mem_per_node", memory_number(config.def_mem_per_cpu_mib, config.def_mem_per_node_mib)},
      {"default_time", config.default_time ? as_number(*config.default_time) : kNoVal},
      {"deny_accounts", list_value(config.deny_accounts)},
      {"deny_qos", list_value(config.deny_qos)},
      {"flag_default", config.is_default ? 1.0 : 0.0},
      {"flags", flag_bits(config)},
      {"grace_time", as_number(config.grace_time_s)},
      {"max_cpus_per_node", as_number(config.max_cpus_per_node)},
      {"max_mem_per_node", memory_number(config.max_mem_per_cpu_mib, config.max_mem_per_node_mib)},
      {"max_nodes", as_number(config.max_nodes)},
      {"max_nodes_orig", as_number(config.max_nodes)},
      {"max_share", share_number(config)},
      {"max_time", as_number(config.max_time)},
      {"min_nodes", as_number(config.min_nodes)},
      {"min_nodes_orig", as_number(config.min_nodes)},
      {"name", config.name},
      {"nodes", text_value(fold_hosts(config.nodes))},
      {"priority_job_factor", as_number(config.priority_job_factor)},
      {"priority_tier", as_number(config.priority_tier)},
      {"qos", text_value(config.qos)},
      {"state_up", state_number(config.state)},
      {"total_cpus", as_number(partition.total_cpus)},
      {"total_nodes", as_number(partition.nodes.count())},
  };
}

bool may_use(const state::ClusterState& state, const PartitionConfig& config, uint32_t uid,
             const std::vector<std::string>& groups) {
  if (uid == 0) return !config.disable_root_jobs.value_or(state.config->disable_root_jobs);
  return !config.root_only && state::is_open_to(config, groups);
}

double seconds(Time time) { return as_number(to_seconds(time)); }

// What is not of its submission, or has changed since.
struct JobRow {
  std::string_view name;
  LuaValue (*get)(const Job& job) = nullptr;
};
constexpr JobRow kJobRows[] = {
    {"array_job_id",
     [](const Job& job) -> LuaValue {
       return as_number(job.array == nullptr ? 0 : job.array->array_job);
     }},
    {"array_task_id",
     [](const Job& job) -> LuaValue {
       const bool is_task = job.array != nullptr && job.array->task != kNoTask;
       return is_task ? as_number(job.array->task) : kNoVal;
     }},
    {"dependency", [](const Job& job) { return text_value(job.dependency.view()); }},
    {"end_time", [](const Job& job) -> LuaValue { return seconds(job.end); }},
    {"het_job_id",
     [](const Job& job) -> LuaValue {
       return as_number(job.het == nullptr ? 0 : job.het->leader);
     }},
    {"job_id", [](const Job& job) -> LuaValue { return as_number(job.id); }},
    {"job_state",
     [](const Job& job) -> LuaValue { return as_number(static_cast<uint8_t>(job.state)); }},
    {"nice", [](const Job& job) -> LuaValue { return kNiceOffset + job.spec->nice; }},
    {"nodes",
     [](const Job& job) {
       return job.allocation == nullptr ? LuaValue() : text_value(job.allocation->node_list);
     }},
    {"partition",
     [](const Job& job) {
       const bool waits = job.state == JobState::kPending && !job.spec->partitions.empty();
       return text_value(waits ? job.spec->partitions.view() : job.partition.view());
     }},
    {"restart_cnt", [](const Job& job) -> LuaValue { return as_number(job.restart_count); }},
    {"start_time", [](const Job& job) -> LuaValue { return seconds(job.start); }},
    {"submit_time", [](const Job& job) -> LuaValue { return seconds(job.submit); }},
    {"time_limit", [](const Job& job) -> LuaValue { return as_number(job.time_limit); }},
};

}  // namespace

void RecordTable::add(const std::string& name, LuaRecord::Values values) {
  records_[name] = std::make_unique<LuaRecord>(std::move(values));
}

LuaFields& RecordTable::fields() {
  if (table_ == nullptr) {
    LuaRecord::Values values;
    for (const auto& [name, record] : records_)
      values.emplace(name, static_cast<LuaFields*>(record.get()));
    table_ = std::make_unique<LuaRecord>(std::move(values));
  }
  return *table_;
}

RecordTable partition_records(const state::ClusterState& state, uint32_t uid,
                              const std::vector<std::string>& groups) {
  RecordTable out;
  for (const state::Partition& partition : *state.partitions) {
    const PartitionConfig& config = *partition.config;
    if (may_use(state, config, uid, groups)) out.add(config.name, values_of(partition));
  }
  return out;
}

RecordTable reservation_records(const state::ClusterState& state) {
  RecordTable out;
  for (const Reservation& one : *state.reservations) {
    out.add(one.name, {{"accounts", text_value(one.accounts)},
                       {"duration", as_number((to_seconds(one.end) - to_seconds(one.start)) / 60)},
                       {"end_time", seconds(one.end)},
                       {"features", text_value(one.features)},
                       {"flags", as_number(one.flags)},
                       {"licenses", text_value(one.licenses)},
                       {"name", one.name},
                       {"node_cnt", as_number(one.nodes.count())},
                       {"node_list", text_value(state::node_list(state, one.nodes))},
                       {"partition", text_value(one.partition)},
                       {"start_time", seconds(one.start)},
                       {"users", text_value(one.users)}});
  }
  return out;
}

LuaValue JobFields::get(std::string_view name) {
  const auto row = std::ranges::find(kJobRows, name, &JobRow::name);
  return row != std::end(kJobRows) ? row->get(*job_) : spec_value(*job_->spec, name);
}

Status JobFields::set(std::string_view, const LuaValue&, bool& known) {
  known = false;
  return {};
}

std::vector<std::string> JobFields::names() {
  std::vector<std::string> out = spec_names();
  for (const JobRow& row : kJobRows) out.emplace_back(row.name);
  return out;
}

LuaValue JobTable::get(std::string_view name) {
  const auto id = to_number<JobId>(name);
  if (!id) return {};
  const auto known = made_.find(*id);
  if (known != made_.end()) return static_cast<LuaFields*>(known->second.get());
  state::FoundJob job = state::find_job(state_, *id);
  if (!job) return {};
  const auto made = made_.emplace(*id, std::make_unique<JobFields>(std::move(job))).first;
  return static_cast<LuaFields*>(made->second.get());
}

Status JobTable::set(std::string_view, const LuaValue&, bool& known) {
  known = false;
  return {};
}

std::vector<std::string> JobTable::names() {
  std::vector<std::string> out;
  out.reserve(state_.jobs.size());
  state_.jobs.for_each([&](const Job& job) { out.push_back(std::to_string(job.id)); });
  return out;
}

}  // namespace sluice::ctld
