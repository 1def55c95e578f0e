#include "stepd/agent_link.hpp"

#include <utility>

namespace sluice::stepd {

using boost::asio::local::stream_protocol;

namespace {
constexpr auto kAcceptRetry = std::chrono::milliseconds(200);
}  // namespace

AgentLink::AgentLink(boost::asio::io_context& io, int started_with,
                     std::function<void(const Frame&)> on_frame, std::function<void()> on_agent)
    : io_(io),
      acceptor_(io),
      accept_timer_(io),
      on_frame_(std::move(on_frame)),
      on_agent_(std::move(on_agent)) {
  adopt(stream_protocol::socket(io, stream_protocol(), started_with));
}

void AgentLink::adopt(FrameConnection::Socket socket) {
  if (link_) link_->close();
  link_ = FrameConnection::make(std::move(socket));
  link_->start({[this](const Frame& frame) { on_frame_(frame); },
                [this] {
                  link_.reset();
                  if (on_done_) std::exchange(on_done_, nullptr)();
                },
                nullptr});
}

void AgentLink::listen(int socket) {
  acceptor_.assign(stream_protocol(), socket);
  accept();
}

void AgentLink::accept() {
  acceptor_.async_accept(
      [this](const boost::system::error_code& error, stream_protocol::socket socket) {
        if (error == boost::asio::error::operation_aborted || !acceptor_.is_open()) return;
        if (error) return accept_later();
        adopt(std::move(socket));
        on_agent_();
        accept();
      });
}

// No descriptor is free, say. An agent that is never answered would hold the step for one that
// runs.
void AgentLink::accept_later() {
  accept_timer_.expires_after(kAcceptRetry);
  accept_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) accept();
  });
}

void AgentLink::send(protocol::FrameType type, std::string_view body) {
  if (link_) link_->send(type, kNoTask, body);
}

void AgentLink::finish(std::function<void()> on_done) {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  accept_timer_.cancel();
  if (!link_) return on_done();
  on_done_ = std::move(on_done);
  link_->finish();
}

}  // namespace sluice::stepd
