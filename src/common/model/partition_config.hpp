// What the configuration (or `scontrol create partition`) says of one partition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/describe.hpp"
#include "common/base/time.hpp"

namespace sluice {

inline constexpr uint32_t kUnlimited = UINT32_MAX;  // counts: no limit

enum class PartitionState : uint32_t { kUp = 0, kDown = 1, kDrain = 2, kInactive = 3 };

// PreemptMode of cluster and partition. GANG is a flag of its own (gang scheduling on).
enum class PreemptMode : uint32_t {
  kOff = 0,
  kCancel = 1,
  kRequeue = 2,
  kSuspend = 3,
  kWithin = 4,
  kPriority = 5,
};

enum class OverSubscribe : uint32_t { kNo = 0, kYes = 1, kForce = 2, kExclusive = 3 };
enum class ExclusiveMode : uint32_t { kNo = 0, kUser = 1, kTopo = 2 };

// Empty allow lists stand for ALL, empty deny lists for none; an unset optional falls back to the
// cluster's own setting (for time and counts: no limit of the partition's own).
struct PartitionConfig {
  std::string name;
  std::string nodes_text;              // Nodes= as written (host list, node sets, ALL)
  std::vector<std::string> nodes;      // worked out, in cluster order
  std::vector<std::string> node_sets;  // the sets (and ALL) that Nodes= named
  bool is_default = false;
  PartitionState state = PartitionState::kUp;

  Minutes max_time = kInfiniteMinutes;
  std::optional<Minutes> default_time;     // unset: max_time applies
  std::optional<Minutes> over_time_limit;  // kInfiniteMinutes is UNLIMITED
  uint32_t max_nodes = kUnlimited;
  uint32_t min_nodes = 0;
  uint32_t max_cpus_per_node = kUnlimited;
  uint32_t max_cpus_per_socket = kUnlimited;
  uint32_t grace_time_s = 0;

  std::vector<std::string> allow_groups;
  std::vector<std::string> allow_accounts;
  std::vector<std::string> deny_accounts;
  std::vector<std::string> allow_qos;
  std::vector<std::string> deny_qos;
  std::vector<std::string> alloc_nodes;  // submit hosts; empty: ALL
  std::string qos;                       // the partition's own QOS
  std::string alternate;                 // partition used instead while this one is down or drained

  uint32_t priority_job_factor = 1;
  uint32_t priority_tier = 1;
  OverSubscribe over_subscribe = OverSubscribe::kNo;
  uint32_t over_subscribe_count = 0;  // jobs a resource may hold with kYes and kForce
  ExclusiveMode exclusive = ExclusiveMode::kNo;
  std::optional<PreemptMode> preempt_mode;
  bool preempt_gang = false;

  bool hidden = false;
  bool root_only = false;
  bool req_resv = false;
  bool lln = false;
  std::optional<bool> disable_root_jobs;
  bool power_down_on_idle = false;

  // MiB; unset: the cluster's value; 0: no default or no limit.
  std::optional<uint64_t> def_mem_per_cpu_mib;
  std::optional<uint64_t> def_mem_per_node_mib;
  std::optional<uint64_t> max_mem_per_cpu_mib;
  std::optional<uint64_t> max_mem_per_node_mib;
  std::optional<uint64_t> def_cpu_per_gpu;
  std::optional<uint64_t> def_mem_per_gpu_mib;

  std::vector<std::string> select_type_parameters;
  std::string tres_billing_weights;  // "CPU=1.0,Mem=0.25G"
  std::string job_defaults;          // JobDefaults= as written
  std::string cpu_bind;
  std::string topology;
  std::optional<uint32_t> suspend_time_s;  // UINT32_MAX is INFINITE
  std::optional<uint32_t> suspend_timeout_s;
  std::optional<uint32_t> resume_timeout_s;

  friend bool operator==(const PartitionConfig&, const PartitionConfig&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &PartitionConfig::name);
    field(2, "nodes_text", &PartitionConfig::nodes_text);
    field(3, "nodes", &PartitionConfig::nodes);
    field(4, "node_sets", &PartitionConfig::node_sets);
    field(5, "is_default", &PartitionConfig::is_default);
    field(6, "state", &PartitionConfig::state);
    field(7, "max_time", &PartitionConfig::max_time);
    field(8, "default_time", &PartitionConfig::default_time);
    field(9, "over_time_limit", &PartitionConfig::over_time_limit);
    field(10, "max_nodes", &PartitionConfig::max_nodes);
    field(11, "min_nodes", &PartitionConfig::min_nodes);
    field(12, "max_cpus_per_node", &PartitionConfig::max_cpus_per_node);
    field(13, "max_cpus_per_socket", &PartitionConfig::max_cpus_per_socket);
    field(14, "grace_time_s", &PartitionConfig::grace_time_s);
    field(15, "allow_groups", &PartitionConfig::allow_groups);
    field(16, "allow_accounts", &PartitionConfig::allow_accounts);
    field(17, "deny_accounts", &PartitionConfig::deny_accounts);
    field(18, "allow_qos", &PartitionConfig::allow_qos);
    field(19, "deny_qos", &PartitionConfig::deny_qos);
    field(20, "alloc_nodes", &PartitionConfig::alloc_nodes);
    field(21, "qos", &PartitionConfig::qos);
    field(22, "alternate", &PartitionConfig::alternate);
    field(23, "priority_job_factor", &PartitionConfig::priority_job_factor);
    field(24, "priority_tier", &PartitionConfig::priority_tier);
    field(25, "over_subscribe", &PartitionConfig::over_subscribe);
    field(26, "over_subscribe_count", &PartitionConfig::over_subscribe_count);
    field(27, "exclusive", &PartitionConfig::exclusive);
    field(28, "preempt_mode", &PartitionConfig::preempt_mode);
    field(29, "preempt_gang", &PartitionConfig::preempt_gang);
    field(30, "hidden", &PartitionConfig::hidden);
    field(31, "root_only", &PartitionConfig::root_only);
    field(32, "req_resv", &PartitionConfig::req_resv);
    field(33, "lln", &PartitionConfig::lln);
    field(34, "disable_root_jobs", &PartitionConfig::disable_root_jobs);
    field(35, "power_down_on_idle", &PartitionConfig::power_down_on_idle);
    field(36, "def_mem_per_cpu_mib", &PartitionConfig::def_mem_per_cpu_mib);
    field(37, "def_mem_per_node_mib", &PartitionConfig::def_mem_per_node_mib);
    field(38, "max_mem_per_cpu_mib", &PartitionConfig::max_mem_per_cpu_mib);
    field(39, "max_mem_per_node_mib", &PartitionConfig::max_mem_per_node_mib);
    field(40, "def_cpu_per_gpu", &PartitionConfig::def_cpu_per_gpu);
    field(41, "def_mem_per_gpu_mib", &PartitionConfig::def_mem_per_gpu_mib);
    field(42, "select_type_parameters", &PartitionConfig::select_type_parameters);
    field(43, "tres_billing_weights", &PartitionConfig::tres_billing_weights);
    field(44, "job_defaults", &PartitionConfig::job_defaults);
    field(45, "cpu_bind", &PartitionConfig::cpu_bind);
    field(46, "topology", &PartitionConfig::topology);
    field(47, "suspend_time_s", &PartitionConfig::suspend_time_s);
    field(48, "suspend_timeout_s", &PartitionConfig::suspend_timeout_s);
    field(49, "resume_timeout_s", &PartitionConfig::resume_timeout_s);
  }
};

}  // namespace sluice
