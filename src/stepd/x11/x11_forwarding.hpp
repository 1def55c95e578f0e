// The step daemon's side of X11 forwarding: the display of this node's tasks, if they have one, and
// srun, which has the user's own.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "common/base/result.hpp"
#include "stepd/io/audience.hpp"
#include "stepd/step_facts.hpp"
#include "stepd/step_plan.hpp"
#include "stepd/x11/x11_listener.hpp"

namespace sluice::stepd {

class X11Forwarding {
 public:
  X11Forwarding(boost::asio::io_context& io, const StepFacts& facts, Audience& audience)
      : io_(io), facts_(facts), audience_(audience) {}

  // Gives the tasks a display, where they are to have one. The error's text is for the user.
  [[nodiscard]] Status start(StepPlan& plan);
  // From the user's display; no bytes: it is over.
  void received(uint32_t connection, std::string_view bytes);
  // srun takes more again.
  void resume();
  void stop();

 private:
  boost::asio::io_context& io_;
  const StepFacts& facts_;
  Audience& audience_;
  std::unique_ptr<X11Listener> listener_;  // null: the tasks have no display through us
};

}  // namespace sluice::stepd
