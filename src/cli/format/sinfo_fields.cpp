// The rows of sinfo's fields.
#include "cli/format/sinfo_fields.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/names/job_states.hpp"
#include "common/format/job_values.hpp"
#include "common/format/node_values.hpp"

namespace sluice {
namespace {

using Context = RenderContext;
using protocol::NodeRecord;

const PartitionConfig& part(const SinfoRow& v) {
  static const PartitionConfig nothing;
  return v.partition != nullptr ? v.partition->config : nothing;
}
std::string list_or_all(const std::vector<std::string>& list, std::string_view all) {
  return list.empty() ? std::string(all) : join(list, ",");
}

// The first node's value, or `nothing` of an empty line.
template <class F>
std::string of_first(const SinfoRow& v, std::string_view nothing, F value) {
  if (v.nodes.empty()) return std::string(nothing);
  return std::string(value(*v.nodes.front()));
}
template <class F>
void put_least(const SinfoRow& v, std::string& out, F value) {
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  for (const NodeRecord* node : v.nodes) {
    least = std::min<uint64_t>(least, value(*node));
    most = std::max<uint64_t>(most, value(*node));
  }
  if (v.nodes.empty()) least = 0;
  out += std::to_string(least);
  if (most > least) out += '+';
}
template <class F>
int64_t least(const SinfoRow& v, F value) {
  int64_t found = 0;
  for (const NodeRecord* node : v.nodes) {
    const auto one = static_cast<int64_t>(value(*node));
    found = node == v.nodes.front() ? one : std::min(found, one);
  }
  return found;
}
uint64_t cpus(const NodeRecord& n) { return config_of(n).cpus; }
uint64_t memory(const NodeRecord& n) { return config_of(n).real_memory_mib; }
uint64_t disk(const NodeRecord& n) { return config_of(n).tmp_disk_mib; }
uint64_t weight(const NodeRecord& n) { return n.node.weight; }
uint64_t sockets(const NodeRecord& n) { return config_of(n).sockets; }
uint64_t cores(const NodeRecord& n) { return config_of(n).cores_per_socket; }
uint64_t threads(const NodeRecord& n) { return config_of(n).threads_per_core; }

void render_range(const std::string& low, const std::string& high, std::string& out) {
  out += low;
  if (high != low) out.append("-").append(high);
}
void render_load(const SinfoRow& v, const Context&, std::string& out) {
  double low = -1;
  double high = -1;
  for (const NodeRecord* node : v.nodes) {
    if (node->soft.load < 0) continue;
    low = low < 0 ? node->soft.load : std::min(low, node->soft.load);
    high = std::max(high, node->soft.load);
  }
  if (high < 0) out += "N/A";
  else render_range(fmt::format("{:.2f}", low), fmt::format("{:.2f}", high), out);
}
void render_free_memory(const SinfoRow& v, const Context&, std::string& out) {
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  for (const NodeRecord* node : v.nodes) {
    if (node->soft.free_memory_mib == 0) continue;
    low = std::min(low, node->soft.free_memory_mib);
    high = std::max(high, node->soft.free_memory_mib);
  }
  if (high == 0) out += "N/A";
  else render_range(std::to_string(low), std::to_string(high), out);
}

void render_cpus_state(const SinfoRow& v, const Context&, std::string& out) {
  CpuUse sum;
  for (const NodeRecord* node : v.nodes) sum += cpu_use(*node);
  out += fmt::format("{}/{}/{}/{}", sum.allocated, sum.idle, sum.other, sum.total());
}
size_t count_use(const SinfoRow& v, NodeUse use) {
  return static_cast<size_t>(std::count_if(v.nodes.begin(), v.nodes.end(),
                                           [&](const auto* n) { return node_use(*n) == use; }));
}
void render_nodes_ai(const SinfoRow& v, const Context&, std::string& out) {
  out += fmt::format("{}/{}", count_use(v, NodeUse::kAllocated), count_use(v, NodeUse::kIdle));
}
void render_nodes_aiot(const SinfoRow& v, const Context&, std::string& out) {
  out += fmt::format("{}/{}/{}/{}", count_use(v, NodeUse::kAllocated), count_use(v, NodeUse::kIdle),
                     count_use(v, NodeUse::kOther), v.nodes.size());
}
void render_node_list(const SinfoRow& v, const Context&, std::string& out) {
  std::vector<std::string> names;
  names.reserve(v.nodes.size());
  for (const NodeRecord* node : v.nodes) names.push_back(node->node.name);
  out += fold_hosts_sorted(names);
}
void render_size(const SinfoRow& v, const Context&, std::string& out) {
  const uint32_t low = std::max(part(v).min_nodes, 1U);
  const uint32_t high = part(v).max_nodes;
  out += std::to_string(low);
  if (high != low) out.append("-").append(size_limit_text(high, "infinite"));
}
void render_reason_user(const SinfoRow& v, const Context& c, bool with_number, std::string& out) {
  if (v.nodes.empty() || v.nodes.front()->node.reason.empty()) {
    out += "Unknown";
    return;
  }
  const uint32_t uid = v.nodes.front()->node.reason_uid;
  out += c.user_name != nullptr ? c.user_name(uid) : std::to_string(uid);
  if (with_number) out.append("(").append(std::to_string(uid)).append(")");
}
Time reason_time(const SinfoRow& v) {
  const bool known = !v.nodes.empty() && !v.nodes.front()->node.reason.empty();
  return known ? v.nodes.front()->node.reason_time : kNoTime;
}
void render_reason_time(const SinfoRow& v, const Context& c, std::string& out) {
  const Time time = reason_time(v);
  if (time == kNoTime) out += "Unknown";
  else out += format_time(time, c.time_form, c.now);
}
// Nodes without a reason are the oldest.
int64_t sort_by_reason_time(const SinfoRow& v, const Context&) {
  const Time time = reason_time(v);
  return time == kNoTime ? 0 : to_seconds(time);
}
std::string features_text(const NodeRecord& n) {
  return std::string(or_else(available_features(n), "(null)"));
}

// clang-format off
#define FIELD [](const SinfoRow& v, const Context& c, std::string& out)
#define KEY [](const SinfoRow& v, const Context& c) -> int64_t
#define NODE [](const NodeRecord& n)
#define UNUSED static_cast<void>(v), static_cast<void>(c)
constexpr Grouping kPart = Grouping::kPartition;
constexpr Grouping kNode = Grouping::kNode;
constexpr Grouping kExact = Grouping::kExact;

const SinfoField kFields[] = {
    {"Available", 'a', "AVAIL", FIELD { UNUSED; out += to_lower(partition_state_text(part(v).state)); },
     nullptr, kPart},
    {"features_act", 'b', "ACTIVE_FEATURES",
     FIELD { UNUSED; out += of_first(v, "(null)", shown_active_features); }, nullptr, kNode},
    {"CPUs", 'c', "CPUS", FIELD { UNUSED; put_least(v, out, cpus); },
     KEY { UNUSED; return least(v, cpus); }, kExact},
    {"Disk", 'd', "TMP_DISK", FIELD { UNUSED; put_least(v, out, disk); },
     KEY { UNUSED; return least(v, disk); }, kExact},
    {"FreeMem", 'e', "FREE_MEM", render_free_memory, nullptr, kExact},
    {"Features", 'f', "AVAIL_FEATURES",
     FIELD { UNUSED; out += of_first(v, "(null)", features_text); }, nullptr, kNode},
    {"Groups", 'g', "GROUPS", FIELD { UNUSED; out += list_or_all(part(v).allow_groups, "all"); },
     nullptr, kPart},
    {"OverSubscribe", 'h', "OVERSUBSCRIBE",
     FIELD { UNUSED; out += oversubscribe_text(part(v)); }, nullptr, kPart},
    {"Share", '\0', "OVERSUBSCRIBE", FIELD { UNUSED; out += oversubscribe_text(part(v)); },
     nullptr, kPart},
    {"Reservation", 'i', "RESERVATION",
     FIELD { UNUSED; out += of_first(v, "", NODE { return n.reservation; }); }, nullptr, kNode},
    {"Time", 'l', "TIMELIMIT",
     FIELD { UNUSED; out += format_minutes_short(part(v).max_time, "infinite"); },
     KEY { UNUSED; return part(v).max_time; }, kPart},
    {"Memory", 'm', "MEMORY", FIELD { UNUSED; put_least(v, out, memory); },
     KEY { UNUSED; return least(v, memory); }, kExact},
    {"NodeHost", 'n', "HOSTNAMES",
     FIELD { UNUSED; out += of_first(v, "n/a", NODE { return config_of(n).hostname; }); },
     nullptr, kNode},
    {"NodeAddr", 'o', "NODE_ADDR",
     FIELD { UNUSED; out += of_first(v, "n/a", NODE { return config_of(n).address; }); },
     nullptr, kNode},
    {"PriorityTier", 'p', "PRIO_TIER",
     FIELD { UNUSED; out += std::to_string(part(v).priority_tier); },
     KEY { UNUSED; return part(v).priority_tier; }, kPart},
    {"Root", 'r', "ROOT", FIELD { UNUSED; out += part(v).root_only ? "yes" : "no"; }, nullptr,
     kPart},
    {"Size", 's', "JOB_SIZE", render_size, nullptr, kPart},
    {"StateCompact", 't', "STATE",
     FIELD { UNUSED; out += of_first(v, "n/a", NODE {
               return to_lower(node_state_short(n.shown_base, n.shown_flags)); }); },
     KEY { UNUSED;
           return v.nodes.empty() ? 0 : node_state_rank(v.nodes.front()->shown_base,
                                                        v.nodes.front()->shown_flags); },
     kNode},
    {"User", 'u', "USER", FIELD { render_reason_user(v, c, false, out); }, nullptr, kNode},
    {"Version", 'v', "VERSION",
     FIELD { UNUSED; out += or_else(of_first(v, "N/A", NODE { return hardware_of(n).version; }),
                                    "N/A"); },
     nullptr, kNode},
    {"Weight", 'w', "WEIGHT", FIELD { UNUSED; put_least(v, out, weight); },
     KEY { UNUSED; return least(v, weight); }, kExact},
    {"SocketCoreThread", 'z', "S:C:T",
     FIELD { UNUSED;
             put_least(v, out, sockets);
             put_least(v, out += ':', cores);
             put_least(v, out += ':', threads); },
     nullptr, kExact},
    {"NodeAI", 'A', "NODES(A/I)", render_nodes_ai},
    {"MaxCPUsPerNode", 'B', "MAX_CPUS_PER_NODE",
     FIELD { UNUSED; out += size_limit_text(part(v).max_cpus_per_node, "UNLIMITED"); }, nullptr,
     kPart},
    {"CPUsState", 'C', "CPUS(A/I/O/T)", render_cpus_state},
    {"Nodes", 'D', "NODES", FIELD { UNUSED; out += std::to_string(v.nodes.size()); },
     KEY { UNUSED; return static_cast<int64_t>(v.nodes.size()); }},
    {"Reason", 'E', "REASON",
     FIELD { UNUSED; out += or_else(of_first(v, "none", NODE { return n.node.reason.view(); }),
                                    "none"); },
     nullptr, kNode},
    {"NodeAIOT", 'F', "NODES(A/I/O/T)", render_nodes_aiot},
    {"Gres", 'G', "GRES",
     FIELD { UNUSED; out += or_else(of_first(v, "(null)", NODE { return shown_gres(n); }),
                                    "(null)"); },
     nullptr, kNode},
    {"GresUsed", '\0', "GRES_USED",
     FIELD { UNUSED; out += or_else(of_first(v, "(null)", NODE {
               return used_gres(n); }), "(null)"); },
     nullptr, kNode},
    {"TimeStamp", 'H', "TIMESTAMP", render_reason_time, sort_by_reason_time, kNode},
    {"PriorityJobFactor", 'I', "PRIO_JOB_FACTOR",
     FIELD { UNUSED; out += std::to_string(part(v).priority_job_factor); },
     KEY { UNUSED; return part(v).priority_job_factor; }, kPart},
    {"DefaultTime", 'L', "DEFAULTTIME",
     FIELD { UNUSED; out += part(v).default_time
                                ? format_minutes_short(*part(v).default_time, "infinite")
                                : "n/a"; },
     nullptr, kPart},
    {"PreemptMode", 'M', "PREEMPT_MODE",
     FIELD { out += part(v).preempt_mode ? preempt_mode_text(*part(v).preempt_mode)
                                         : c.preempt_mode; },
     nullptr, kPart},
    {"NodeList", 'N', "NODELIST", render_node_list,
     KEY { UNUSED; return static_cast<int64_t>(v.name_rank); }},
    {"CPUsLoad", 'O', "CPU_LOAD", render_load, nullptr, kExact},
    {"Partition", 'P', "PARTITION",
     FIELD { UNUSED; out += part(v).name; if (part(v).is_default) out += '*'; }, nullptr, kPart, Cut::kBeforeMark},
    {"PartitionName", 'R', "PARTITION", FIELD { UNUSED; out += part(v).name; }, nullptr, kPart},
    {"AllocNodes", 'S', "ALLOCNODES",
     FIELD { UNUSED; out += list_or_all(part(v).alloc_nodes, "all"); }, nullptr, kPart},
    {"StateLong", 'T', "STATE",
     FIELD { UNUSED; out += of_first(v, "n/a", NODE {
               return to_lower(node_state_long(n.shown_base, n.shown_flags)); }); },
     KEY { UNUSED;
           return v.nodes.empty() ? 0 : node_state_rank(v.nodes.front()->shown_base,
                                                        v.nodes.front()->shown_flags); },
     kNode},
    {"UserLong", 'U', "USER", FIELD { render_reason_user(v, c, true, out); }, nullptr, kNode},
    {"Cluster", 'V', "CLUSTER", FIELD { UNUSED; out += "N/A"; }},
    {"Sockets", 'X', "SOCKETS", FIELD { UNUSED; put_least(v, out, sockets); },
     KEY { UNUSED; return least(v, sockets); }, kExact},
    {"Cores", 'Y', "CORES", FIELD { UNUSED; put_least(v, out, cores); },
     KEY { UNUSED; return least(v, cores); }, kExact},
    {"Threads", 'Z', "THREADS", FIELD { UNUSED; put_least(v, out, threads); },
     KEY { UNUSED; return least(v, threads); }, kExact},
    {"AllocMem", '\0', "ALLOCMEM",
     FIELD { UNUSED; put_least(v, out, NODE { return n.used_memory_mib; }); }, nullptr, kNode},
    {"Comment", '\0', "COMMENT",
     FIELD { UNUSED; out += or_else(of_first(v, "", NODE { return n.node.comment.view(); }),
                                    "(null)"); },
     nullptr, kNode},
    {"Extra", '\0', "EXTRA",
     FIELD { UNUSED; out += or_else(of_first(v, "", NODE { return n.node.extra.view(); }),
                                    "(null)"); },
     nullptr, kNode},
    {"Port", '\0', "PORT",
     FIELD { UNUSED; out += of_first(v, "0", NODE { return std::to_string(config_of(n).port); }); }},
    {"StateComplete", '\0', "STATECOMPLETE",
     FIELD { UNUSED; out += of_first(v, "n/a", NODE {
               return to_lower(node_state_complete(n.shown_base, n.shown_flags)); }); },
     nullptr, kNode},
};

#undef FIELD
#undef KEY
#undef NODE
#undef UNUSED
// clang-format on

}  // namespace

std::span<const SinfoField> sinfo_fields() { return kFields; }

std::vector<SinfoField> sinfo_sort_fields() {
  std::vector<SinfoField> out(std::begin(kFields), std::end(kFields));
  SinfoField order;
  order.letter = '#';
  order.render = [](const SinfoRow&, const Context&, std::string&) {};
  order.sort_key = [](const SinfoRow& row, const Context&) {
    return static_cast<int64_t>(row.partition_index);
  };
  out.push_back(order);
  return out;
}

}  // namespace sluice
