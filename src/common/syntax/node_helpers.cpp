// See node_helpers.hpp.
#include "common/syntax/node_helpers.hpp"

#include <algorithm>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"

namespace sluice {
bool uses_helpers(const ClusterConfig& config) {
  return std::ranges::any_of(config.node_features_plugins, [](const std::string& plugin) {
    return iequals(plugin, "node_features/helpers") || iequals(plugin, "helpers");
  });
}

std::vector<const FeatureHelper*> helpers_of(const HelpersConfig& config, std::string_view node) {
  std::vector<const FeatureHelper*> found;
  for (const FeatureHelper& helper : config.helpers) {
    if (helper.nodes.empty() || contains(helper.nodes, node)) found.push_back(&helper);
  }
  return found;
}

std::vector<std::string> managed_features(const HelpersConfig& config, std::string_view node) {
  std::vector<std::string> names;
  for (const FeatureHelper* helper : helpers_of(config, node)) {
    for (const std::string& feature : helper->features) {
      if (!contains(names, feature)) names.push_back(feature);
    }
  }
  return names;
}

void adopt_helpers(const ClusterConfig& config, NodeConfig& node) {
  for (const std::string& feature : managed_features(config.helpers, node.name)) {
    if (!contains(node.features, feature)) node.features.push_back(feature);
    const bool can =
        !config.reboot_program.empty() || is_rebootless(config.helpers, node.name, feature);
    if (can && !contains(node.changeable_features, feature))
      node.changeable_features.push_back(feature);
  }
}

std::vector<std::string> active_with_line(const HelpersConfig& config, const Node& node,
                                          const NodeConfig& line) {
  std::vector<std::string> active = active_features(node);
  const std::vector<std::string> managed = managed_features(config, node.name);
  for (const std::string& feature : line.features) {
    if (!contains(node.config->features, feature) && !contains(managed, feature))
      active.push_back(feature);
  }
  return active;
}

bool may_change_features(const ClusterConfig& config, uint32_t uid) {
  const HelpersConfig& helpers = config.helpers;
  if (helpers.helpers.empty()) return false;
  return helpers.allow_user_boot.empty() ||
         std::ranges::find(helpers.allow_user_boot_ids, uid) != helpers.allow_user_boot_ids.end();
}

bool is_rebootless(const HelpersConfig& config, std::string_view node, std::string_view feature) {
  return std::ranges::any_of(helpers_of(config, node), [&](const FeatureHelper* helper) {
    return helper->rebootless && contains(helper->features, feature);
  });
}

}  // namespace sluice
