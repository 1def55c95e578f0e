// Feature expressions of --constraint and --prefer: names joined by & and | (of equal rank, read
// from the left as Slurm does), ( ) groups, [a|b] ("all nodes from one alternative"), name*count
// and ( )*count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::fit {

// One alternative of "[a|b]": all nodes of the job satisfy `all_of`. Outside brackets there is one
// alternative per "|" branch, and nodes of different branches may be mixed when `mixed`.
struct FeatureCount {
  std::vector<std::vector<std::string>> any_of;  // as of the whole expression
  uint32_t count = 0;                            // least number of nodes that have it
};
struct FeatureExpression {
  // disjunction of conjunctions; empty: no constraint
  std::vector<std::vector<std::string>> any_of;
  bool one_branch_for_all = false;  // [a|b]: every node from the same branch
  std::vector<FeatureCount>
      counts;  // "[rack1*2&(rack2|rack3)*4]": nodes by feature, otherwise unconstrained
};

// kInvalidFeature when the text is no expression.
[[nodiscard]] Result<FeatureExpression> parse_features(std::string_view text);

// Whether a node with these features may serve branch `branch` of the expression. `changeable`:
// those that can be made active beside them; may be null.
[[nodiscard]] bool satisfies(const std::vector<std::string>& branch,
                             const std::vector<std::string>& node_features,
                             const std::vector<std::string>* changeable = nullptr);
// Whether it may serve any branch (true for an empty expression).
[[nodiscard]] bool satisfies_any(const FeatureExpression& expression,
                                 const std::vector<std::string>& node_features,
                                 const std::vector<std::string>* changeable = nullptr);

}  // namespace sluice::fit
