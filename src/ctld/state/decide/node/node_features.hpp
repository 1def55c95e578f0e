// Features of nodes that helpers.conf manages: what a node reports of them, and what a job has
// changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

// The features that are active by the node's helpers ("a,b"); not set: the node has none, and is as
// configured. Features that no helper manages stay as they are.
void report_features(Draft& draft, NodeId node, const std::optional<std::string>& reported);

// What a node of a job has to become before the job can begin there.
struct FeatureChange {
  size_t position = 0;   // in the allocation
  std::string features;  // "a,b": that its helpers are to make active
  bool reboot = false;
};
// The changes that the job's constraint needs, by position; nodes that have its features are left
// out. nullopt: a node cannot come to have them now, because it has other jobs or nobody can change
// it for this user.
[[nodiscard]] std::optional<std::vector<FeatureChange>> feature_changes(
    const ClusterState& state, const JobSpec& spec, const Allocation& allocation);
// kInvalidFeature: the job asks for features that exclude each other on a node, or counts nodes by
// features that change.
[[nodiscard]] Status check_changeable_features(const ClusterConfig& config, const JobSpec& spec);
// Has the node come back without the features that its reboot was for?
[[nodiscard]] std::optional<std::string> features_missed(const Node& node);

}  // namespace sluice::state
