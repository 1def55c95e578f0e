// The connections of a step's daemons to the srun (or sattach) that listens for them. Anybody can
// reach the port: who has not shown that he knows the step's key (step/io_proof.hpp) is told
// nothing, may send little, and has little time.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/result.hpp"
#include "common/model/step.hpp"
#include "common/step/frame_connection.hpp"

namespace sluice::cli {

class StepLink {
 public:
  enum class NodeState { kExpected, kConnected, kDone, kLost };
  struct Handlers {
    std::function<void(size_t node)> on_connected;
    std::function<void(size_t node, Frame)> on_frame;
    std::function<void(size_t node)> on_closed;  // after kNodeDone or without it; see state()
  };
  explicit StepLink(boost::asio::io_context& io)
      : io_(io), acceptor_(io), accept_timer_(io), stranger_timer_(io) {}

  // Connections that come from now on are (TLSType).
  void encrypt(bool encrypted) { encrypted_ = encrypted; }
  // How a step daemon's host is noticed that is silent without having closed its connection: it
  // was switched off, say. tcp(7): after `idle` it is asked every `interval`, and is lost after
  // `probes` questions without an answer.
  struct KeepAlive {
    std::chrono::seconds idle{60}, interval{30};
    int probes = 10;
  };
  void keep_alive(const KeepAlive& timing) { keep_alive_ = timing; }
  // Opens a port (of `range`, "60001-63000", or any) and makes a key; `host` is the address that is
  // told to the daemons; with `there_alone` (NoInAddrAny) they cannot come by another one.
  [[nodiscard]] Result<IoEndpoint> listen(const std::string& host, const std::string& range,
                                          bool there_alone);
  // Starts to take connections of this step's daemons; others are turned away. A step in several
  // components of a heterogeneous job has a part in each; nodes are counted through all of them.
  struct Part {
    StepId id;
    size_t nodes = 0;
  };
  void start(std::vector<Part> parts, const StepLayout& layout, Handlers handlers);
  void stop();

  [[nodiscard]] NodeState state(size_t node) const { return nodes_[node].state; }
  [[nodiscard]] bool all_connected() const;   // or gone already
  [[nodiscard]] bool all_over() const;        // done or lost
  [[nodiscard]] size_t queued_bytes() const;  // of the connection that is furthest behind

  void send_all(protocol::FrameType type, uint32_t task, std::string_view body);
  // To the daemon that runs this task.
  void send_task(protocol::FrameType type, uint32_t task, std::string_view body);
  // No-op for a node that is not connected.
  void send_node(size_t node, protocol::FrameType type, std::string_view body,
                 uint32_t task = kNoTask);
  // Marks a node that will never connect.
  void give_up(size_t node);

 private:
  struct Node {
    NodeState state = NodeState::kExpected;
    std::vector<uint32_t> tasks;
    std::shared_ptr<FrameConnection> connection;
  };
  // Somebody who has connected, until he is known.
  struct Stranger {
    std::shared_ptr<FrameConnection> connection;
    std::string address;
    std::chrono::steady_clock::time_point until;
    std::string hello;  // as it came
    std::string nonce;  // that he was sent
    size_t place = 0;   // where he says he is
  };
  void accept();
  void accept_later();
  void take(boost::asio::ip::tcp::socket socket);
  void make_room();
  void drop_late_ones();
  [[nodiscard]] std::list<Stranger>::iterator stranger_of(const FrameConnection* connection);
  void heard(const std::shared_ptr<FrameConnection>& connection, Frame frame);
  // False: he is none of ours.
  [[nodiscard]] bool challenge(Stranger& stranger, const Frame& frame);
  [[nodiscard]] bool believe(const Stranger& stranger, const Frame& frame);
  void received(size_t node, Frame frame);
  void closed(const FrameConnection* connection);
  // The position of a daemon's node; nullopt: no part of this step.
  [[nodiscard]] std::optional<size_t> place_of(StepId id, size_t node) const;

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer accept_timer_, stranger_timer_;
  std::list<Stranger> strangers_;  // the oldest first
  std::string key_;
  bool encrypted_ = false;
  KeepAlive keep_alive_;
  bool said_problem_ = false;
  std::vector<Part> parts_;
  std::vector<Node> nodes_;
  Handlers handlers_;
};

}  // namespace sluice::cli
