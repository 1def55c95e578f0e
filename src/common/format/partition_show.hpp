// A partition as `scontrol show partition` prints it, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/ctld.hpp"
#include "common/format/field_row.hpp"
#include "common/format/json_parts.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice {

// "cpu=32,mem=16G,node=4,billing=32": what its nodes have together.
[[nodiscard]] std::string partition_tres(const protocol::PartitionRecord& record,
                                         const std::vector<protocol::NodeRecord>& nodes,
                                         const RenderContext& context);

// Without the blank line that follows. `tres` as above.
[[nodiscard]] std::string show_partition(const protocol::PartitionRecord& record,
                                         const std::string& tres, const RenderContext& context,
                                         bool one_line);
[[nodiscard]] Json partition_to_json(const protocol::PartitionRecord& record,
                                     const std::string& tres);

}  // namespace sluice
