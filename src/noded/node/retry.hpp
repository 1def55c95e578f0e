// The pauses between attempts to tell the controller something: longer each time, none after a
// success.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "common/base/time.hpp"

namespace sluice::noded {

class Retry {
 public:
  explicit Retry(boost::asio::io_context& io) : timer_(io) {}
  // Nothing is to be sent meanwhile.
  [[nodiscard]] bool waiting() const { return waiting_; }
  // No attempt has failed since the last success.
  [[nodiscard]] bool fresh() const { return pause_ == Duration(0); }
  void succeeded() { pause_ = Duration(0); }
  // Tries again after the next pause, unless it is to be done anyway.
  void later(std::function<void()> again) {
    if (waiting_) return;
    pause_ = std::clamp(pause_ * 2, kFirst, kLongest);
    waiting_ = true;
    timer_.expires_after(pause_);
    timer_.async_wait([this, again = std::move(again)](const boost::system::error_code& cancelled) {
      if (cancelled) return;
      waiting_ = false;
      again();
    });
  }
  // The peer is there: whoever waited need not.
  void cut_short() {
    waiting_ = false;
    timer_.cancel();
  }

 private:
  static constexpr Duration kFirst = std::chrono::milliseconds(100);
  static constexpr Duration kLongest = std::chrono::seconds(5);
  boost::asio::steady_timer timer_;
  Duration pause_{0};
  bool waiting_ = false;
};

}  // namespace sluice::noded
