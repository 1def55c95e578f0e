// The keys of slurm.conf's lines: NodeName, PartitionName, NodeSet, DownNodes, and those that are
// read and left aside.
#include "common/base/hostlist.hpp"
#include "common/config/keys/conf_keys.hpp"
#include "common/config/keys/conf_setters.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice::tables {
namespace {

using K = ConfKind;
using N = NodeLine;
using P = PartitionConfig;

template <class Owner>
constexpr ConfKey<Owner> row(std::string_view name, ConfKind kind) {
  return ConfKey<Owner>{.name = name, .kind = kind};
}
constexpr auto node(std::string_view name, ConfKind kind) { return row<N>(name, kind); }
constexpr auto part(std::string_view name, ConfKind kind) { return row<P>(name, kind); }
constexpr auto ignored(std::string_view name, ConfKind kind) {
  return row<IgnoredLine>(name, kind);
}

template <class Owner>
bool set_cpu_bind(Owner& owner, const ConfValue& value) {
  const auto shown = usual_binding(value.text);
  if (shown) owner.cpu_bind = *shown;
  return shown.has_value();
}

// DRAINED and DRAINING say what becomes of a node that is to DRAIN.
bool set_node_state(N& node, const ConfValue& value) {
  constexpr auto kOthers = static_cast<uint64_t>(ConfiguredNodeState::kExternal);
  node.state = value.number > kOthers ? ConfiguredNodeState::kDrain
                                      : static_cast<ConfiguredNodeState>(value.number);
  return true;
}

constexpr ConfKey<N> kNodeKeys[] = {
    node("NodeName", K::kHosts).acts<&N::names>(),
    node("BcastAddr", K::kHosts).keeps<&N::broadcast_addresses>(),
    node("Boards", K::kNumber).range(1, kMax16).acts<&N::boards_set>(),
    node("CoreSpecCount", K::kNumber).range(0, kMax16).acts<&N::core_spec_count>(),
    node("CoresPerSocket", K::kNumber).range(1, kMax16).acts<&N::cores_set>(),
    node("CpuBind", K::kText).acts_by(set_cpu_bind<N>, kUsualBindings),
    node("CPUs", K::kNumber).range(1, kMax16).acts<&N::cpus_set>(),
    node("CPUSpecList", K::kText).acts<&N::cpu_spec_list>(),
    node("Feature", K::kWords).acts<&N::features>(),
    node("Features", K::kWords).acts<&N::features>(),
    node("Gres", K::kText).acts<&N::gres>(),
    node("GresConf", K::kText).keeps<&N::gres_conf>(),
    node("MemSpecLimit", K::kMemory).range(0, kMax64).acts<&N::mem_spec_limit_mib>(),
    node("NodeAddr", K::kHosts).acts<&N::addresses>(),
    node("NodeHostname", K::kHosts).acts<&N::hostnames>(),
    node("Parameters", K::kText).keeps<&N::parameters>(),
    node("Port", K::kText).acts<&N::ports>(),
    node("Procs", K::kNumber).range(1, kMax16).acts<&N::cpus_set>(),
    node("RealMemory", K::kMemory).range(1, kMax64).acts<&N::real_memory_mib>(),
    node("Reason", K::kText).acts<&N::reason>(),
    node("RestrictedCoresPerGPU", K::kNumber)
        .range(0, kMax16)
        .keeps<&N::restricted_cores_per_gpu>(),
    node("Sockets", K::kNumber).range(1, kMax16).acts<&N::sockets_set>(),
    node("SocketsPerBoard", K::kNumber).range(1, kMax16).acts<&N::sockets_per_board_set>(),
    node("State", K::kEnum)
        .allow("UNKNOWN,IDLE,DOWN,DRAIN,FAIL,FAILING,CLOUD,FUTURE,EXTERNAL,DRAINED,DRAINING")
        .acts_by(set_node_state),
    node("SuspendTime", K::kSeconds).or_none().acts<&N::suspend_time_s>(),
    node("ThreadsPerCore", K::kNumber).range(1, kMax16).acts<&N::threads_set>(),
    node("TmpDisk", K::kMemory).range(0, kMax32).acts<&N::tmp_disk_mib>(),
    node("Topology", K::kText).keeps<&N::topology>(),
    node("TRESWeights", K::kText).keeps<&N::tres_weights>(),
    node("Weight", K::kNumber).acts<&N::weight>(),
};

// A list in which ALL stands for no restriction, kept as an empty list.
template <auto Member>
bool list_or_all(P& partition, const ConfValue& value) {
  partition.*Member = iequals(value.text, "ALL") ? std::vector<std::string>{} : value.items;
  return true;
}

bool set_alloc_nodes(P& partition, const ConfValue& value) {
  if (iequals(value.text, "ALL")) {
    partition.alloc_nodes.clear();
    return true;
  }
  Result<std::vector<std::string>> hosts = expand_hosts(value.text);
  if (!hosts) return false;
  partition.alloc_nodes = std::move(*hosts);
  return true;
}

template <ExclusiveMode Mode>
bool set_exclusive(P& partition, const ConfValue& value) {
  if (value.number != 0) partition.exclusive = Mode;
  else if (partition.exclusive == Mode) partition.exclusive = ExclusiveMode::kNo;
  return true;
}

bool set_over_subscribe(P& partition, const ConfValue& value) {
  static constexpr uint32_t kUsualCount = 4;
  static constexpr std::string_view kModes[] = {"NO", "YES", "FORCE", "EXCLUSIVE"};
  const std::string_view text = value.text;
  const size_t colon = text.find(':');
  for (uint32_t mode = 0; mode < std::size(kModes); ++mode) {
    if (!iequals(text.substr(0, colon), kModes[mode])) continue;
    partition.over_subscribe = static_cast<OverSubscribe>(mode);
    const bool counts = partition.over_subscribe == OverSubscribe::kYes ||
                        partition.over_subscribe == OverSubscribe::kForce;
    partition.over_subscribe_count = counts ? kUsualCount : 0;
    if (colon == text.npos) return true;
    const auto count = to_number<uint32_t>(text.substr(colon + 1));
    if (!counts || !count || *count == 0 || *count > kMax16) return false;
    partition.over_subscribe_count = *count;
    return true;
  }
  return false;
}
constexpr std::string_view kOverSubscribeWords = "NO, YES[:COUNT], FORCE[:COUNT] or EXCLUSIVE";

bool set_partition_preempt_mode(P& partition, const ConfValue& value) {
  const auto words = read_preempt_mode(value);
  if (!words) return false;
  partition.preempt_mode = words->mode;
  partition.preempt_gang = words->gang;
  return true;
}

bool set_priority(P& partition, const ConfValue& value) {
  partition.priority_job_factor = static_cast<uint32_t>(value.number);
  partition.priority_tier = partition.priority_job_factor;
  return true;
}

bool set_billing_weights(P& partition, const ConfValue& value) {
  for (const std::string& item : value.items) {
    const size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) return false;
    std::string_view number = std::string_view(item).substr(equals + 1);
    if (!number.empty() && std::string_view("KMGTPkmgtp").find(number.back()) != number.npos) {
      number.remove_suffix(1);
    }
    if (!to_number<double>(number)) return false;
  }
  partition.tres_billing_weights = value.text;
  return true;
}

// All that the partition gives jobs with GPUs: what is not in the list is no longer given.
bool set_job_defaults(P& partition, const ConfValue& value) {
  std::optional<uint64_t> cpus, memory_mib;
  for (const std::string& item : split_list(value.text)) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos) return false;
    const auto number = to_number<uint64_t>(std::string_view(item).substr(equals + 1));
    if (!number) return false;
    const std::string_view name = std::string_view(item).substr(0, equals);
    if (iequals(name, "DefCpuPerGPU")) cpus = number;
    else if (iequals(name, "DefMemPerGPU")) memory_mib = number;
    else return false;
  }
  partition.def_cpu_per_gpu = cpus;
  partition.def_mem_per_gpu_mib = memory_mib;
  return true;
}
constexpr std::string_view kJobDefaultsWords =
    "DefCpuPerGPU=NUMBER and DefMemPerGPU=MEGABYTES, with a comma between them";

constexpr ConfKey<P> kPartitionKeys[] = {
    part("PartitionName", K::kName).acts<&P::name>(),
    part("AllocNodes", K::kWords).acts_by(set_alloc_nodes, "ALL or a host list"),
    part("AllowAccounts", K::kWords).acts_by(list_or_all<&P::allow_accounts>).usually("ALL"),
    part("AllowGroups", K::kWords).acts_by(list_or_all<&P::allow_groups>),
    part("AllowQos", K::kWords).acts_by(list_or_all<&P::allow_qos>).usually("ALL"),
    part("Alternate", K::kName).keeps<&P::alternate>(),
    part("CpuBind", K::kText).acts_by(set_cpu_bind<P>, kUsualBindings),
    part("Default", K::kBool).acts<&P::is_default>(),
    part("DefaultTime", K::kTimeLimit).with_unlimited().acts<&P::default_time>(),
    part("DefCPUPerGPU", K::kNumber).range(0, kMax64).acts<&P::def_cpu_per_gpu>(),
    part("DefMemPerCPU", K::kMemory).range(0, kMax64).acts<&P::def_mem_per_cpu_mib>(),
    part("DefMemPerGPU", K::kMemory).range(0, kMax64).acts<&P::def_mem_per_gpu_mib>(),
    part("DefMemPerNode", K::kMemory).range(0, kMax64).acts<&P::def_mem_per_node_mib>(),
    part("DenyAccounts", K::kWords).acts_by(list_or_all<&P::deny_accounts>),
    part("DenyQos", K::kWords).acts_by(list_or_all<&P::deny_qos>),
    part("DisableRootJobs", K::kBool).acts<&P::disable_root_jobs>(),
    part("Exclusive", K::kEnum).allow("NO,USER,TOPO").acts<&P::exclusive>(),
    part("ExclusiveTopo", K::kBool).acts_by(set_exclusive<ExclusiveMode::kTopo>),
    part("ExclusiveUser", K::kBool).acts_by(set_exclusive<ExclusiveMode::kUser>),
    part("GraceTime", K::kSeconds).with_unlimited().acts<&P::grace_time_s>(),
    part("Hidden", K::kBool).acts<&P::hidden>(),
    part("JobDefaults", K::kText).acts_by(set_job_defaults, kJobDefaultsWords),
    part("LLN", K::kBool).acts<&P::lln>(),
    part("MaxCPUsPerNode", K::kNumber).with_unlimited().acts<&P::max_cpus_per_node>(),
    part("MaxCPUsPerSocket", K::kNumber).with_unlimited().acts<&P::max_cpus_per_socket>(),
    part("MaxMemPerCPU", K::kMemory).range(0, kMax64).acts<&P::max_mem_per_cpu_mib>(),
    part("MaxMemPerNode", K::kMemory).range(0, kMax64).acts<&P::max_mem_per_node_mib>(),
    part("MaxNodes", K::kNumber).with_unlimited().acts<&P::max_nodes>(),
    part("MaxTime", K::kTimeLimit).with_unlimited().acts<&P::max_time>(),
    part("MinNodes", K::kNumber).acts<&P::min_nodes>(),
    part("Nodes", K::kText).acts<&P::nodes_text>(),
    part("OverSubscribe", K::kText).acts_by(set_over_subscribe, kOverSubscribeWords),
    part("OverTimeLimit", K::kMinutes)
        .range(0, kMax16)
        .with_unlimited()
        .acts<&P::over_time_limit>(),
    part("PowerDownOnIdle", K::kBool).acts<&P::power_down_on_idle>(),
    part("PreemptMode", K::kFlags)
        .allow("GANG,OFF,CANCEL,REQUEUE,SUSPEND,WITHIN,PRIORITY")
        .only("OFF,CANCEL,REQUEUE,SUSPEND,GANG")
        .acts_by(set_partition_preempt_mode),
    part("Priority", K::kNumber).range(0, kMax16).acts_by(set_priority),
    part("PriorityJobFactor", K::kNumber).range(0, kMax16).acts<&P::priority_job_factor>(),
    part("PriorityTier", K::kNumber).range(0, kMax16).acts<&P::priority_tier>(),
    part("QOS", K::kName).acts<&P::qos>(),
    part("ReqResv", K::kBool).acts<&P::req_resv>(),
    part("ResumeTimeout", K::kSeconds)
        .range(0, kMax16)
        .with_unlimited()
        .acts<&P::resume_timeout_s>(),
    part("RootOnly", K::kBool).acts<&P::root_only>(),
    part("SelectTypeParameters", K::kFlags)
        .allow("NONE,CR_CORE,CR_CORE_MEMORY,CR_SOCKET,CR_SOCKET_MEMORY,CR_LLN,LL_SHARED_GRES,"
               "MULTIPLE_SHARING_GRES_PJ,ENFORCE_BINDING_GRES,ONE_TASK_PER_SHARING_GRES")
        .keeps<&P::select_type_parameters>(),
    part("Shared", K::kText).acts_by(set_over_subscribe, kOverSubscribeWords),
    part("State", K::kEnum).allow("UP,DOWN,DRAIN,INACTIVE").acts<&P::state>(),
    part("SuspendTime", K::kSeconds).or_none().acts<&P::suspend_time_s>(),
    part("SuspendTimeout", K::kSeconds).range(0, kMax16).acts<&P::suspend_timeout_s>(),
    part("Topology", K::kText).keeps<&P::topology>(),
    part("TRESBillingWeights", K::kWords)
        .acts_by(set_billing_weights,
                 "a comma-separated list of NAME=WEIGHT, as CPU=1.0,Mem=0.25G"),
};

constexpr ConfKey<NodeSetLine> kNodeSetKeys[] = {
    row<NodeSetLine>("NodeSet", K::kName).acts<&NodeSetLine::name>(),
    row<NodeSetLine>("Feature", K::kWords).acts<&NodeSetLine::features>(),
    row<NodeSetLine>("Nodes", K::kText).acts<&NodeSetLine::node_names>(),
};

bool set_down_state(DownNodesLine& line, const ConfValue& value) {
  static constexpr ConfiguredNodeState kStates[] = {
      ConfiguredNodeState::kDown,    ConfiguredNodeState::kDrain,   ConfiguredNodeState::kFail,
      ConfiguredNodeState::kFailing, ConfiguredNodeState::kUnknown, ConfiguredNodeState::kDrain,
      ConfiguredNodeState::kDrain};
  line.state = kStates[value.number];
  return true;
}

constexpr ConfKey<DownNodesLine> kDownNodesKeys[] = {
    row<DownNodesLine>("DownNodes", K::kText).acts<&DownNodesLine::node_names>(),
    row<DownNodesLine>("Reason", K::kText).acts<&DownNodesLine::reason>(),
    row<DownNodesLine>("State", K::kEnum)
        .allow("DOWN,DRAIN,FAIL,FAILING,UNKNOWN,DRAINED,DRAINING")
        .acts_by(set_down_state),
};

constexpr ConfKey<IgnoredLine> kFrontendKeys[] = {
    ignored("FrontendName", K::kHosts).obsolete(), ignored("AllowGroups", K::kText).obsolete(),
    ignored("AllowUsers", K::kText).obsolete(),    ignored("DenyGroups", K::kText).obsolete(),
    ignored("DenyUsers", K::kText).obsolete(),     ignored("FrontendAddr", K::kText).obsolete(),
    ignored("Port", K::kText).obsolete(),          ignored("Reason", K::kText).obsolete(),
    ignored("State", K::kText).obsolete(),
};

constexpr ConfKey<IgnoredLine> kPowerActionKeys[] = {
    ignored("PowerAction", K::kText),
    ignored("Location", K::kText),
    ignored("Program", K::kText),
};

}  // namespace

std::span<const ConfKey<NodeLine>> node_keys() { return kNodeKeys; }
std::span<const ConfKey<PartitionConfig>> partition_keys() { return kPartitionKeys; }
std::span<const ConfKey<NodeSetLine>> node_set_keys() { return kNodeSetKeys; }
std::span<const ConfKey<DownNodesLine>> down_nodes_keys() { return kDownNodesKeys; }
std::span<const ConfKey<IgnoredLine>> frontend_keys() { return kFrontendKeys; }
std::span<const ConfKey<IgnoredLine>> power_action_keys() { return kPowerActionKeys; }

}  // namespace sluice::tables
