// The nodes on which jobs of one demand may run, in the order in which they are preferred. Many
// demands may have them on many nodes: what they have in common is kept once, eight bytes a node
// are not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "ctld/timeline/node_timeline.hpp"

namespace sluice::timeline {

struct IndexedNode {
  NodeId id = kNoNode;
  uint32_t most = 0;                               // units that it gives at best
  const std::vector<Closing>* closings = nullptr;  // not owned; null: none
  bool required = false;
  LeastFree least;  // to give a unit
  LeastFree busy;   // no more than `least`: with less it is kept as busy (BusyNodes)
};

class IndexedNodes {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Order {
    std::vector<NodeId> ids;
    std::vector<uint32_t> positions;  // by NodeId
  };
  using SharedOrder = std::shared_ptr<const Order>;

  void add(const IndexedNode& node) {
    if (node.id >= own_->positions.size()) own_->positions.resize(node.id + 1, kNone);
    own_->positions[node.id] = static_cast<uint32_t>(most_.size());
    own_->ids.push_back(node.id);
    most_.push_back(node.most);
    // each node has its own, and most have none
    if (node.closings != nullptr || !closings_.empty()) closings_.resize(most_.size());
    if (node.closings != nullptr) closings_.back() = node.closings;
    const Kind kind{node.required, node.least, node.busy};
    size_t at = kinds_.size();  // the last ones are the likeliest
    while (at > 0 && !(kinds_[at - 1] == kind)) --at;
    if (at == 0) kinds_.push_back(kind);
    kind_.push_back(static_cast<uint32_t>(at == 0 ? kinds_.size() - 1 : at - 1));
  }
  // All are added. Of equal orders one is kept.
  void share_order(std::vector<SharedOrder>& orders) {
    const auto same =
        std::ranges::find_if(orders, [&](const SharedOrder& one) { return one->ids == own_->ids; });
    if (same != orders.end()) order_ = *same;
    else orders.push_back(order_);
    own_.reset();
  }
  [[nodiscard]] bool has_order_of(const IndexedNodes& other) const {
    return order_ == other.order_;
  }
  [[nodiscard]] size_t size() const { return most_.size(); }
  [[nodiscard]] IndexedNode operator[](size_t position) const {
    const Kind& kind = kinds_[kind_[position]];
    return {order_->ids[position],
            most_[position],
            position < closings_.size() ? closings_[position] : nullptr,
            kind.required,
            kind.least,
            kind.busy};
  }
  // by position
  [[nodiscard]] const std::vector<NodeId>& ids() const { return order_->ids; }
  [[nodiscard]] const std::vector<uint32_t>& most() const { return most_; }
  // kNone: it is not among them.
  [[nodiscard]] uint32_t position_of(NodeId node) const {
    return node < order_->positions.size() ? order_->positions[node] : kNone;
  }

 private:
  struct Kind {  // few: nodes of one hardware are alike
    bool required = false;
    LeastFree least, busy;
    bool operator==(const Kind&) const = default;
  };
  std::shared_ptr<Order> own_ = std::make_shared<Order>();  // null: it is shared
  SharedOrder order_ = own_;
  std::vector<uint32_t> most_, kind_;
  std::vector<Kind> kinds_;
  std::vector<const std::vector<Closing>*> closings_;  // empty: no node has any
};

}  // namespace sluice::timeline
