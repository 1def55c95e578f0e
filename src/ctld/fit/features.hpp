// Feature expressions of --constraint and --prefer: names joined by & and | (of equal rank, read
// from the left as Slurm does), ( ) groups, [a|b] ("all nodes from one alternative"), name*count
// and ( )*count.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/result.hpp"

namespace sluice::fit {

// Disjunction of conjunctions: a node serves when it has all features of one branch. They are
// compared as bits of the names, so that a node costs a look at its own features and some words for
// each branch, whatever the text was. Copies share what was made.
class Alternatives {
 public:
  using Branch = std::vector<std::string>;
  Alternatives() = default;
  // Each name of a branch, and each branch, is kept once: where it is first.
  explicit Alternatives(std::vector<Branch> branches);

  [[nodiscard]] bool empty() const { return made_ == nullptr; }
  [[nodiscard]] const std::vector<Branch>& branches() const;
  // Which of the names a node has with these features. `changeable`: those that can be made active
  // beside them; may be null.
  [[nodiscard]] Bitmap names_of(const std::vector<std::string>& node_features,
                                const std::vector<std::string>* changeable = nullptr) const;
  [[nodiscard]] bool is_met(size_t branch, const Bitmap& names) const;
  [[nodiscard]] bool any_is_met(const Bitmap& names) const;

 private:
  struct Made {
    std::vector<Branch> branches;
    std::vector<std::string> names;  // of all, sorted
    std::vector<Bitmap> bits;        // by branch: places in `names`
  };
  std::shared_ptr<const Made> made_;
};

struct FeatureCount {
  Alternatives any_of;
  uint32_t count = 0;  // least number of nodes that have it
};
struct FeatureExpression {
  Alternatives any_of;              // empty: no constraint
  bool one_branch_for_all = false;  // [a|b]: every node from the same branch
  std::vector<FeatureCount>
      counts;  // "[rack1*2&(rack2|rack3)*4]": nodes by feature, otherwise unconstrained
  [[nodiscard]] bool empty() const { return any_of.empty() && counts.empty(); }
};

// kInvalidFeature when the text is no expression.
[[nodiscard]] Result<FeatureExpression> parse_features(std::string_view text);

// Whether a node with these features may serve (any node, for an empty expression).
[[nodiscard]] bool satisfies_any(const FeatureExpression& expression,
                                 const std::vector<std::string>& node_features,
                                 const std::vector<std::string>* changeable = nullptr);

}  // namespace sluice::fit
