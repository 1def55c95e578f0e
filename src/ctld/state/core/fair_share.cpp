#include "ctld/state/core/fair_share.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ctld/state/core/accounting.hpp"

namespace sluice::state {
namespace {

struct Node {
  const AssociationRecord* record = nullptr;
  double usage = 0;
  uint32_t parent = UINT32_MAX;    // position; UINT32_MAX: the root
  std::vector<uint32_t> children;  // those below accounts that use their parent's shares included
  Share share;
  [[nodiscard]] bool is_user() const { return !record->user.empty(); }
  [[nodiscard]] bool uses_parents() const { return record->shares == kSharesOfParent; }
};

class Tree {
 public:
  explicit Tree(const Accounting& accounting) {
    accounting.associations.for_each([&](const AssociationRecord& record) {
      place_.emplace(record.id, static_cast<uint32_t>(nodes_.size()));
      const Usage* usage = accounting.association_usage.find(record.id);
      nodes_.push_back({.record = &record, .usage = usage == nullptr ? 0 : usage->raw});
      users_ += record.user.empty() ? 0 : 1;
    });
    for (uint32_t at = 0; at < nodes_.size(); ++at) place(at);
  }

  FairShares fair_tree() {
    each_root([&](uint32_t root) { weigh_tree(root, 0); });
    each_root([&](uint32_t root) { rank(nodes_[root].children, false, 0); });
    return result();
  }
  FairShares classic(double dampening) {
    each_root([&](uint32_t root) {
      nodes_[root].share.norm_shares = 1;
      nodes_[root].share.factor = std::exp2(-1 / dampening);
      weigh_classic(root, dampening, 0);
    });
    return result();
  }

 private:
  // Under the nearest account that has shares of its own.
  void place(uint32_t at) {
    const AssociationRecord* above = nodes_[at].record;
    for (int depth = 0; depth < kDeepestTree; ++depth) {
      const auto found = place_.find(above->parent);
      if (above->parent == 0 || found == place_.end()) return;
      above = nodes_[found->second].record;
      if (above->shares == kSharesOfParent && above->parent != 0) continue;
      nodes_[at].parent = found->second;
      nodes_[found->second].children.push_back(at);
      return;
    }
  }

  template <class Visit>
  void each_root(Visit&& visit) {
    for (uint32_t at = 0; at < nodes_.size(); ++at) {
      Node& node = nodes_[at];
      if (node.record->parent != 0) continue;
      node.share.level_shares = node.record->shares;
      node.share.norm_usage = node.share.effective_usage = 1;
      cluster_usage_ = node.usage;
      visit(at);
    }
  }

  struct Level {
    uint64_t shares = 0;
    double usage = 0;
  };
  Level level_of(const Node& account) const {
    Level level;
    for (const uint32_t child : account.children) {
      const Node& node = nodes_[child];
      if (node.uses_parents() && !node.is_user()) continue;  // its children are here
      if (!node.uses_parents()) level.shares += node.record->shares;
      level.usage += node.usage;
    }
    return level;
  }

  static double part(double of, double whole) { return whole > 0 ? of / whole : 0; }

  void weigh_tree(uint32_t at, int depth) {
    const Level level = level_of(nodes_[at]);
    for (const uint32_t child : nodes_[at].children) {
      Node& node = nodes_[child];
      if (node.uses_parents()) {
        node.share = nodes_[at].share;
      } else {
        node.share.norm_shares = part(node.record->shares, static_cast<double>(level.shares));
      }
      if (!node.uses_parents() || node.is_user())
        node.share.effective_usage = part(node.usage, level.usage);
      node.share.level_shares = level.shares;
      node.share.norm_usage = part(node.usage, cluster_usage_);
      if (!node.uses_parents()) node.share.level_fs = level_fs(node.share);
      if (depth < kDeepestTree) weigh_tree(child, depth + 1);
    }
  }

  static double level_fs(const Share& share) {
    if (share.norm_shares == 0) return 0;
    return share.effective_usage > 0 ? share.norm_shares / share.effective_usage
                                     : std::numeric_limits<double>::infinity();
  }

  void weigh_classic(uint32_t at, double dampening, int depth) {
    const Level level = level_of(nodes_[at]);
    const bool below_root = nodes_[at].parent == UINT32_MAX;
    for (const uint32_t child : nodes_[at].children) {
      Node& node = nodes_[child];
      const Share& above = nodes_[at].share;
      Share& share = node.share;
      share.level_shares = level.shares;
      share.norm_usage = part(node.usage, cluster_usage_);
      if (node.uses_parents()) {
        share.norm_shares = above.norm_shares;
        share.effective_usage = above.effective_usage;
      } else {
        const double mine = part(node.record->shares, static_cast<double>(level.shares));
        share.norm_shares = above.norm_shares * mine;
        share.effective_usage = share.norm_usage;
        if (!below_root) share.effective_usage += (above.effective_usage - share.norm_usage) * mine;
      }
      if (share.norm_shares > 0)
        share.factor = std::exp2(-(share.effective_usage / share.norm_shares) / dampening);
      if (depth < kDeepestTree) weigh_classic(child, dampening, depth + 1);
    }
  }

  // Gives users their places; `tied`: the first one has the place of the last that was given.
  void rank(std::vector<uint32_t> level, bool tied, int depth) {
    std::erase_if(level,
                  [&](uint32_t at) { return nodes_[at].uses_parents() && !nodes_[at].is_user(); });
    const auto fs = [&](uint32_t at) { return nodes_[at].share.level_fs; };
    std::ranges::stable_sort(level, std::ranges::greater(), fs);
    for (size_t first = 0; first < level.size();) {
      std::vector<uint32_t> below;  // of accounts that are owed the same
      size_t end = first;
      for (; end < level.size() && fs(level[end]) == fs(level[first]); ++end) {
        const Node& node = nodes_[level[end]];
        if (!node.is_user()) {
          // users with their account's shares stand beside it, before all others of it
          bool with_last = tied;
          for (const uint32_t child : node.children) {
            if (!nodes_[child].is_user() || !nodes_[child].uses_parents()) {
              below.push_back(child);
              continue;
            }
            give_place(child, with_last);
            with_last = true;
          }
          continue;
        }
        give_place(level[end], tied);
        tied = true;
      }
      if (!below.empty() && depth < kDeepestTree) rank(std::move(below), tied, depth + 1);
      tied = false;
      first = end;
    }
  }

  void give_place(uint32_t at, bool tied) {
    if (!tied) place_given_ = users_ - given_;
    ++given_;
    nodes_[at].share.factor = static_cast<double>(place_given_) / static_cast<double>(users_);
  }

  FairShares result() const {
    FairShares out;
    for (const Node& node : nodes_) {
      out.by_association.emplace(node.record->id, node.share);
      out.highest_priority = std::max(out.highest_priority, node.record->priority.value_or(0));
    }
    return out;
  }

  std::vector<Node> nodes_;
  std::unordered_map<AssociationId, uint32_t> place_;
  double cluster_usage_ = 0;
  uint64_t users_ = 0, given_ = 0, place_given_ = 0;
};

}  // namespace

const Share& FairShares::of(AssociationId id) const {
  static const Share nothing;
  const auto at = by_association.find(id);
  return at == by_association.end() ? nothing : at->second;
}

FairShares fair_shares(const Accounting& accounting, const FairShareRules& rules) {
  Tree tree(accounting);
  return rules.fair_tree ? tree.fair_tree() : tree.classic(rules.dampening);
}

}  // namespace sluice::state
