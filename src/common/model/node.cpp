// See node.hpp.
#include "common/model/node.hpp"

#include "common/base/text.hpp"

namespace sluice {

std::vector<std::string> active_features(const Node& node) {
  if (has_own_features(node)) return split_list(node.active_features.view());
  return node.config != nullptr ? node.config->features : std::vector<std::string>();
}

}  // namespace sluice
