#include "ctld/job_submit/cluster_records.hpp"

#include <algorithm>
#include <utility>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "ctld/job_submit/job_fields.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::ctld {
namespace {

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
  if (per_cpu && *per_cpu > 0) return memory_of_cpu(*per_cpu);
  return as_number(per_node.value_or(0));
}

double seconds(Time time) { return as_number(to_seconds(time)); }

using state::Partition;
constexpr FieldRow<Partition> kPartitionRows[] = {
    {"allow_accounts",
     [](const Partition& p) -> LuaValue { return list_value(p.config->allow_accounts); }},
    {"allow_alloc_nodes",
     [](const Partition& p) -> LuaValue { return list_value(p.config->alloc_nodes); }},
    {"allow_groups",
     [](const Partition& p) -> LuaValue { return list_value(p.config->allow_groups); }},
    {"allow_qos", [](const Partition& p) -> LuaValue { return list_value(p.config->allow_qos); }},
    {"alternate", [](const Partition& p) -> LuaValue { return text_value(p.config->alternate); }},
    {"billing_weights_str",
     [](const Partition& p) -> LuaValue { return text_value(p.config->tres_billing_weights); }},
    {"def_mem_per_node",
     [](const Partition& p) -> LuaValue {
       return memory_number(p.config->def_mem_per_cpu_mib, p.config->def_mem_per_node_mib);
     }},
    {"default_time",
     [](const Partition& p) -> LuaValue {
       return p.config->default_time ? as_number(*p.config->default_time) : kNoVal;
     }},
    {"deny_accounts",
     [](const Partition& p) -> LuaValue { return list_value(p.config->deny_accounts); }},
    {"deny_qos", [](const Partition& p) -> LuaValue { return list_value(p.config->deny_qos); }},
    {"flag_default",
     [](const Partition& p) -> LuaValue { return p.config->is_default ? 1.0 : 0.0; }},
    {"flags", [](const Partition& p) -> LuaValue { return flag_bits(*p.config); }},
    {"grace_time",
     [](const Partition& p) -> LuaValue { return as_number(p.config->grace_time_s); }},
    {"max_cpus_per_node",
     [](const Partition& p) -> LuaValue { return as_number(p.config->max_cpus_per_node); }},
    {"max_mem_per_node",
     [](const Partition& p) -> LuaValue {
       return memory_number(p.config->max_mem_per_cpu_mib, p.config->max_mem_per_node_mib);
     }},
    {"max_nodes", [](const Partition& p) -> LuaValue { return as_number(p.config->max_nodes); }},
    {"max_nodes_orig",
     [](const Partition& p) -> LuaValue { return as_number(p.config->max_nodes); }},
    {"max_share", [](const Partition& p) -> LuaValue { return share_number(*p.config); }},
    {"max_time", [](const Partition& p) -> LuaValue { return as_number(p.config->max_time); }},
    {"min_nodes", [](const Partition& p) -> LuaValue { return as_number(p.config->min_nodes); }},
    {"min_nodes_orig",
     [](const Partition& p) -> LuaValue { return as_number(p.config->min_nodes); }},
    {"name", [](const Partition& p) -> LuaValue { return p.config->name; }},
    {"nodes",
     [](const Partition& p) -> LuaValue { return text_value(fold_hosts(p.config->nodes)); }},
    {"priority_job_factor",
     [](const Partition& p) -> LuaValue { return as_number(p.config->priority_job_factor); }},
    {"priority_tier",
     [](const Partition& p) -> LuaValue { return as_number(p.config->priority_tier); }},
    {"qos", [](const Partition& p) -> LuaValue { return text_value(p.config->qos); }},
    {"state_up", [](const Partition& p) -> LuaValue { return state_number(p.config->state); }},
    {"total_cpus", [](const Partition& p) -> LuaValue { return as_number(p.total_cpus); }},
    {"total_nodes", [](const Partition& p) -> LuaValue { return as_number(p.nodes.count()); }},
};

// Where it is asked from, too.
struct ReservationOf {
  const state::ClusterState& state;
  const Reservation& one;
};
constexpr FieldRow<ReservationOf> kReservationRows[] = {
    {"accounts", [](const ReservationOf& r) -> LuaValue { return text_value(r.one.accounts); }},
    {"duration",
     [](const ReservationOf& r) -> LuaValue {
       return as_number((to_seconds(r.one.end) - to_seconds(r.one.start)) / 60);
     }},
    {"end_time", [](const ReservationOf& r) -> LuaValue { return seconds(r.one.end); }},
    {"features", [](const ReservationOf& r) -> LuaValue { return text_value(r.one.features); }},
    {"flags", [](const ReservationOf& r) -> LuaValue { return as_number(r.one.flags); }},
    {"licenses", [](const ReservationOf& r) -> LuaValue { return text_value(r.one.licenses); }},
    {"name", [](const ReservationOf& r) -> LuaValue { return r.one.name; }},
    {"node_cnt", [](const ReservationOf& r) -> LuaValue { return as_number(r.one.nodes.count()); }},
    {"node_list",
     [](const ReservationOf& r) -> LuaValue {
       return text_value(state::node_list(r.state, r.one.nodes));
     }},
    {"partition", [](const ReservationOf& r) -> LuaValue { return text_value(r.one.partition); }},
    {"start_time", [](const ReservationOf& r) -> LuaValue { return seconds(r.one.start); }},
    {"users", [](const ReservationOf& r) -> LuaValue { return text_value(r.one.users); }},
};

bool may_use(const state::ClusterState& state, const PartitionConfig& config,
             const state::Submitter& who) {
  if (who.uid == 0) return !config.disable_root_jobs.value_or(state.config->disable_root_jobs);
  return !config.root_only && state::is_open_to(config, who.groups);
}

// What is not of its submission, or has changed since.
constexpr FieldRow<Job> kJobRows[] = {
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

// Fields that are only read.
template <class Of, auto& rows>
class RecordFields final : public LuaFields {
 public:
  explicit RecordFields(const Of& of) : of_(of) {}
  [[nodiscard]] LuaValue get(std::string_view name) override { return value_in(rows, of_, name); }
  [[nodiscard]] std::vector<std::string> names() override {
    std::vector<std::string> out;
    add_names(rows, out);
    return out;
  }

 private:
  const Of of_;
};

}  // namespace

LuaValue RecordTable::get(std::string_view name) {
  auto known = made_.find(name);
  if (known == made_.end()) {
    auto made = make_(name);
    if (made == nullptr) return {};
    known = made_.emplace(name, std::move(made)).first;
  }
  return known->second.get();
}

RecordTable partition_records(const state::ClusterState& state, const state::Submitter& who) {
  const auto make = [&state, &who](std::string_view name) -> std::unique_ptr<LuaFields> {
    const Partition* found = state::find_partition(state, name);
    const bool is_it = found != nullptr && found->config->name == name;
    if (!is_it || !may_use(state, *found->config, who)) return nullptr;
    return std::make_unique<RecordFields<Partition, kPartitionRows>>(*found);
  };
  const auto names = [&state, &who] {
    std::vector<std::string> out;
    for (const Partition& one : *state.partitions) {
      if (may_use(state, *one.config, who)) out.push_back(one.config->name);
    }
    return out;
  };
  return {make, names};
}

RecordTable reservation_records(const state::ClusterState& state) {
  const auto make = [&state](std::string_view name) -> std::unique_ptr<LuaFields> {
    const Reservation* found = state::find_reservation(state, name);
    if (found == nullptr || found->name != name) return nullptr;
    return std::make_unique<RecordFields<ReservationOf, kReservationRows>>(
        ReservationOf{state, *found});
  };
  const auto names = [&state] {
    std::vector<std::string> out;
    for (const Reservation& one : *state.reservations) out.push_back(one.name);
    return out;
  };
  return {make, names};
}

RecordTable job_records(const state::ClusterState& state) {
  const auto make = [&state](std::string_view name) -> std::unique_ptr<LuaFields> {
    const auto id = to_number<JobId>(name);
    state::FoundJob job = id ? state::find_job(state, *id) : state::FoundJob();
    return job ? std::make_unique<JobFields>(std::move(job)) : nullptr;
  };
  const auto names = [&state] {
    std::vector<std::string> out;
    out.reserve(state.jobs.size());
    state.jobs.for_each([&](const Job& job) { out.push_back(std::to_string(job.id)); });
    return out;
  };
  return {make, names};
}

LuaValue JobFields::get(std::string_view name) {
  if (find_row(kJobRows, name) != nullptr) return value_in(kJobRows, *job_, name);
  return spec_value(*job_->spec, name);
}

std::vector<std::string> JobFields::names() {
  std::vector<std::string> out = spec_names();
  add_names(kJobRows, out);
  return out;
}

}  // namespace sluice::ctld
