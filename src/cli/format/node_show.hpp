// A node as `scontrol show node` prints it, and as JSON.
#pragma once

#include <string>

#include "common/protocol/ctld.hpp"
#include "common/format/field_row.hpp"
#include "common/format/json_parts.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice {

// Without the blank line that follows.
[[nodiscard]] std::string show_node(const protocol::NodeRecord& record,
                                    const RenderContext& context, bool one_line, bool details);
[[nodiscard]] Json node_to_json(const protocol::NodeRecord& record, const RenderContext& context);

}  // namespace sluice
