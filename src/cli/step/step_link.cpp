#include "cli/step/step_link.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>

#include "common/base/text.hpp"
#include "common/model/node.hpp"
#include "common/step/io_proof.hpp"
#include "common/wire/codec.hpp"

namespace sluice::cli {
namespace {

using boost::asio::ip::address_v4;
using boost::asio::ip::tcp;
using protocol::FrameType;

constexpr size_t kKeyBytes = 32;
constexpr size_t kMoreStrangers = 64;  // beside one for each node
constexpr auto kPatience = std::chrono::seconds(10);
constexpr auto kAcceptRetry = std::chrono::milliseconds(200);

bool bind_port(tcp::acceptor& acceptor, const address_v4& at, uint16_t port) {
  boost::system::error_code error;
  acceptor.open(tcp::v4(), error);
  if (!error) acceptor.bind(tcp::endpoint(at, port), error);
  if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  if (!error) return true;
  acceptor.close();
  return false;
}

bool bind_in_range(tcp::acceptor& acceptor, const address_v4& at, const std::string& range,
                   uint64_t random) {
  const size_t dash = range.find('-');
  const auto low = to_number<uint16_t>(range.substr(0, dash));
  const auto high = dash == std::string::npos ? low : to_number<uint16_t>(range.substr(dash + 1));
  if (!low || !high || *high < *low) return bind_port(acceptor, at, 0);
  const uint64_t count = uint64_t{*high} - *low + 1;
  for (uint64_t i = 0; i < count; ++i) {  // sruns of one host start at different places
    if (bind_port(acceptor, at, static_cast<uint16_t>(*low + (random + i) % count))) return true;
  }
  return false;
}

void ask_when_silent(tcp::socket& socket, const StepLink::KeepAlive& timing) {
  boost::system::error_code ignored;
  socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  const std::pair<int, int> options[] = {{TCP_KEEPIDLE, static_cast<int>(timing.idle.count())},
                                         {TCP_KEEPINTVL, static_cast<int>(timing.interval.count())},
                                         {TCP_KEEPCNT, timing.probes}};
  for (const auto& [name, value] : options)
    (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, name, &value, sizeof value);
}

}  // namespace

Result<IoEndpoint> StepLink::listen(const std::string& host, const std::string& range,
                                    bool there_alone) {
  key_.resize(kKeyBytes);
  uint64_t random = 0;
  if (getrandom(key_.data(), kKeyBytes, 0) != static_cast<ssize_t>(kKeyBytes) ||
      getrandom(&random, sizeof random, 0) != sizeof random) {
    return failure("no random numbers to be had");
  }
  boost::system::error_code bad;
  const address_v4 at =
      there_alone ? boost::asio::ip::make_address_v4(host, bad) : address_v4::any();
  if (bad) return failure("unable to listen for step daemons: " + host + " is no address of IPv4");
  const bool bound =
      range.empty() ? bind_port(acceptor_, at, 0) : bind_in_range(acceptor_, at, range, random);
  if (!bound) return failure("unable to listen for step daemons: no free port");
  return IoEndpoint{host, acceptor_.local_endpoint().port(), key_};
}

void StepLink::start(std::vector<Part> parts, const StepLayout& layout, Handlers handlers) {
  parts_ = std::move(parts);
  handlers_ = std::move(handlers);
  for (const StepNode& node : layout.nodes)
    nodes_.push_back({NodeState::kExpected, node.tasks, {}});
  accept();
}

void StepLink::stop() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  accept_timer_.cancel();
  stranger_timer_.cancel();
  for (const Stranger& stranger : strangers_) stranger.connection->close();
  strangers_.clear();
  for (Node& node : nodes_) {
    if (node.connection) node.connection->close();
  }
}

void StepLink::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (error) return accept_later();
    take(std::move(socket));
    accept();
  });
}

// No descriptor is free, say: who waits would be offered again at once, and again.
void StepLink::accept_later() {
  accept_timer_.expires_after(kAcceptRetry);
  accept_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && acceptor_.is_open()) accept();
  });
}

void StepLink::take(tcp::socket socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  ask_when_silent(socket, keep_alive_);
  const std::string address = socket.remote_endpoint(ignored).address().to_string();
  make_room();
  auto connection = FrameConnection::make(std::move(socket), kMaxUnprovedFrame);
  if (encrypted_) connection->secure(SecureStream::Side::kAccepted, key_);
  strangers_.push_back(
      {connection, address, std::chrono::steady_clock::now() + kPatience, {}, {}, 0});
  connection->start({[this, connection](Frame frame) { heard(connection, std::move(frame)); },
                     [this, raw = connection.get()] { closed(raw); }, nullptr});
  if (strangers_.size() == 1) drop_late_ones();
}

// Every node's daemon may come at once. Beyond that somebody floods the port: where most come from,
// the oldest makes room.
void StepLink::make_room() {
  if (strangers_.size() < nodes_.size() + kMoreStrangers) return;
  std::map<std::string, size_t> counts;
  for (const Stranger& stranger : strangers_) ++counts[stranger.address];
  const auto by_count = [](const auto& one, const auto& other) {
    return one.second < other.second;
  };
  const std::string most = std::ranges::max_element(counts, by_count)->first;
  const auto oldest = std::ranges::find(strangers_, most, &Stranger::address);
  oldest->connection->close();
  strangers_.erase(oldest);
}

void StepLink::drop_late_ones() {
  const auto now = std::chrono::steady_clock::now();
  while (!strangers_.empty() && strangers_.front().until <= now) {
    strangers_.front().connection->close();
    strangers_.pop_front();
  }
  if (strangers_.empty()) return;
  stranger_timer_.expires_at(strangers_.front().until);
  stranger_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) drop_late_ones();
  });
}

std::list<StepLink::Stranger>::iterator StepLink::stranger_of(const FrameConnection* connection) {
  return std::ranges::find_if(
      strangers_, [&](const Stranger& one) { return one.connection.get() == connection; });
}

void StepLink::closed(const FrameConnection* connection) {
  if (!connection->handshake_problem().empty() && !std::exchange(said_problem_, true)) {
    // once: anybody can come to the port
    std::fprintf(stderr, "%s: error: a connection to the step's port was refused: %s\n",
                 program_invocation_short_name, connection->handshake_problem().c_str());
  }
  if (const auto stranger = stranger_of(connection); stranger != strangers_.end()) {
    strangers_.erase(stranger);
    return;
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].connection.get() != connection || nodes_[i].state != NodeState::kConnected)
      continue;
    nodes_[i].state = NodeState::kLost;
    handlers_.on_closed(i);
  }
}

void StepLink::heard(const std::shared_ptr<FrameConnection>& connection, Frame frame) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].connection == connection) return received(i, std::move(frame));
  }
  const auto stranger = stranger_of(connection.get());
  if (stranger == strangers_.end()) return connection->close();
  if (stranger->hello.empty()) {
    if (challenge(*stranger, frame)) return;
    connection->close();
    strangers_.erase(stranger);
    return;
  }
  const bool known = believe(*stranger, frame);
  const size_t place = stranger->place;
  strangers_.erase(stranger);
  if (!known) return connection->close();
  connection->allow_frames(protocol::kMaxFrameBytes);
  Node& node = nodes_[place];
  if (node.connection) node.connection->close();  // it lost us and is back
  node.connection = connection;
  node.state = NodeState::kConnected;
  handlers_.on_connected(place);
}

bool StepLink::challenge(Stranger& stranger, const Frame& frame) {
  const Result<protocol::StepHello> hello = wire::decode<protocol::StepHello>(frame.body);
  const bool speaks =
      frame.type == FrameType::kHello && hello && hello->nonce.size() == kIoNonceBytes;
  const auto place = speaks ? place_of(hello->key.id, hello->node_index) : std::nullopt;
  if (!place) return false;
  stranger.hello = frame.body;
  stranger.place = *place;
  stranger.nonce = make_io_nonce();
  const protocol::IoChallenge challenge{
      stranger.nonce, io_proof(IoSide::kSrun, key_, stranger.hello, stranger.nonce)};
  stranger.connection->send(FrameType::kChallenge, kNoTask, wire::encode(challenge));
  return true;
}

bool StepLink::believe(const Stranger& stranger, const Frame& frame) {
  return frame.type == FrameType::kProof &&
         is_io_proof(frame.body, IoSide::kDaemon, key_, stranger.hello, stranger.nonce);
}

std::optional<size_t> StepLink::place_of(StepId id, size_t node) const {
  size_t first = 0;
  for (const Part& part : parts_) {
    if (part.id == id) return node < part.nodes ? std::optional(first + node) : std::nullopt;
    first += part.nodes;
  }
  return std::nullopt;
}

void StepLink::received(size_t node, Frame frame) {
  if (frame.type == FrameType::kNodeDone) nodes_[node].state = NodeState::kDone;
  const bool done = frame.type == FrameType::kNodeDone;
  handlers_.on_frame(node, std::move(frame));
  if (done) handlers_.on_closed(node);
}

void StepLink::give_up(size_t node) {
  if (nodes_[node].state == NodeState::kExpected) nodes_[node].state = NodeState::kLost;
}

bool StepLink::all_connected() const {
  return std::none_of(nodes_.begin(), nodes_.end(),
                      [](const Node& node) { return node.state == NodeState::kExpected; });
}

bool StepLink::all_over() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.state == NodeState::kDone || node.state == NodeState::kLost;
  });
}

size_t StepLink::queued_bytes() const {
  size_t most = 0;
  for (const Node& node : nodes_) {
    if (node.state == NodeState::kConnected) most = std::max(most, node.connection->queued_bytes());
  }
  return most;
}

void StepLink::send_all(FrameType type, uint32_t task, std::string_view body) {
  for (Node& node : nodes_) {
    if (node.state == NodeState::kConnected) node.connection->send(type, task, body);
  }
}

void StepLink::send_task(FrameType type, uint32_t task, std::string_view body) {
  for (Node& node : nodes_) {
    if (node.state == NodeState::kConnected &&
        std::find(node.tasks.begin(), node.tasks.end(), task) != node.tasks.end()) {
      node.connection->send(type, task, body);
    }
  }
}

void StepLink::send_node(size_t node, FrameType type, std::string_view body, uint32_t task) {
  if (nodes_[node].state != NodeState::kConnected) return;
  nodes_[node].connection->send(type, task, body);
}

}  // namespace sluice::cli
