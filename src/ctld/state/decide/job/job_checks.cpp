// Checks of a job's demands. Error codes and texts are Slurm's; a text beside a code is the line
// that sbatch prints before the code's own sentence.
#include "ctld/state/decide/job/job_checks.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include <fmt/format.h>

#include "common/base/bounded.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/system_cores.hpp"
#include "common/protocol/stepd.hpp"
#include "common/format/job_values.hpp"
#include "common/submit/submit_options.hpp"
#include "ctld/fit/features.hpp"
#include "ctld/state/decide/node/node_features.hpp"
#include "ctld/state/rules/node_groups.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/licenses.hpp"
#include "ctld/state/rules/mail_types.hpp"
#include "ctld/state/rules/reservations.hpp"
#include "ctld/state/rules/room.hpp"
#include "ctld/state/core/text_bytes.hpp"

namespace sluice::state {
namespace {

constexpr size_t kMostArguments = size_t{2} << 20;  // bytes, as the kernel's of a command
constexpr size_t kMostArgumentCount = 16'384;
// soft and hard ones of twice as many resources as there are
constexpr size_t kMostLimits = 64;
// all of a job's texts together: they stay in memory until it is over
constexpr size_t kMostJobText = size_t{4} << 20;
// of --multi-prog: a file, and as long as a script may be
constexpr size_t kMostProgramText = size_t{4} << 20;

// The feature names, each once, of a constraint such as "[a&b*2|c]&d". There is no "not": "!a" is a
// name, and no node has it.
std::vector<std::string> feature_names(std::string_view constraint) {
  std::vector<std::string> names;
  std::string name;
  bool counts = false;  // what stands behind a *
  const auto flush = [&] {
    if (!name.empty() && !counts) names.push_back(name);
    name.clear();
  };
  for (const char c : constraint) {
    if (std::string_view("&|,[]()*").find(c) != std::string_view::npos) {
      flush();
      counts = c == '*';
    } else {
      name += c;
    }
  }
  flush();
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool any_node_has(const ClusterState& state, const std::string& feature) {
  return state.features->contains(feature);
}

// The kernel takes 128 KiB of a word of a command line or an environment. Programs of the site find
// texts of the job in variables, and do not run with one that is longer: its name has room, too.
constexpr size_t kMostWord = (size_t{128} << 10) - 128;
// of scrontab: five fields, of which each may name all of its values
constexpr size_t kMostCron = 512;

// Of the field of JobSpec or StepSpec with this name. Slurm's bounds; of what it does not bound, or
// more widely than we know, one word.
size_t most_bytes(std::string_view field) {
  static constexpr std::array<std::string_view, 15> kShort{
      "name",      "account",    "wckey",   "comment",        "constraint",
      "mail_user", "qos",        "network", "reservation",    "licenses",
      "mcs_label", "partitions", "prefer",  "batch_features", "cluster_constraint"};
  static constexpr std::array<std::string_view, 4> kPaths{"work_dir", "std_in", "std_out",
                                                          "std_err"};
  if (std::ranges::find(kShort, field) != kShort.end()) return 1024;
  if (std::ranges::find(kPaths, field) != kPaths.end()) return 4096;
  if (field == "multi_prog") return kMostProgramText;
  if (field == "cron") return kMostCron;
  // of a step: with a host file one for each task
  const bool list = field == "submit_line" || field == "node_list";
  return list ? kMostArguments : kMostWord;
}

// Likewise of both. What is as it was in `before` is not looked at.
template <class Spec>
Status check_each_text(const Spec& spec, const Spec& before) {
  bool good = spec.arguments.size() <= kMostArgumentCount && spec.limits.size() <= kMostLimits;
  Spec::describe([&](uint32_t, const char* name, auto member) {
    if constexpr (std::is_same_v<decltype(member), SharedText Spec::*>) {
      const size_t bytes = (spec.*member).view().size();
      good = good && (bytes <= most_bytes(name) || spec.*member == before.*member);
    }
  });
  size_t bytes = 0;
  for (const SharedText& argument : spec.arguments) bytes += argument.view().size() + 1;
  if constexpr (std::is_same_v<Spec, JobSpec>) good = good && text_bytes(spec) <= kMostJobText;
  return good && bytes <= kMostArguments ? Status{} : failure(std::string(kTooLong));
}

}  // namespace

Status check_rights(const ClusterState& state, uint32_t uid, JobSpec& spec) {
  if (spec.reboot && !is_admin(state, uid))
    return failure(ErrorCode::kAccessDenied, "rebooting of nodes is only allowed for admins");
  if (is_operator(state, uid)) return {};
  if (spec.priority != 0) spec.priority = UINT32_MAX;
  spec.admin_comment = {};
  spec.site_factor = 0;
  return spec.nice < 0 ? failure(ErrorCode::kInvalidNice) : Status();
}

Status check_texts(const JobSpec& spec, const JobSpec& before) {
  if (!spec.mail_user.empty() && spec.mail_user != before.mail_user &&
      !is_mail_list(spec.mail_user.view())) {
    return failure(ErrorCode::kBadRequest, "--mail-user takes addresses with commas between them");
  }
  return check_each_text(spec, before);
}

Status check_listener(const IoEndpoint& io) {
  return protocol::is_short(io) ? Status{} : failure(std::string(kTooLong));
}

Status check_texts(const StepSpec& spec) {
  const Status good = check_listener(spec.io);
  return good ? check_each_text(spec, StepSpec()) : good;
}

void ask_for_all_memory(JobSpec& spec) {
  if (spec.memory_kind == MemoryKind::kPerCpu && spec.memory_mib == 0)
    spec.memory_kind = MemoryKind::kPerNode;
}

namespace {

// All that the job needs at once; what it needs otherwise does not matter here.
bool has_enough_cpus(const ClusterState& state, const JobSpec& spec, const Partition& partition) {
  const auto needs = fit::needs_of(spec, *partition.config, *state.config);
  return !needs || needs->min_cpus <= partition.total_cpus;
}

}  // namespace

Status within_limits(const ClusterState& state, const JobSpec& spec, const Partition& partition) {
  const PartitionConfig& config = *partition.config;
  const QosFlags flags = qos_flags(state, spec);
  const bool any_time =
      config.max_time == kInfiniteMinutes || (flags & kQosPartitionTimeLimit) != 0;
  if (!any_time && spec.time_limit != 0) {
    const Minutes least = spec.time_min != 0 ? spec.time_min : spec.time_limit;
    if (least > config.max_time) return failure(ErrorCode::kInvalidTimeLimit);
  }
  if (!allows_node_count(config, spec, flags) ||
      std::max(1U, spec.min_nodes) > partition.nodes.count()) {
    return failure(ErrorCode::kTooManyNodes);
  }
  if (!has_enough_cpus(state, spec, partition)) return failure(ErrorCode::kTooManyCpus);
  const bool over =
      fit::exceeds_memory_limit(spec, config, *state.config, partition.max_node_memory_mib);
  return over ? failure(ErrorCode::kTaskMemory) : Status{};
}

Result<std::vector<const Partition*>> find_partitions(const ClusterState& state,
                                                      const JobSpec& spec) {
  std::vector<const Partition*> partitions;
  const std::vector<std::string> names = split_names(spec.partitions.view());
  for (const std::string& name : names) {
    const Partition* partition = find_partition(state, name);
    if (partition == nullptr) {
      return failure(ErrorCode::kInvalidPartition, "invalid partition specified: " + name);
    }
    partitions.push_back(partition);
  }
  if (names.empty() && !spec.partitions.empty()) {
    return failure(ErrorCode::kInvalidPartition, "invalid partition specified: (null)");
  }
  if (names.empty()) {
    const Partition* partition = default_partition(state);
    if (partition == nullptr) {
      return failure(ErrorCode::kInvalidPartition,
                     "No partition specified or system default partition");
    }
    partitions.push_back(partition);
  }
  return partitions;
}

Result<std::vector<const Partition*>> check_partitions(const ClusterState& state,
                                                       const JobSpec& spec, const Submitter& who) {
  auto partitions = find_partitions(state, spec);
  if (!partitions) return partitions;
  Status refused;
  size_t open = 0;
  for (const Partition* partition : *partitions) {
    if (Status access = check_access(state, *partition, spec, who); !access) {
      if (refused) refused = std::move(access);
    } else {
      ++open;
    }
  }
  const bool all = state.config->enforce_part_limits == EnforcePartLimits::kAll;
  if (all ? open < partitions->size() : open == 0) return tl::unexpected(refused.error());
  return partitions;
}

void bound_switch_wait(const ClusterConfig& config, JobSpec& spec) {
  const std::string_view text = spec.switches;
  if (text.empty()) return;
  const size_t at = text.find('@');
  Duration wait = most_switch_wait(config);
  if (at != std::string_view::npos) wait = std::min(wait, switch_wait(spec));
  spec.switches = std::string(text.substr(0, at)) + "@" + format_span(wait);
}

uint32_t least_cpus_per_node(const JobSpec& spec, const PartitionConfig& partition,
                             const ClusterConfig& config) {
  return std::max(min_cpus_per_node(spec), fit::cpus_for_memory(spec, partition, config));
}

Minutes time_limit_in(const JobSpec& spec, const PartitionConfig& partition) {
  if (spec.time_limit != 0) return spec.time_limit;
  return partition.default_time.value_or(partition.max_time);
}

namespace {

// `cpus`: that the memory is for, where it is said by CPU.
uint64_t least_memory_per_node(const JobSpec& spec, uint32_t cpus) {
  if (spec.memory_kind == MemoryKind::kPerNode) return spec.memory_mib;
  if (spec.memory_kind != MemoryKind::kPerCpu) return 0;
  return bounded_product(spec.memory_mib, cpus);
}

// The nodes that the job insists on. Errors: what it names is not there, or contradicts itself.
Result<Bitmap> check_names(const ClusterState& state, const JobSpec& spec) {
  // more than any cluster has, or will have while the job waits
  constexpr uint32_t kMostNodes = 1U << 20;
  if (spec.min_nodes > kMostNodes) return failure(ErrorCode::kTooManyCpus);
  const bool none = spec.node_counts == kNoNodes;
  if (none || (spec.max_nodes != 0 && spec.min_nodes > spec.max_nodes)) {
    return failure(ErrorCode::kTooManyNodes);
  }
  if (Status known = check_gres(spec, state.config->gres_types); !known)
    return tl::unexpected(known.error());
  Bitmap required;
  if (!spec.required_nodes.empty()) {
    auto nodes = resolve_nodes(state, spec.required_nodes.view());
    if (!nodes) return failure(ErrorCode::kInvalidNodeName);
    required = std::move(*nodes);
  }
  if (!spec.excluded_nodes.empty()) {
    const auto nodes = resolve_nodes(state, spec.excluded_nodes.view());
    if (!nodes) return failure(ErrorCode::kInvalidNodeName);
    if (nodes->intersects(required)) return failure(ErrorCode::kInvalidNodeName);
  }
  if (!fit::parse_features(spec.constraint.view())) return failure(ErrorCode::kInvalidFeature);
  for (const std::string& feature : feature_names(spec.constraint.view())) {
    if (!any_node_has(state, feature)) return failure(ErrorCode::kInvalidFeature);
  }
  if (Status ok = check_changeable_features(*state.config, spec); !ok)
    return tl::unexpected(ok.error());
  for (const std::string& feature : feature_names(spec.prefer.view())) {
    const bool any = has_option(state.config->scheduler_parameters, "ignore_prefer_validation") ||
                     any_node_has(state, feature);
    if (!any) return failure(ErrorCode::kError, "Invalid preferred feature specification");
  }
  return required;
}

// Could any of these partitions ever give what the job needs?
Status check_room(const ClusterState& state, const JobSpec& spec,
                  const std::vector<const Partition*>& partitions, const Bitmap& required,
                  size_t* looked_at) {
  // it may get more of a node than others
  const bool own_share = system_share(spec, *state.config).given();
  const bool gives_memory = fit::rules_of(*state.config).uses_memory;
  bool enough_cpus = false, enough_memory = false;
  const auto has_required = [&](const Partition* one) { return one->nodes.contains(required); };
  for (const Partition* partition : partitions) {
    // an empty partition may get nodes later: its jobs wait (PartitionConfig)
    const bool empty = partition->nodes.none();
    const uint32_t cpus = least_cpus_per_node(spec, *partition->config, *state.config);
    if (!empty && !own_share && cpus > partition->max_node_cpus) continue;
    const uint64_t memory = least_memory_per_node(spec, gives_memory ? cpus : 1);
    enough_cpus = true;
    if (empty || memory <= partition->max_node_memory_mib) enough_memory = true;
  }
  if (!std::ranges::any_of(partitions, has_required)) return failure(ErrorCode::kNodesNotAvailable);
  const bool all = state.config->enforce_part_limits == EnforcePartLimits::kAll;
  if (all && !std::ranges::all_of(partitions, has_required))
    return failure(ErrorCode::kNodesNotAvailable, "Requested nodes not in this partition");
  if (!enough_cpus) {
    return failure(ErrorCode::kNodesNotAvailable, "CPU count per node can not be satisfied");
  }
  if (!enough_memory) {
    return failure(ErrorCode::kNodesNotAvailable, "Memory specification can not be satisfied");
  }
  Status refused;
  for (const Partition* partition : partitions) {
    if (partition->nodes.none() || !partition->nodes.contains(required)) continue;
    Status could = could_serve(state, *partition, partition->nodes, spec, looked_at);
    if (could) return {};
    if (refused) refused = std::move(could);
  }
  return refused;
}

}  // namespace

Status check_size(const ClusterState& state, const JobSpec& spec,
                  const std::vector<const Partition*>& partitions, bool held, size_t* looked_at) {
  const auto required = check_names(state, spec);
  if (!required) return tl::unexpected(required.error());
  return held ? Status{} : check_room(state, spec, partitions, *required, looked_at);
}

Status check_reserved_room(const ClusterState& state, const JobSpec& spec,
                           const std::vector<const Partition*>& partitions, Time now,
                           size_t* looked_at) {
  for (const std::string& name : split_names(spec.reservation.view())) {
    const Reservation* reservation = find_reservation(state, name);
    // it may get others before it begins
    if (reservation == nullptr || !is_active(*reservation, now)) return {};
    const auto confined = confines(state, reservation);
    if (!confined) return {};
    for (const Partition* partition : partitions) {
      Bitmap nodes = partition->nodes;
      nodes &= confined->nodes();
      if (nodes.any() && could_serve(state, *partition, nodes, spec, looked_at)) return {};
    }
  }
  return spec.reservation.empty() ? Status{} : failure(ErrorCode::kNodesNotAvailable);
}

Status check_release(const ClusterState& state, const JobSpec& spec) {
  const auto partitions = find_partitions(state, spec);
  if (!partitions) return {};  // such a job waits, held or not
  const bool large_enough = std::ranges::any_of(*partitions, [&](const Partition* partition) {
    if (partition->nodes.none()) return true;  // it may get nodes later
    return has_enough_cpus(state, spec, *partition);
  });
  return large_enough ? Status{} : failure(ErrorCode::kPartitionNotNow);
}

Status check_limits(const ClusterState& state, const JobSpec& spec,
                    const std::vector<const Partition*>& partitions) {
  if (state.config->enforce_part_limits == EnforcePartLimits::kNo) return {};
  Status refused;
  size_t within = 0;
  for (const Partition* partition : partitions) {
    if (Status limit = within_limits(state, spec, *partition); !limit) {
      if (refused) refused = std::move(limit);
    } else {
      ++within;
    }
  }
  const bool all = state.config->enforce_part_limits == EnforcePartLimits::kAll;
  return (all ? within == partitions.size() : within > 0) ? Status{} : refused;
}

Status check_time_min(const ClusterState& state, const JobSpec& spec,
                      const std::vector<const Partition*>& partitions) {
  if ((qos_flags(state, spec) & kQosPartitionTimeLimit) != 0) return {};
  const auto allows = [&](const Partition* one) { return spec.time_min <= one->config->max_time; };
  const bool all = state.config->enforce_part_limits == EnforcePartLimits::kAll;
  const bool allowed =
      all ? std::ranges::all_of(partitions, allows) : std::ranges::any_of(partitions, allows);
  return allowed ? Status{} : failure(ErrorCode::kInvalidTimeMin);
}

namespace {

// --segment: parts of the job that are each in one block.
Status check_segment(const ClusterConfig& config, const JobSpec& spec) {
  if (spec.segment == 0) return {};
  if (!has_blocks(config) || config.switches.empty())
    return failure(ErrorCode::kNodesNotAvailable, "--segment needs TopologyPlugin=topology/block");
  if (spec.min_nodes == 0 || spec.min_nodes % spec.segment != 0)
    return failure(ErrorCode::kNodesNotAvailable,
                   fmt::format("--segment={} does not divide the number of nodes, {}", spec.segment,
                               std::max(1U, spec.min_nodes)));
  if (spec.segment > block_size(config))
    return failure(ErrorCode::kNodesNotAvailable,
                   fmt::format("--segment={} is more than a block has: {} nodes", spec.segment,
                               block_size(config)));
  return {};
}

}  // namespace

Status check_extras(const ClusterState& state, const JobSpec& spec) {
  if (Status ok = check_reservations(state, spec); !ok) return ok;
  if (Status ok = check_segment(*state.config, spec); !ok) return ok;
  return check_licenses(*state.config, spec);
}

}  // namespace sluice::state
