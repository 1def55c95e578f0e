// The step daemon's side of its node agent: the connection it was started with, then the Unix
// socket by which a restarted agent finds it again. One agent at a time, the latest.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/step/frame_connection.hpp"
#include "common/step/step_spool.hpp"

namespace sluice::stepd {

class AgentLink {
 public:
  // `started_with` is the inherited socket. `on_agent` is called for each agent that connects
  // later.
  AgentLink(boost::asio::io_context& io, int started_with,
            std::function<void(const Frame&)> on_frame, std::function<void()> on_agent);

  // Takes connections from now on; `socket` is bound and listening.
  void listen(int socket);
  // Lost when no agent is there.
  void send(protocol::FrameType type, std::string_view body);
  // Stops taking connections, and closes the one there is once all is sent; then `on_done`.
  void finish(std::function<void()> on_done);

 private:
  void adopt(FrameConnection::Socket socket);
  void accept();
  void accept_later();

  boost::asio::io_context& io_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  boost::asio::steady_timer accept_timer_;
  std::function<void(const Frame&)> on_frame_;
  std::function<void()> on_agent_;
  std::shared_ptr<FrameConnection> link_;
  std::function<void()> on_done_;
};

}  // namespace sluice::stepd
