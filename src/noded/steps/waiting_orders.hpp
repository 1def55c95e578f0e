// Orders for a step daemon that takes none yet. Users can give many of them, and each waits only so
// long as it has room.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/protocol/stepd.hpp"

namespace sluice::noded {

class WaitingOrders {
 public:
  using Order = std::pair<protocol::FrameType, std::string>;
  static constexpr size_t kMostAttaches = 16;  // more do not watch one step before it begins
  // of what users may send: signals, and words for the user
  static constexpr size_t kMostBytes = 64U << 10;

  // False: there is no room for it. What is the same as the one before it counts once.
  [[nodiscard]] bool add(protocol::FrameType type, std::string_view body) {
    const Order order(type, body);
    if (!orders_.empty() && orders_.back() == order) return true;
    const auto same = static_cast<size_t>(std::ranges::count(orders_, type, &Order::first));
    if (type == protocol::FrameType::kAgentAttach && same >= kMostAttaches) return false;
    if (bytes_ + cost_of(order) > kMostBytes) return false;
    put(order);
    return true;
  }
  // One that has to wait, whatever is there already.
  void put(Order order) {
    bytes_ += cost_of(order);
    orders_.push_back(std::move(order));
  }
  [[nodiscard]] bool contains(protocol::FrameType type) const {
    return std::ranges::count(orders_, type, &Order::first) != 0;
  }
  // All, in the order in which they came.
  [[nodiscard]] std::vector<Order> take() {
    bytes_ = 0;
    return std::exchange(orders_, {});
  }

 private:
  static size_t cost_of(const Order& order) { return sizeof order + order.second.size(); }

  std::vector<Order> orders_;
  size_t bytes_ = 0;
};

}  // namespace sluice::noded
