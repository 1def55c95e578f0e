// The host's clocks, with alarms on an io_context.
#pragma once

#include <boost/asio/io_context.hpp>

#include "stepd/step_clock.hpp"

namespace sluice::stepd {

class EventClock final : public StepClock {
 public:
  explicit EventClock(boost::asio::io_context& io) : io_(io) {}
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override;
  [[nodiscard]] Time time() const override;
  [[nodiscard]] std::unique_ptr<Alarm> make_alarm() override;

 private:
  boost::asio::io_context& io_;
};

}  // namespace sluice::stepd
