// See node_features.hpp.
#include "ctld/state/decide/node/node_features.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/syntax/node_helpers.hpp"
#include "ctld/fit/features.hpp"
#include "ctld/state/decide/ending.hpp"

namespace sluice::state {
namespace {

using Branch = std::vector<std::string>;  // features that one node is to have all of

// Those of the branch that are not active; nullopt: they cannot be made so now.
std::optional<std::vector<std::string>> missing_of(const Node& node, const Branch& branch) {
  const std::vector<std::string> active = active_features(node);
  std::vector<std::string> missing;
  for (const std::string& wanted : branch) {
    if (contains(active, wanted) || contains(missing, wanted)) continue;
    const bool may_change = node.jobs.empty() && !is_asleep(node);
    if (!may_change || !contains(node.config->changeable_features, wanted)) return std::nullopt;
    missing.push_back(wanted);
  }
  return missing;
}

// Of several branches the one that changes least.
std::optional<std::vector<FeatureChange>> changes_to(const ClusterState& state,
                                                     std::span<const Branch> branches,
                                                     const Allocation& allocation) {
  std::vector<FeatureChange> changes;
  for (size_t at = 0; at < allocation.nodes.size(); ++at) {
    const Node& node = state.nodes.at(allocation.nodes[at].node);
    std::optional<std::vector<std::string>> least;
    const Branch* chosen = nullptr;
    for (const Branch& branch : branches) {
      auto missing = missing_of(node, branch);
      if (!missing || (least && least->size() <= missing->size())) continue;
      least = std::move(missing);
      chosen = &branch;
    }
    if (!least) return std::nullopt;
    if (least->empty()) continue;
    Branch wanted;  // also what is active and might not stay so
    std::ranges::copy_if(*chosen, std::back_inserter(wanted), [&](const std::string& one) {
      return contains(node.config->changeable_features, one) && !contains(wanted, one);
    });
    const bool reboot = std::ranges::any_of(*least, [&](const std::string& one) {
      return !is_rebootless(state.config->helpers, node.name, one);
    });
    changes.push_back({at, join(wanted, ","), reboot});
  }
  return changes;
}

// Whether all nodes are such as the job prefers: these are tried in place of those that it needs.
bool are_preferred(const ClusterState& state, const JobSpec& spec, const Allocation& allocation) {
  const auto prefer = fit::parse_features(spec.prefer.view());
  if (!prefer || prefer->any_of.empty()) return false;
  return std::ranges::all_of(allocation.nodes, [&](const NodeAllocation& part) {
    return fit::satisfies_any(*prefer, active_features(state.nodes.at(part.node)));
  });
}

}  // namespace

void report_features(Draft& draft, NodeId id, const std::optional<std::string>& reported) {
  const Node& node = draft.node(id);
  NodeUpdated event = present_values(node);
  event.features_reported = reported.has_value();
  event.features_chosen = false;
  event.active_features = {};
  if (reported) {
    const std::vector<std::string> managed =
        managed_features(draft.state().config->helpers, node.name);
    const std::vector<std::string> before = active_features(node), found = split_list(*reported);
    std::vector<std::string> active;
    for (const std::string& feature : node.config->features) {
      if (contains(contains(managed, feature) ? found : before, feature)) active.push_back(feature);
    }
    event.active_features = join(active, ",");
  } else if (!node.features_reported) {
    return;
  }
  const bool same = node.features_reported == event.features_reported &&
                    node.active_features == event.active_features;
  if (!same) draft.emit(std::move(event));
}

std::optional<std::vector<FeatureChange>> feature_changes(const ClusterState& state,
                                                          const JobSpec& spec,
                                                          const Allocation& allocation) {
  if (spec.constraint.empty() || !may_change_features(*state.config, spec.uid))
    return std::vector<FeatureChange>();
  const auto wanted = fit::parse_features(spec.constraint.view());
  if (!wanted || wanted->any_of.empty() || are_preferred(state, spec, allocation))
    return std::vector<FeatureChange>();
  if (!wanted->one_branch_for_all) return changes_to(state, wanted->any_of.branches(), allocation);
  std::optional<std::vector<FeatureChange>> least;
  for (const Branch& branch : wanted->any_of.branches()) {
    auto changes = changes_to(state, {&branch, 1}, allocation);
    if (changes && (!least || changes->size() < least->size())) least = std::move(changes);
  }
  return least;
}

Status check_changeable_features(const ClusterConfig& config, const JobSpec& spec) {
  if (spec.constraint.empty() || config.helpers.helpers.empty()) return {};
  const auto wanted = fit::parse_features(spec.constraint.view());
  if (!wanted) return tl::unexpected<Error>(wanted.error());
  const auto changes = [&](const std::string& name) {
    return std::ranges::any_of(config.helpers.helpers, [&](const FeatureHelper& helper) {
      return contains(helper.features, name);
    });
  };
  for (const fit::FeatureCount& count : wanted->counts) {
    const bool any = std::ranges::any_of(count.any_of.branches(), [&](const Branch& branch) {
      return std::ranges::any_of(branch, changes);
    });
    if (any) return failure(ErrorCode::kInvalidFeature);
  }
  for (const std::string& exclusive : config.helpers.exclusive) {
    const std::vector<std::string> group = split_list(exclusive);
    for (const Branch& branch : wanted->any_of.branches()) {
      const auto of_branch = std::ranges::count_if(
          group, [&](const std::string& name) { return contains(branch, name); });
      if (of_branch > 1) return failure(ErrorCode::kInvalidFeature);
    }
  }
  return {};
}

std::optional<std::string> features_missed(const Node& node) {
  const std::vector<std::string> active = active_features(node);
  std::vector<std::string> missed = split_list(node.boot_features.view());
  std::erase_if(missed, [&](const std::string& one) { return contains(active, one); });
  if (missed.empty()) return std::nullopt;
  return join(missed, ",");
}

}  // namespace sluice::state
