#include "ctld/state/decide/job/submit_plugins.hpp"

#include <string_view>

#include "common/base/text.hpp"
#include "common/model/job_update.hpp"

namespace sluice::state {
namespace {

Status all_partitions(const ClusterState& state, const Submitter& who, JobSpec& spec) {
  if (!spec.partitions.empty()) return {};
  std::string names;
  for (const Partition& partition : *state.partitions) {
    if (!check_access(state, partition, spec, who)) continue;
    names.append(names.empty() ? "" : ",").append(partition.config->name);
  }
  spec.partitions = names;  // none: as if there were no such plugin
  return {};
}

bool could_run_in(const ClusterState& state, const Partition& partition, const JobSpec& spec,
                  const Submitter& who) {
  return check_access(state, partition, spec, who) &&
         check_size(state, spec, {&partition}, false) && within_limits(state, spec, partition);
}

Status choose_partition(const ClusterState& state, const Submitter& who, JobSpec& spec) {
  if (!spec.partitions.empty()) return {};
  const Partition* usual = default_partition(state);
  if (usual != nullptr && could_run_in(state, *usual, spec, who)) return {};
  for (const Partition& partition : *state.partitions) {
    if (!could_run_in(state, partition, spec, who)) continue;
    spec.partitions = partition.config->name;
    return {};
  }
  return {};  // refused for what is wrong with it in the default one
}

Status require_time_limit(const ClusterState&, const Submitter&, JobSpec& spec) {
  if (spec.time_limit == 0) return failure(ErrorCode::kMissingTimeLimit);
  return {};
}

struct Plugin {
  std::string_view name;
  Status (*apply)(const ClusterState& state, const Submitter& who, JobSpec& spec);
};
constexpr Plugin kPlugins[] = {
    {"all_partitions", all_partitions},
    {"partition", choose_partition},
    {"require_timelimit", require_time_limit},
};

}  // namespace

Status apply_submit_plugin(const ClusterState& state, std::string_view name, const Submitter& who,
                           JobSpec& spec) {
  for (const Plugin& plugin : kPlugins) {
    if (iequals(plugin.name, name)) return plugin.apply(state, who, spec);
  }
  return {};
}

Status apply_submit_plugins(const ClusterState& state, const Submitter& who, JobSpec& spec) {
  for (const std::string& name : state.config->job_submit_plugins) {
    if (Status ok = apply_submit_plugin(state, name, who, spec); !ok) return ok;
  }
  return {};
}

Status check_update_plugins(const ClusterConfig& config, const Job& job, const JobUpdate& update) {
  if (!update.time_limit || !has_option(config.job_submit_plugins, "require_timelimit")) return {};
  const bool none = *update.time_limit == 0 || *update.time_limit == kInfiniteMinutes;
  if (none && job.time_limit != kInfiniteMinutes) return failure(ErrorCode::kMissingTimeLimit);
  return {};
}

}  // namespace sluice::state
