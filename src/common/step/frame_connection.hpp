// A connection that carries frames both ways.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/steady_timer.hpp>

#include "common/step/frame.hpp"
#include "common/step/stream_connection.hpp"

namespace sluice {

class FrameConnection : public StreamConnection {
 public:
  struct Handlers {
    std::function<void(Frame)> on_frame;
    std::function<void()> on_closed;   // once: the peer went away or broke the protocol
    std::function<void()> on_drained;  // everything that was sent has left
  };

  // `socket` is connected. Frames longer than `max_frame` end the connection.
  [[nodiscard]] static std::shared_ptr<FrameConnection> make(
      Socket socket, uint32_t max_frame = protocol::kMaxFrameBytes);

  // Frames may be this long from now on.
  void allow_frames(uint32_t max_frame) { reader_.allow(max_frame); }
  // Before start(): what goes over it is encrypted by a key that both ends have.
  void secure(SecureStream::Side side, std::string_view secret);
  // Why no handshake came about, where it is for that that the connection is over; else empty.
  [[nodiscard]] const std::string& handshake_problem() const { return handshake_problem_; }
  // Starts reading. The connection lives until it is closed, then drops its handlers.
  void start(Handlers handlers);
  // No-op once closed.
  void send(protocol::FrameType type, uint32_t task, std::string_view body);
  // Frames that append_frame() made.
  void send_encoded(std::string_view frames);
  [[nodiscard]] bool is_open() const { return open_; }
  // It is over because the peer closed it, or ended: not because it could not be reached.
  [[nodiscard]] bool closed_by_peer() const { return closed_by_peer_; }
  // Stops and resumes handing frames out (and, after what was read already, reading).
  void pause();
  void resume();
  // Closes at once, without on_closed.
  void close();
  // Closes when everything was sent; on_closed follows.
  void finish();
  // The same for a peer that may be sending: says that no more comes, throws away what still
  // arrives, and closes when the peer does, or after 2 s. To close a socket with bytes that nobody
  // read resets the connection, and the peer would lose what was sent to it last.
  void finish_after_peer();
  [[nodiscard]] Socket& socket() { return stream_.socket(); }

 private:
  FrameConnection(Socket socket, uint32_t max_frame);
  [[nodiscard]] bool may_read() const override { return !paused_ || lingering_; }
  void on_bytes(std::string_view bytes) override;
  void on_error(const boost::system::error_code& error) override;
  void on_sent() override;
  void shake_hands();
  void hand_out();
  void all_sent();
  void linger();
  void fail();

  FrameReader reader_;
  Handlers handlers_;
  bool paused_ = false;
  bool finishing_ = false;
  bool after_peer_ = false;
  bool lingering_ = false;
  bool closed_by_peer_ = false;
  std::string handshake_problem_;
  boost::asio::steady_timer linger_timer_;
};

}  // namespace sluice
