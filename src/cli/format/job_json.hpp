// Jobs and steps as --json shows them (data_parser v0.0.44).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/model/node_config.hpp"
#include "common/format/job_values.hpp"
#include "common/format/json_parts.hpp"

namespace sluice {

// How the cores of nodes are numbered, by the nodes' names.
struct NodeShape {
  uint32_t sockets = 0, cores_per_socket = 0;
};
using NodeShapes = std::unordered_map<std::string, NodeShape>;
[[nodiscard]] NodeShapes node_shapes(const std::vector<NodeConfig>& nodes);

// The record must have its steps: what they use of the job's resources is shown.
[[nodiscard]] Json job_to_json(const JobView& view, const RenderContext& context,
                               const NodeShapes& shapes);
[[nodiscard]] Json exit_code_to_json(int32_t status);

}  // namespace sluice
