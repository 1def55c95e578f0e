#include "stepd/process/daemon_signals.hpp"

#include <csignal>
#include <utility>

namespace sluice::stepd {

DaemonSignals::DaemonSignals(boost::asio::io_context& io, std::function<void()> on_children,
                             std::function<void()> on_stop)
    : child_(io, SIGCHLD),
      stop_(io, SIGTERM, SIGINT),
      on_children_(std::move(on_children)),
      on_stop_(std::move(on_stop)) {}

void DaemonSignals::listen() {
  wait_for_children();
  wait_for_stop();
}

void DaemonSignals::cancel() {
  child_.cancel();
  stop_.cancel();
}

void DaemonSignals::wait_for_children() {
  child_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    wait_for_children();
    on_children_();
  });
}

void DaemonSignals::wait_for_stop() {
  stop_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    wait_for_stop();
    on_stop_();
  });
}

}  // namespace sluice::stepd
