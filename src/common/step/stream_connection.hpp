// A stream socket (TCP or Unix) that is read as its bytes come and written as fast as it takes
// them, on one io_context and its one thread: what ByteConnection and FrameConnection stand on.
#pragma once

#include <memory>
#include <string_view>

#include <boost/asio/generic/stream_protocol.hpp>

#include "common/step/secure_stream.hpp"
#include "common/step/send_queue.hpp"

namespace sluice {

class StreamConnection : public std::enable_shared_from_this<StreamConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  StreamConnection(const StreamConnection&) = delete;
  StreamConnection& operator=(const StreamConnection&) = delete;
  virtual ~StreamConnection() = default;
  [[nodiscard]] size_t queued_bytes() const { return queue_.size(); }

 protected:
  // At most `room` bytes are read at once.
  StreamConnection(Socket socket, size_t room);

  // Reads, again and again, as long as it may. No-op while it does.
  void read();
  // Writes what is queued. No-op while it does.
  void write();
  // Closes the socket at once; nothing below is called from here on.
  void shut();

  // Asked before each read.
  [[nodiscard]] virtual bool may_read() const = 0;
  virtual void on_bytes(std::string_view bytes) = 0;
  // A read or write failed, or the peer has ended the connection.
  virtual void on_error(const boost::system::error_code& error) = 0;
  // What was queued has left.
  virtual void on_sent() = 0;

  SecureStream stream_;
  SendQueue queue_;
  bool open_ = true;
  bool ready_ = false;  // neither a connection nor a handshake has to come about first

 private:
  size_t room_;
  std::unique_ptr<char[]> buffer_;
  bool reading_ = false;
  bool writing_ = false;
};

}  // namespace sluice
