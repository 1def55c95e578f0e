// See node_values.hpp.
#include "common/format/node_values.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"
#include "common/environment/gres_env.hpp"
#include "common/names/job_states.hpp"

namespace sluice {

const NodeConfig& config_of(const protocol::NodeRecord& record) {
  static const NodeConfig nothing;
  return record.node.config != nullptr ? *record.node.config : nothing;
}

const NodeHardware& hardware_of(const protocol::NodeRecord& record) {
  static const NodeHardware nothing;
  return record.node.hardware != nullptr ? *record.node.hardware : nothing;
}

uint64_t load_hundredths(const protocol::NodeRecord& record) {
  return record.soft.load < 0 ? 0 : static_cast<uint64_t>(std::llround(record.soft.load * 100));
}

NodeUse node_use(const protocol::NodeRecord& record) {
  const bool used = record.shown_base == NodeBaseState::kAllocated ||
                    record.shown_base == NodeBaseState::kMixed ||
                    (record.shown_flags & kNodeCompleting) != 0;
  if (used && record.shown_base != NodeBaseState::kDown) return NodeUse::kAllocated;
  const bool usable = record.shown_base == NodeBaseState::kIdle &&
                      (record.shown_flags & (kNodeDrain | kNodeFailing)) == 0;
  return usable ? NodeUse::kIdle : NodeUse::kOther;
}

CpuUse cpu_use(const protocol::NodeRecord& record) {
  const NodeConfig& config = config_of(record);
  CpuUse use;
  use.allocated = std::min(record.used_cpus, config.cpus);
  // a job may have got some of those that are kept for the system (--core-spec)
  const uint32_t total = std::max(effective_cpus(config), use.allocated);
  const bool down = record.shown_base == NodeBaseState::kDown ||
                    record.shown_base == NodeBaseState::kUnknown ||
                    record.shown_base == NodeBaseState::kFuture;
  const bool usable = !down && (record.shown_flags & (kNodeDrain | kNodeFailing)) == 0;
  (usable ? use.idle : use.other) = total - use.allocated;
  return use;
}

std::string available_features(const protocol::NodeRecord& record) {
  return join(config_of(record).features, ",");
}

std::string active_features(const protocol::NodeRecord& record) {
  return join(active_features(record.node), ",");
}

std::string shown_active_features(const protocol::NodeRecord& record) {
  const std::string active = active_features(record);
  return active.empty() ? "(null)" : active;
}

std::string configured_tres(const protocol::NodeRecord& record, const RenderContext& context) {
  const NodeConfig& config = config_of(record);
  const std::string cpus = std::to_string(effective_cpus(config));
  std::string out = "cpu=" + cpus;
  out.append(",mem=").append(format_memory(config.real_memory_mib));
  out.append(",billing=").append(cpus);
  return out + gres_tres(gres_of(record), context.accounting_tres);
}

GresShares gres_of(const protocol::NodeRecord& record) {
  GresShares out;
  const auto inventory = make_inventory(config_of(record).gres, hardware_of(record).devices);
  if (inventory == nullptr) return out;
  for (const GresKind& kind : inventory->kinds)
    out.push_back({kind.name, kind.type, kind.count, {}, {}});
  return out;
}

namespace {

// "(S:0-1)": the sockets that are near the units of a kind.
std::string near_sockets(const GresInventory& inventory, const GresKind& kind,
                         uint32_t cores_per_socket) {
  Bitmap sockets;
  kind.units.for_each([&](size_t unit) {
    const Bitmap* cores = inventory.near_cores(kind.name, unit);
    if (cores != nullptr)
      cores->for_each([&](size_t core) { sockets.set(core / std::max(1U, cores_per_socket)); });
  });
  return sockets.none() ? std::string() : "(S:" + sockets.to_text() + ")";
}

}  // namespace

std::string shown_gres(const protocol::NodeRecord& record) {
  const NodeConfig& config = config_of(record);
  const auto inventory = make_inventory(config.gres, hardware_of(record).devices);
  if (inventory == nullptr) return config.gres;
  std::vector<std::string> out;
  for (const GresKind& kind : inventory->kinds) {
    out.push_back(gres_text({{kind.name, kind.type, kind.count, {}, {}}}, false) +
                  near_sockets(*inventory, kind, config.cores_per_socket));
  }
  return join(out, ",");
}

std::string used_gres(const protocol::NodeRecord& record) {
  const auto inventory = make_inventory(config_of(record).gres, hardware_of(record).devices);
  return inventory == nullptr ? std::string() : used_gres_text(*inventory, record.used_gres);
}

std::string used_tres(const protocol::NodeRecord& record, const RenderContext& context) {
  std::vector<std::string> out;
  if (const uint32_t cpus = cpu_use(record).allocated; cpus != 0)
    out.push_back("cpu=" + std::to_string(cpus));
  if (record.used_memory_mib != 0) out.push_back("mem=" + format_memory(record.used_memory_mib));
  const std::string text = join(out, ",") + gres_tres(record.used_gres, context.accounting_tres);
  return text.starts_with(',') ? text.substr(1) : text;
}

int64_t node_state_rank(NodeBaseState base, NodeFlags flags) {
  // weakest first: a node with a stronger flag sorts above all without it
  constexpr NodeFlags kOrder[] = {
      kNodeReserved,  kNodeCloud,           kNodeDrain,        kNodeCompleting,
      kNodeNoRespond, kNodePoweredDown,     kNodeFailing,      kNodePoweringUp,
      kNodeMaint,     kNodeRebootRequested, kNodeRebootIssued, kNodeInvalidReg,
      kNodePowerDown, kNodePowerUp,         kNodePoweringDown, kNodePlanned};
  int64_t rank = static_cast<int64_t>(base);
  for (size_t i = 0; i < std::size(kOrder); ++i) {
    if ((flags & kOrder[i]) != 0) rank |= int64_t{1} << (i + 4);
  }
  return rank;
}

std::string oversubscribe_text(const PartitionConfig& partition) {
  const std::string count = std::to_string(partition.over_subscribe_count);
  switch (partition.over_subscribe) {
    case OverSubscribe::kYes: return "YES:" + count;
    case OverSubscribe::kForce: return "FORCE:" + count;
    case OverSubscribe::kExclusive: return "EXCLUSIVE";
    default: return "NO";
  }
}

std::string preempt_mode_text(PreemptMode mode) {
  constexpr std::string_view kNames[] = {"OFF",     "CANCEL", "REQUEUE",
                                         "SUSPEND", "WITHIN", "PRIORITY"};
  return std::string(kNames[static_cast<size_t>(mode) % std::size(kNames)]);
}

std::string size_limit_text(uint32_t limit, std::string_view unlimited) {
  return limit == UINT32_MAX ? std::string(unlimited) : std::to_string(limit);
}

}  // namespace sluice
