// A connection whose bytes are handed on as they come, both ways: one of X11 forwarding, on either
// side.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "common/step/stream_connection.hpp"

namespace sluice {

class ByteConnection : public StreamConnection {
 public:
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
  // Ends the connection when everything was sent.
  void finish();
  // may_read may say something else now.
  void resume() { read(); }
  // At once, and without a word.
  void close() { shut(); }

 private:
  ByteConnection(Socket socket, Handlers handlers);
  [[nodiscard]] bool may_read() const override;
  void on_bytes(std::string_view bytes) override { handlers_.on_bytes(bytes); }
  void on_error(const boost::system::error_code& error) override;
  void on_sent() override;
  void end(const std::function<void()>& handler);

  Handlers handlers_;
  bool finishing_ = false;
};

}  // namespace sluice
