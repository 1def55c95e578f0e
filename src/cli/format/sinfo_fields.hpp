// The fields of sinfo, and the lines they make: nodes of a partition are gathered on one line as
// long as they agree in every field that is shown and distinguishes them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/protocol/ctld.hpp"
#include "common/format/field_row.hpp"
#include "common/format/json_parts.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice {

struct SinfoRow {
  const protocol::PartitionRecord* partition = nullptr;  // null only when there is none at all
  size_t partition_index = 0;                            // in configured order
  std::vector<const protocol::NodeRecord*> nodes;        // in configured order; may be none
  size_t name_rank = 0;                                  // of the first node, by name
};

using SinfoField = FieldRow<SinfoRow>;
[[nodiscard]] std::span<const SinfoField> sinfo_fields();
// As those, and '#': the configured order of partitions.
[[nodiscard]] std::vector<SinfoField> sinfo_sort_fields();

struct SinfoGrouping {
  std::vector<const SinfoField*> fields;  // what is shown
  bool exact = false;                     // -e
  bool one_node_a_row = false;            // -N
  // where partitions are named, a line for one without any such node
  bool empty_rows = true;
};
// `nodes` are those that passed the filters; `partitions` likewise. Both must outlive the rows.
[[nodiscard]] std::vector<SinfoRow> group_nodes(
    const std::vector<const protocol::PartitionRecord*>& partitions,
    const std::vector<const protocol::NodeRecord*>& nodes, const SinfoGrouping& grouping,
    const RenderContext& context);

// `tres` is what the partition has (partition_tres()).
[[nodiscard]] Json sinfo_row_to_json(const SinfoRow& row, const std::string& tres,
                                     const RenderContext& context);

}  // namespace sluice
