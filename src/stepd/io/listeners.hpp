// The sruns and sattaches that watch a step: connections out to them, what goes to all of them, and
// what comes from those that may give input.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/protocol/stepd.hpp"
#include "common/step/frame_connection.hpp"
#include "stepd/io/audience.hpp"

namespace sluice::stepd {

class Listeners final : public Audience {
 public:
  struct Handlers {
    // kStdin, kWindowSize, kSignalTasks, kMpiPassed, kX11ToNode, kBegin
    std::function<void(const Frame&)> on_frame;
    std::function<void()> on_settled;  // the step's own srun has accepted us, or is out of reach
    // it was there and went away; `ended`: not by a fault of the network
    std::function<void(bool ended)> on_lost;
    std::function<void()> on_room;  // congested() ended
    // who listens there does not know the step's key
    std::function<void(const std::string& text)> on_stranger{};
  };
  Listeners(boost::asio::io_context& io, protocol::StepHello hello, Handlers handlers)
      : io_(io), hello_(std::move(hello)), handlers_(std::move(handlers)) {}
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;
  ~Listeners() override;

  // Connections that are made from now on are (TLSType).
  void encrypt(bool encrypted) { encrypted_ = encrypted; }
  // Starts a connection; what is sent meanwhile follows once it has shown that it knows the step's
  // key (step/io_proof.hpp). `owner` is the srun that made the step. Of watchers there are so many
  // and no more: others are not heard. Each begins with what the tasks wrote last.
  void connect(const IoEndpoint& endpoint, bool with_stdin, bool owner);
  void send(protocol::FrameType type, uint32_t task, std::string_view body) override;
  void send_owner(protocol::FrameType type, uint32_t task, std::string_view body) override;
  [[nodiscard]] bool congested() const override;
  [[nodiscard]] bool has_owner() const override;
  void pause_input() override;
  void resume_input() override;
  // Closes every connection once all is sent, then calls `on_done`. The owner has as long as it
  // takes, watchers without one a few seconds.
  void finish(std::function<void()> on_done);

 private:
  struct Listener {
    IoEndpoint endpoint;
    bool with_stdin = false;
    bool owner = false;
    bool accepted = false;  // it knows the key
    uint32_t tries = 0;
    std::string hello;                                 // as it was sent
    std::string backlog;                               // encoded frames sent before it was accepted
    std::unique_ptr<boost::asio::steady_timer> timer;  // for its proof, or before it is tried again
    std::shared_ptr<boost::asio::ip::tcp::socket> connecting;
    std::shared_ptr<FrameConnection> link;
  };
  using ListenerPtr = std::shared_ptr<Listener>;
  void try_to_connect(const ListenerPtr& listener);
  void connected(const ListenerPtr& listener);
  void challenged(const ListenerPtr& listener, const Frame& frame);
  void closed_early(const ListenerPtr& listener);
  void wait_for_proof(const ListenerPtr& listener);
  [[nodiscard]] bool takes_a_watcher() const;
  void handle(const ListenerPtr& listener, const Frame& frame);
  void drop(const ListenerPtr& listener);
  void drop_watchers_soon();
  void remember(protocol::FrameType type, uint32_t task, std::string_view body);

  boost::asio::io_context& io_;
  protocol::StepHello hello_;
  Handlers handlers_;
  bool encrypted_ = false;
  std::vector<ListenerPtr> listeners_;
  std::deque<std::string> recent_;  // encoded frames of output, oldest first
  size_t recent_bytes_ = 0;
  std::function<void()> on_done_;
  boost::asio::steady_timer watcher_timer_{io_};
};

}  // namespace sluice::stepd
