// Features of nodes that helpers.conf manages: what a node reports of them, and what a job has changed.
#pragma once

#include <optional>
#include <string>

#include "ctld/state/draft.hpp"

namespace sluice::state {

// The features that are active by the node's helpers ("a,b"); not set: the node has none, and is as configured. Features
// that no helper manages stay as they are.
void report_features(Draft& draft, NodeId node, const std::optional<std::string>& reported);

}  // namespace sluice::state
