// The signals that a step daemon listens to: its children have ended, and it is to stop.
#pragma once

#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

namespace sluice::stepd {

class DaemonSignals {
 public:
  DaemonSignals(boost::asio::io_context& io, std::function<void()> on_children,
                std::function<void()> on_stop);

  // From now on both are called, each time.
  void listen();
  void cancel();

 private:
  void wait_for_children();
  void wait_for_stop();

  boost::asio::signal_set child_;
  boost::asio::signal_set stop_;
  std::function<void()> on_children_;
  std::function<void()> on_stop_;
};

}  // namespace sluice::stepd
