#include "stepd/event_clock.hpp"

#include <utility>

#include <boost/asio/steady_timer.hpp>

namespace sluice::stepd {
namespace {

class EventAlarm final : public Alarm {
 public:
  explicit EventAlarm(boost::asio::io_context& io) : timer_(io) {}
  void set(Duration after, std::function<void()> then) override {
    timer_.expires_after(after);
    timer_.async_wait([then = std::move(then)](const boost::system::error_code& error) {
      if (!error) then();
    });
  }
  void cancel() override { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
};

}  // namespace

std::chrono::steady_clock::time_point EventClock::now() const {
  return std::chrono::steady_clock::now();
}

Time EventClock::time() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

std::unique_ptr<Alarm> EventClock::make_alarm() { return std::make_unique<EventAlarm>(io_); }

}  // namespace sluice::stepd
