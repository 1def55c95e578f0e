// A connected stream socket of a step, whose bytes go as they are, or encrypted (TLSType=tls/s2n).
// It is TLS 1.3, with a key that comes of the secret which both ends have (IoEndpoint::key) in the
// place of certificates: who does not have it cannot shake hands, on either side, and the secret
// itself is never sent. OpenSSL is set up at the first such connection, so that where nothing is
// encrypted it costs nothing.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

namespace sluice {

class SecureStream {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Done = std::function<void(const boost::system::error_code&, size_t)>;
  enum class Side { kConnected, kAccepted };  // who made the connection

  // Sets OpenSSL up ahead, by a handshake of this process with itself: the first one takes some
  // milliseconds, those behind it less than one.
  static void prepare();

  explicit SecureStream(Socket socket);
  SecureStream(const SecureStream&) = delete;
  SecureStream& operator=(const SecureStream&) = delete;
  ~SecureStream();

  // From here on all is encrypted. Before anything is read or written; then shake_hands(), and
  // nothing else until that is done.
  void secure(Side side, std::string_view secret);
  [[nodiscard]] bool is_secured() const { return tls_ != nullptr; }
  // As below, the stream has to be there until `done` is called.
  void shake_hands(std::function<void(const boost::system::error_code&)> done);

  template <class Handler>
  void read_some(boost::asio::mutable_buffer room, Handler&& handler) {
    if (tls_ != nullptr) read_secured(room, Done(std::forward<Handler>(handler)));
    else socket_.async_read_some(room, std::forward<Handler>(handler));
  }
  template <class Handler>
  void write_some(boost::asio::const_buffer bytes, Handler&& handler) {
    if (tls_ != nullptr) write_secured(bytes, Done(std::forward<Handler>(handler)));
    else socket_.async_write_some(bytes, std::forward<Handler>(handler));
  }
  [[nodiscard]] Socket& socket() { return socket_; }
  // The peer has ended the connection, and it is no fault of the network.
  [[nodiscard]] static bool ended_by_peer(const boost::system::error_code& error);
  // Why shake_hands() failed, in words.
  [[nodiscard]] static const char* why_no_handshake(const boost::system::error_code& error);

 private:
  struct Tls;
  void read_secured(boost::asio::mutable_buffer room, Done done);
  void write_secured(boost::asio::const_buffer bytes, Done done);

  Socket socket_;
  std::unique_ptr<Tls> tls_;  // null: as they are
};

}  // namespace sluice
