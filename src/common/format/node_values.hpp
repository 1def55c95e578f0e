// What is worked out from a node's record before it is shown, for sinfo, scontrol and --json.
#pragma once

#include <string>
#include <string_view>

#include "common/protocol/ctld.hpp"
#include "common/format/field_row.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice {

[[nodiscard]] const NodeConfig& config_of(const protocol::NodeRecord& record);
[[nodiscard]] const NodeHardware& hardware_of(const protocol::NodeRecord& record);

// In use, idle or neither, for the A/I/O columns.
enum class NodeUse { kAllocated, kIdle, kOther };
[[nodiscard]] NodeUse node_use(const protocol::NodeRecord& record);

struct CpuUse {
  uint32_t allocated = 0;
  uint32_t idle = 0;
  uint32_t other = 0;
  CpuUse& operator+=(const CpuUse& more) {
    allocated += more.allocated;
    idle += more.idle;
    other += more.other;
    return *this;
  }
  [[nodiscard]] uint32_t total() const { return allocated + idle + other; }
};
// Those that jobs can get.
[[nodiscard]] CpuUse cpu_use(const protocol::NodeRecord& record);
// The load in hundredths, as --json has it; 0 while it is unknown.
[[nodiscard]] uint64_t load_hundredths(const protocol::NodeRecord& record);

[[nodiscard]] std::string active_features(const protocol::NodeRecord& record);  // "a,b"
// As shown: "(null)" for none, unless somebody wanted none.
[[nodiscard]] std::string shown_active_features(const protocol::NodeRecord& record);
[[nodiscard]] std::string available_features(const protocol::NodeRecord& record);
[[nodiscard]] std::string configured_tres(const protocol::NodeRecord& record,
                                          const RenderContext& context);
[[nodiscard]] std::string used_tres(const protocol::NodeRecord& record,
                                    const RenderContext& context);
// Gres=: what the node has with the sockets that are near, "gpu:a100:4(S:0-1),fan:3"; GresUsed=.
[[nodiscard]] std::string shown_gres(const protocol::NodeRecord& record);
[[nodiscard]] std::string used_gres(const protocol::NodeRecord& record);
// What the node has, as counts.
[[nodiscard]] GresShares gres_of(const protocol::NodeRecord& record);

// A number by which states sort: sinfo's default is downwards (flags first, then MIXED … DOWN).
[[nodiscard]] int64_t node_state_rank(NodeBaseState base, NodeFlags flags);

// Partitions, as sinfo and scontrol word them.
[[nodiscard]] std::string oversubscribe_text(const PartitionConfig& partition);
[[nodiscard]] std::string preempt_mode_text(PreemptMode mode);
[[nodiscard]] std::string size_limit_text(uint32_t limit, std::string_view unlimited);

}  // namespace sluice
