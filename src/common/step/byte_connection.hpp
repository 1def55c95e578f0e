// A stream socket (TCP or Unix) whose bytes are handed on as they come, both ways, on one
// io_context and its one thread: a connection of X11 forwarding, on either side.
// FrameConnection does not stand on it: all output of tasks goes there, framed where it waits to be
// sent, and another call for each read and write would save few lines.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string_view>

#include <boost/asio/generic/stream_protocol.hpp>

#include "common/step/send_queue.hpp"

namespace sluice {

class ByteConnection : public std::enable_shared_from_this<ByteConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  struct Handlers {
    std::function<void(std::string_view bytes)> on_bytes;
    std::function<void()> on_lost;      // once: the peer went away, or could not be reached
    std::function<void()> on_finished;  // once: after finish(), all was sent
    std::function<bool()> may_read{};   // asked before each read; without it always
  };

  // The handlers are kept until the connection and what it waits for are gone; none is called once
  // it is closed.
  [[nodiscard]] static std::shared_ptr<ByteConnection> make(Socket socket, Handlers handlers);

  // With a socket that is connected.
  void start();
  // With one that is not. What is sent meanwhile waits.
  void connect(const boost::asio::generic::stream_protocol::endpoint& place);
  void send(std::string_view bytes);
  [[nodiscard]] size_t queued_bytes() const { return queue_.size(); }
  // Ends the connection when everything was sent.
  void finish();
  // may_read may say something else now.
  void resume() { read(); }
  // At once, and without a word.
  void close();

 private:
  ByteConnection(Socket socket, Handlers handlers);
  void read();
  void write();
  void end(const std::function<void()>& handler);

  Socket socket_;
  Handlers handlers_;
  SendQueue queue_;
  bool open_ = true;
  bool connected_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool finishing_ = false;
  std::array<char, 32768>
      buffer_;  // not cleared: pages that nothing is read into are never touched
};

}  // namespace sluice
