#include "ctld/fit/needs.hpp"

#include <algorithm>
#include <functional>
#include <tuple>
#include <type_traits>

#include "common/base/bounded.hpp"
#include "common/base/text.hpp"
#include "common/syntax/distribution.hpp"
#include "common/syntax/node_helpers.hpp"

namespace sluice::fit {
namespace {

constexpr uint32_t kMostNodes = 1U << 20;

// Of any two numbers a user may give.
uint32_t at_most_32_bits(uint64_t number) {
  return static_cast<uint32_t>(std::min<uint64_t>(number, UINT32_MAX));
}

// "CR_CPU_MEMORY" names two resources; which of them is processors?
bool selects(const ClusterConfig& config, std::string_view resource) {
  return std::ranges::any_of(config.select_type_parameters, [&](const std::string& parameter) {
    const std::string upper = to_upper(parameter);
    return upper.starts_with("CR_") && upper.find(resource) != std::string::npos;
  });
}

// Whether it says how many nodes it has. A list of nodes alone does not: others are added where
// those are not enough.
bool asks_for_nodes(const JobSpec& spec) {
  return spec.min_nodes > 0 && (spec.max_nodes > 0 || spec.required_nodes.empty());
}

// Beyond the partition's limits the job waits: then its needs are what it asks for.
void set_counts(const JobSpec& spec, const PartitionConfig& partition, Needs& needs) {
  const bool nodes_given = asks_for_nodes(spec);
  const bool spreads = spec.spread && spec.num_tasks > 0;  // else there is one task to spread
  needs.as_many_nodes = (nodes_given || spreads) && !spec.use_min_nodes;
  needs.min_nodes = std::max(1U, spec.min_nodes);
  if (spec.max_nodes > 0) needs.max_nodes = std::max(spec.max_nodes, needs.min_nodes);
  // MinNodes of the partition holds for few tasks, too
  const bool lifted = !nodes_given || spec.max_nodes >= partition.min_nodes;
  const auto lift = [&] {
    if (lifted) needs.min_nodes = std::max(needs.min_nodes, partition.min_nodes);
  };
  if (!spec.node_counts.empty()) {
    needs.node_counts = IndexSet::parse(spec.node_counts.view(), kMostNodes).value_or(IndexSet());
  }
  needs.tasks_given = spec.num_tasks > 0;
  if (spec.num_tasks > 0) {
    needs.tasks = spec.num_tasks;
    if (spec.ntasks_per_node > 0) needs.max_tasks_per_node = spec.ntasks_per_node;
    // As Slurm 22.05 does: each node has CPUs for as many tasks, though the last of them may run
    // fewer.
    if (spec.num_tasks > 1 && !spec.overcommit) needs.tasks_per_node = spec.ntasks_per_node;
    if (!spec.overcommit) needs.min_nodes = std::min(needs.min_nodes, needs.tasks);
    lift();
  } else {
    lift();
    needs.tasks = bounded_product(needs.min_nodes, std::max(1U, spec.ntasks_per_node));
    needs.tasks_per_node = spec.ntasks_per_node;
  }
  if (nodes_given && spec.max_nodes == 0) needs.max_nodes = needs.min_nodes;
  if (needs.tasks_given && spec.ntasks_per_node > 0) {
    const uint32_t enough = rounded_up_quotient(needs.tasks, spec.ntasks_per_node);
    needs.min_nodes = std::max(needs.min_nodes, enough);
  }
  if (partition.max_nodes >= needs.min_nodes) {
    needs.max_nodes = std::min(needs.max_nodes, partition.max_nodes);
  }
  needs.cpus_per_task = spec.overcommit ? 0 : std::max(1U, spec.cpus_per_task);
}

// NumCPUs= of an update may be less than all tasks want: then as many of them are placed as it is
// enough for.
void limit_tasks(const JobSpec& spec, Needs& needs) {
  const bool in_tasks =
      std::ranges::any_of(needs.gres, [](const GresNeed& need) { return need.per_task > 0; });
  if (spec.min_cpus == 0 || !needs.tasks_given || needs.cpus_per_task == 0 || in_tasks) return;
  needs.tasks =
      std::min(needs.tasks, std::max({1U, needs.min_nodes, spec.min_cpus / needs.cpus_per_task}));
}

bool asks_for_gpus(const Needs& needs) {
  return std::ranges::any_of(needs.gres, [](const GresNeed& need) { return need.name == "gpu"; });
}

uint64_t most_memory_per_cpu(const PartitionConfig& partition, const ClusterConfig& config) {
  return partition.max_mem_per_cpu_mib.value_or(config.max_mem_per_cpu_mib);
}

uint64_t most_memory_per_node(const PartitionConfig& partition, const ClusterConfig& config) {
  return partition.max_mem_per_node_mib.value_or(config.max_mem_per_node_mib);
}

// That some node of the job has to give.
uint64_t least_cpus_of_node(const JobSpec& spec) {
  const uint64_t of_task = std::max(1U, spec.cpus_per_task);
  uint64_t tasks = std::max(1U, spec.ntasks_per_node);
  const uint64_t nodes = asks_for_nodes(spec) ? std::max(spec.min_nodes, spec.max_nodes) : 0;
  if (nodes > 0 && !spec.overcommit)
    tasks = std::max(tasks, rounded_up_quotient(uint64_t{spec.num_tasks}, nodes));
  return tasks * of_task;
}

void choose_memory(const JobSpec& spec, const PartitionConfig& p, const ClusterConfig& c,
                   Needs& needs) {
  switch (spec.memory_kind) {
    case MemoryKind::kPerNode:
      needs.all_memory = spec.memory_mib == 0;
      needs.memory_per_node_mib = spec.memory_mib;
      break;
    case MemoryKind::kPerCpu:
      // of a job that was queued before this was read at submission
      needs.all_memory = spec.memory_mib == 0;
      needs.memory_per_cpu_mib = spec.memory_mib;
      break;
    case MemoryKind::kPerGpu: needs.memory_per_gpu_mib = spec.memory_mib; break;
    default:
      const DefaultMemory usual = default_memory(p, c);
      needs.memory_per_gpu_mib =
          asks_for_gpus(needs) ? p.def_mem_per_gpu_mib.value_or(c.def_mem_per_gpu_mib) : 0;
      if (needs.memory_per_gpu_mib > 0) break;
      needs.all_memory = usual.kind == MemoryKind::kDefault;
      (usual.kind == MemoryKind::kPerCpu ? needs.memory_per_cpu_mib : needs.memory_per_node_mib) =
          usual.mib;
  }
  const bool by_gpu = needs.memory_per_gpu_mib > 0;
  if (needs.all_memory || by_gpu) needs.most_memory_per_cpu_mib = most_memory_per_cpu(p, c);
  if (needs.memory_per_node_mib == 0) needs.most_memory_per_node_mib = most_memory_per_node(p, c);
}

Status bound_memory(const PartitionConfig& p, const ClusterConfig& c, Needs& needs) {
  const uint64_t most_node = most_memory_per_node(p, c);
  if (most_node > 0 && needs.memory_per_node_mib > most_node) {
    return failure(ErrorCode::kInvalidMemory, "Memory specification can not be satisfied");
  }
  const CpuMemory bounded = within_memory_limit(needs.memory_per_cpu_mib, p, c);
  needs.memory_per_cpu_mib = bounded.per_cpu_mib;
  if (bounded.cpus > 1)
    needs.cpus_per_task = bounded_product(std::max(1U, needs.cpus_per_task), bounded.cpus);
  return {};
}

// Every field of a job that decides where it may be placed.
auto demand_of(const JobSpec& s) {
  return std::tie(s.min_nodes, s.max_nodes, s.node_counts, s.num_tasks, s.cpus_per_task, s.min_cpus,
                  s.min_cpus_per_node, s.ntasks_per_node, s.ntasks_per_socket, s.ntasks_per_core,
                  s.sockets_per_node, s.cores_per_socket, s.threads_per_core, s.memory_kind,
                  s.memory_mib, s.tmp_disk_mib, s.overcommit, s.contiguous, s.use_min_nodes,
                  s.spread, s.sharing, s.reboot, s.constraint, s.delay_boot_seconds, s.prefer,
                  s.switches, s.segment, s.spread_segments, s.distribution, s.required_nodes,
                  s.excluded_nodes, s.gres, s.tres_per_job, s.tres_per_socket, s.tres_per_task,
                  s.gres_flags, s.cpus_per_gpu, s.ntasks_per_gpu, s.core_spec, s.thread_spec);
}

}  // namespace

bool Rules::fills_sockets(std::string_view distribution) const {
  if (fill_sockets || unit == Unit::kCpu) return true;
  return !distribution.empty() &&
         distribution_of(distribution, DistributionLevel::kSockets) == "block";
}

Rules rules_of(const ClusterConfig& config) {
  Rules rules;
  if (iequals(config.select_type, "select/linear")) rules.unit = Unit::kNode;
  else if (selects(config, "SOCKET")) rules.unit = Unit::kSocket;
  else rules.unit = selects(config, "CPU") ? Unit::kCpu : Unit::kCore;
  rules.uses_memory = selects(config, "MEMORY");
  rules.least_loaded = selects(config, "LLN");
  rules.fill_sockets = selects(config, "CORE_DEFAULT_DIST_BLOCK");
  rules.one_task_per_core = selects(config, "ONE_TASK_PER_CORE");
  rules.pack_nodes = selects(config, "PACK_NODES");
  rules.near_gres_only = std::ranges::any_of(
      config.select_type_parameters,
      [](const std::string& parameter) { return iequals(parameter, "ENFORCE_BINDING_GRES"); });
  return rules;
}

DefaultMemory default_memory(const PartitionConfig& p, const ClusterConfig& c) {
  const bool own = p.def_mem_per_cpu_mib || p.def_mem_per_node_mib;
  const uint64_t per_cpu = own ? p.def_mem_per_cpu_mib.value_or(0) : c.def_mem_per_cpu_mib;
  const uint64_t per_node = own ? p.def_mem_per_node_mib.value_or(0) : c.def_mem_per_node_mib;
  if (per_cpu != 0) return {MemoryKind::kPerCpu, per_cpu};
  if (per_node != 0) return {MemoryKind::kPerNode, per_node};
  return {};
}

bool exceeds_memory_limit(const JobSpec& spec, const PartitionConfig& partition,
                          const ClusterConfig& config, uint64_t node_mib) {
  const uint64_t most = most_memory_per_node(partition, config);
  MemoryKind kind = spec.memory_kind;
  uint64_t asked = spec.memory_mib;
  if (kind == MemoryKind::kDefault) {
    const DefaultMemory usual = default_memory(partition, config);
    kind = usual.kind;
    asked = usual.mib;
  }
  if (most == 0 || kind == MemoryKind::kPerGpu) return false;
  if (asked == 0) return node_mib > most;
  return (kind == MemoryKind::kPerCpu ? bounded_product(asked, least_cpus_of_node(spec)) : asked) >
         most;
}

CpuMemory within_memory_limit(uint64_t per_cpu_mib, const PartitionConfig& partition,
                              const ClusterConfig& config) {
  const uint64_t most = most_memory_per_cpu(partition, config);
  if (most == 0 || per_cpu_mib <= most) return {per_cpu_mib, 1};
  const uint32_t cpus = at_most_32_bits(rounded_up_quotient(per_cpu_mib, most));
  return {rounded_up_quotient(per_cpu_mib, uint64_t{cpus}), cpus};
}

uint32_t cpus_for_memory(const JobSpec& spec, const PartitionConfig& partition,
                         const ClusterConfig& config) {
  const uint64_t most = most_memory_per_cpu(partition, config);
  if (most == 0 || spec.memory_kind != MemoryKind::kPerNode) return 0;
  return at_most_32_bits(rounded_up_quotient(spec.memory_mib, most));
}

bool asks_alone(Sharing sharing) {
  return sharing == Sharing::kExclusive || sharing == Sharing::kUser;
}

Sharing sharing_of(const JobSpec& spec, const PartitionConfig& partition) {
  const bool forced =
      partition.over_subscribe == OverSubscribe::kForce && partition.over_subscribe_count != 1;
  return asks_alone(spec.sharing) && forced ? Sharing::kDefault : spec.sharing;
}

Result<Needs> needs_of(const JobSpec& spec, const PartitionConfig& partition,
                       const ClusterConfig& config) {
  return needs_of(spec, partition, config, rules_of(config));
}

Result<Needs> needs_of(const JobSpec& spec, const PartitionConfig& partition,
                       const ClusterConfig& config, const Rules& rules) {
  Needs needs;
  set_counts(spec, partition, needs);
  if (auto ok = set_gres(spec, needs); !ok) return tl::unexpected(ok.error());
  needs.near_only =
      !needs.near_free && (needs.near_only || (rules.near_gres_only && !needs.gres.empty()));
  if (needs.cpus_per_gpu == 0 && asks_for_gpus(needs)) {
    needs.cpus_per_gpu =
        static_cast<uint32_t>(partition.def_cpu_per_gpu.value_or(config.def_cpu_per_gpu));
  }
  if (needs.min_nodes > needs.max_nodes) {
    // -N2 -n4 --ntasks-per-node=1: as many tasks do not go on so few nodes
    const bool per_node = needs.tasks_given && spec.ntasks_per_node > 0;
    return failure(per_node ? ErrorCode::kNodesNotAvailable : ErrorCode::kTooManyNodes);
  }
  const Sharing sharing = sharing_of(spec, partition);
  choose_memory(spec, partition, config, needs);
  // all of the memory comes with the CPUs for it
  const bool with_memory = needs.all_memory && needs.most_memory_per_cpu_mib > 0;
  needs.whole_nodes = sharing == Sharing::kExclusive || spec.reboot || with_memory ||
                      partition.over_subscribe == OverSubscribe::kExclusive ||
                      rules.unit == Unit::kNode;
  needs.all_cores = spec.sharing == Sharing::kExclusive && !needs.whole_nodes;
  if (needs.whole_nodes) needs.system = system_share(spec, config);
  needs.contiguous = spec.contiguous;
  if (rules.unit != Unit::kNode) needs.max_cpus_per_node = partition.max_cpus_per_node;
  if (!needs.whole_nodes && !needs.all_cores)
    needs.max_cpus_per_socket = partition.max_cpus_per_socket;
  limit_tasks(spec, needs);
  // with --overcommit a node's CPUs are enough for one task
  needs.min_cpus_per_node =
      std::max({1U, spec.min_cpus_per_node, spec.cpus_per_task, needs.cpus_per_task,
                bounded_product(needs.tasks_per_node, needs.cpus_per_task),
                cpus_for_memory(spec, partition, config)});
  needs.min_cpus =
      std::max({spec.min_cpus, bounded_product(needs.tasks, needs.cpus_per_task), needs.min_nodes});
  needs.sockets = spec.sockets_per_node;
  needs.cores_per_socket = spec.cores_per_socket;
  needs.threads_per_core = spec.threads_per_core;
  needs.tasks_per_socket = spec.ntasks_per_socket;
  needs.tasks_per_core = spec.ntasks_per_core == 0 && rules.one_task_per_core && !spec.overcommit
                             ? 1
                             : spec.ntasks_per_core;
  needs.tmp_disk_mib = spec.tmp_disk_mib;
  needs.uid = spec.uid;
  needs.one_user = sharing == Sharing::kUser || partition.exclusive == ExclusiveMode::kUser;
  needs.fill_sockets = rules.fills_sockets(spec.distribution.view());
  needs.uses_memory = rules.uses_memory;
  if (auto ok = bound_memory(partition, config, needs); !ok) return tl::unexpected(ok.error());
  auto features = parse_features(spec.constraint.view());
  if (!features) return tl::unexpected(features.error());
  needs.features = std::move(*features);
  needs.may_change = !needs.features.any_of.empty() && may_change_features(config, spec.uid);
  return needs;
}

bool same_demand(const JobSpec& a, const JobSpec& b) {
  if (demand_of(a) != demand_of(b)) return false;
  return a.uid == b.uid || a.sharing != Sharing::kUser;
}

size_t demand_hash(const JobSpec& spec) {
  size_t hash = 0;
  const auto mix = [&hash](const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    size_t number = 0;
    if constexpr (std::is_same_v<Value, SharedText>) {
      number = value.empty() ? 0 : std::hash<SharedText>()(value);
    } else {
      number = static_cast<size_t>(value);
    }
    hash = (hash ^ number) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  };
  std::apply([&](const auto&... value) { (mix(value), ...); }, demand_of(spec));
  return hash;
}

}  // namespace sluice::fit
