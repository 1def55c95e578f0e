// See node.hpp.
#include "common/model/node.hpp"

#include "common/base/text.hpp"

namespace sluice {

std::vector<std::string> active_features(const Node& node) {
  std::vector<std::string> own = split_list(node.active_features.view());
  if (!own.empty() || node.features_reported) return own;
  if (node.config != nullptr) own = node.config->features;
  return own;
}

}  // namespace sluice
