// Who manages which features of a node: helpers.conf.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/model/cluster_config.hpp"
#include "common/model/node.hpp"

namespace sluice {

// NodeFeaturesPlugins=node_features/helpers.
[[nodiscard]] bool uses_helpers(const ClusterConfig& config);
// The lines that hold for the node.
[[nodiscard]] std::vector<const FeatureHelper*> helpers_of(const HelpersConfig& config,
                                                           std::string_view node);
// The features that these lines manage, each once.
[[nodiscard]] std::vector<std::string> managed_features(const HelpersConfig& config,
                                                        std::string_view node);
// The node has what its helpers manage, and can change what they change without a reboot, or with
// one where there is a program for that.
void adopt_helpers(const ClusterConfig& config, NodeConfig& node);
// What is active once the node has another line: what its helpers said of its features stays, and
// says nothing of new ones that they do not manage.
[[nodiscard]] std::vector<std::string> active_with_line(const HelpersConfig& config,
                                                        const Node& node, const NodeConfig& line);
// Whether jobs of this user may have features changed.
[[nodiscard]] bool may_change_features(const ClusterConfig& config, uint32_t uid);
// Whether the change to this feature needs no reboot.
[[nodiscard]] bool is_rebootless(const HelpersConfig& config, std::string_view node,
                                 std::string_view feature);

}  // namespace sluice
