// See node_features.hpp.
#include "ctld/state/decide/node_features.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/tables/node_helpers.hpp"
#include "ctld/state/decide/ending.hpp"

namespace sluice::state {
namespace {

bool has(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

}  // namespace

void report_features(Draft& draft, NodeId id, const std::optional<std::string>& reported) {
  const Node& node = draft.node(id);
  NodeUpdated event = present_values(node);
  event.features_reported = reported.has_value();
  event.active_features = {};
  if (reported) {
    const std::vector<std::string> managed = managed_features(draft.state().config->helpers, node.name);
    const std::vector<std::string> before = active_features(node), found = split_list(*reported);
    std::vector<std::string> active;
    for (const std::string& feature : node.config->features) {
      if (has(has(managed, feature) ? found : before, feature)) active.push_back(feature);
    }
    event.active_features = join(active, ",");
  } else if (!node.features_reported) {
    return;
  }
  const bool same = node.features_reported == event.features_reported && node.active_features == event.active_features;
  if (!same) draft.emit(std::move(event));
}

}  // namespace sluice::state
