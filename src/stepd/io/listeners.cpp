#include "stepd/io/listeners.hpp"

#include <algorithm>
#include <utility>

#include "common/step/io_proof.hpp"
#include "common/wire/codec.hpp"

namespace sluice::stepd {
namespace {

using boost::asio::ip::tcp;

constexpr size_t kCongestedBytes = 1U << 20;
constexpr size_t kTooSlowBytes = 16U << 20;  // a watcher this far behind is dropped
// What is sent again to who comes later. As in Slurm, whose messages have a kilobyte at most.
constexpr size_t kRecentFrames = 128;
constexpr size_t kRecentBytes = 128U << 10;
constexpr int64_t kMostWatchers = 64;
constexpr int64_t kMostUnproved = 16;  // of them
constexpr uint32_t kMostTries = 5;
constexpr auto kRetry = std::chrono::milliseconds(100);
constexpr std::chrono::seconds kOwnersProofTime = std::chrono::minutes(5);
constexpr std::chrono::seconds kWatchersProofTime(10);
constexpr auto kWatcherTime = std::chrono::seconds(5);  // to take the rest, once the step is over

// Numbers only, as srun sends them. To look up a name would keep orders waiting for as long as
// whoever answers for that name likes, and it is the user who gives it.
bool parse_endpoint(const IoEndpoint& endpoint, tcp::endpoint& out) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(endpoint.host, error);
  if (!error) out = tcp::endpoint(address, static_cast<uint16_t>(endpoint.port));
  return !error;
}

}  // namespace

Listeners::~Listeners() {
  for (const ListenerPtr& listener : listeners_) {
    if (listener->link) listener->link->close();  // its handlers hold the listener
  }
}

void Listeners::connect(const IoEndpoint& endpoint, bool with_stdin, bool owner) {
  if (!owner && !takes_a_watcher()) return;
  auto listener = std::make_shared<Listener>();
  listener->endpoint = endpoint;
  listener->with_stdin = with_stdin;
  listener->owner = owner;
  listener->timer = std::make_unique<boost::asio::steady_timer>(io_);
  if (!owner) {
    for (const std::string& frame : recent_) listener->backlog += frame;
  }
  listeners_.push_back(listener);
  wait_for_proof(listener);
  try_to_connect(listener);
}

// Each costs a connection and what waits for it, of a process that is not the user's.
bool Listeners::takes_a_watcher() const {
  const auto watchers =
      std::ranges::count_if(listeners_, [](const ListenerPtr& one) { return !one->owner; });
  const auto unproved = std::ranges::count_if(
      listeners_, [](const ListenerPtr& one) { return !one->owner && !one->accepted; });
  return watchers < kMostWatchers && unproved < kMostUnproved;
}

// An srun that its user has stopped may take its time; nothing is read from tasks meanwhile.
void Listeners::wait_for_proof(const ListenerPtr& listener) {
  listener->timer->expires_after(listener->owner ? kOwnersProofTime : kWatchersProofTime);
  listener->timer->async_wait([this, listener](const boost::system::error_code& error) {
    if (!error && !listener->accepted) drop(listener);
  });
}

void Listeners::try_to_connect(const ListenerPtr& listener) {
  ++listener->tries;
  listener->connecting = std::make_shared<tcp::socket>(io_);
  tcp::endpoint address;
  if (!parse_endpoint(listener->endpoint, address)) return drop(listener);
  // who has none proves nothing, and there is nothing to encrypt by
  if (listener->endpoint.key.empty()) return drop(listener);
  listener->connecting->async_connect(address,
                                      [this, listener](const boost::system::error_code& error) {
                                        if (error) return drop(listener);
                                        connected(listener);
                                      });
}

void Listeners::connected(const ListenerPtr& listener) {
  boost::system::error_code ignored;
  listener->connecting->set_option(tcp::no_delay(true), ignored);
  listener->connecting->set_option(boost::asio::socket_base::keep_alive(true), ignored);
  listener->link = FrameConnection::make(std::move(*listener->connecting), kMaxUnprovedFrame);
  if (encrypted_) listener->link->secure(SecureStream::Side::kConnected, listener->endpoint.key);
  listener->link->start(
      {[this, listener](const Frame& frame) { handle(listener, frame); },
       [this, listener] { listener->accepted ? drop(listener) : closed_early(listener); },
       [this] {
         if (!congested() && handlers_.on_room) handlers_.on_room();
       }});
  protocol::StepHello hello = hello_;
  hello.nonce = make_io_nonce();
  listener->hello = wire::encode(hello);
  listener->link->send(protocol::FrameType::kHello, kNoTask, listener->hello);
}

// An srun whose port is flooded may have taken us for one of those.
void Listeners::closed_early(const ListenerPtr& listener) {
  if (!listener->owner || listener->tries >= kMostTries || on_done_) {
    const std::string& problem = listener->link->handshake_problem();
    if (!problem.empty() && handlers_.on_stranger) {
      handlers_.on_stranger(listener->endpoint.host + ":" +
                            std::to_string(listener->endpoint.port) +
                            ", where srun listens: " + problem);
    }
    return drop(listener);
  }
  listener->link.reset();
  auto timer = std::make_shared<boost::asio::steady_timer>(io_, kRetry * listener->tries);
  timer->async_wait([this, listener, timer](const boost::system::error_code& error) {
    const bool wanted = std::ranges::find(listeners_, listener) != listeners_.end();
    if (!error && wanted) try_to_connect(listener);
  });
}

// Nothing of the step is told to who cannot prove that he has its key: it may be another one at a
// dead srun's port.
void Listeners::challenged(const ListenerPtr& listener, const Frame& frame) {
  const auto challenge = wire::decode<protocol::IoChallenge>(frame.body);
  const std::string& key = listener->endpoint.key;
  const bool proved =
      frame.type == protocol::FrameType::kChallenge && challenge &&
      is_io_proof(challenge->proof, IoSide::kSrun, key, listener->hello, challenge->nonce);
  if (!proved) {
    if (handlers_.on_stranger) {
      handlers_.on_stranger("who listens at " + listener->endpoint.host + ":" +
                            std::to_string(listener->endpoint.port) +
                            " does not know the step's key, and is told nothing");
    }
    return drop(listener);
  }
  listener->accepted = true;
  listener->timer->cancel();
  listener->link->allow_frames(protocol::kMaxFrameBytes);
  listener->link->send(protocol::FrameType::kProof, kNoTask,
                       io_proof(IoSide::kDaemon, key, listener->hello, challenge->nonce));
  listener->link->send_encoded(std::exchange(listener->backlog, {}));
  if (on_done_) listener->link->finish_after_peer();
  if (listener->owner && handlers_.on_settled) handlers_.on_settled();
}

void Listeners::handle(const ListenerPtr& listener, const Frame& frame) {
  if (!listener->accepted) return challenged(listener, frame);
  if (frame.type == protocol::FrameType::kStdin && !listener->with_stdin) return;
  const bool for_owner = frame.type == protocol::FrameType::kMpiPassed ||
                         frame.type == protocol::FrameType::kX11ToNode ||
                         frame.type == protocol::FrameType::kBegin;
  if (for_owner && !listener->owner) return;
  if (handlers_.on_frame) handlers_.on_frame(frame);
}

void Listeners::drop(const ListenerPtr& listener) {
  const auto place = std::find(listeners_.begin(), listeners_.end(), listener);
  if (place == listeners_.end()) return;
  listeners_.erase(place);
  if (listener->timer) listener->timer->cancel();
  boost::system::error_code ignored;
  if (listener->connecting) listener->connecting->close(ignored);
  if (listener->link) listener->link->close();
  if (listener->owner && !on_done_) {
    if (listener->accepted) {
      if (handlers_.on_lost) handlers_.on_lost(listener->link->closed_by_peer());
    } else if (handlers_.on_settled) {
      handlers_.on_settled();
    }
  }
  if (handlers_.on_room && !congested()) handlers_.on_room();
  if (listeners_.empty() && on_done_) return std::exchange(on_done_, nullptr)();
  drop_watchers_soon();
}

// One that never accepts, or takes nothing, would keep the step's daemon for ever.
void Listeners::drop_watchers_soon() {
  if (!on_done_ || has_owner()) return;
  watcher_timer_.expires_after(kWatcherTime);
  watcher_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const auto all = listeners_;
    for (const ListenerPtr& listener : all) drop(listener);
  });
}

// The newest is kept, however long it is.
void Listeners::remember(protocol::FrameType type, uint32_t task, std::string_view body) {
  const bool is_output =
      type == protocol::FrameType::kStdout || type == protocol::FrameType::kStderr;
  if (!is_output || body.empty()) return;
  append_frame(recent_.emplace_back(), type, task, body);
  recent_bytes_ += recent_.back().size();
  while (recent_.size() > 1 && (recent_.size() > kRecentFrames || recent_bytes_ > kRecentBytes)) {
    recent_bytes_ -= recent_.front().size();
    recent_.pop_front();
  }
}

void Listeners::send(protocol::FrameType type, uint32_t task, std::string_view body) {
  remember(type, task, body);
  const auto all = listeners_;  // drop() changes the list
  for (const ListenerPtr& listener : all) {
    if (!listener->accepted) {
      append_frame(listener->backlog, type, task, body);
      if (!listener->owner && listener->backlog.size() > kTooSlowBytes) drop(listener);
      continue;
    }
    listener->link->send(type, task, body);
    if (!listener->owner && listener->link->queued_bytes() > kTooSlowBytes) drop(listener);
  }
}

void Listeners::send_owner(protocol::FrameType type, uint32_t task, std::string_view body) {
  for (const ListenerPtr& listener : listeners_) {
    if (!listener->owner) continue;
    if (listener->accepted) {
      listener->link->send(type, task, body);
    } else {
      append_frame(listener->backlog, type, task, body);
    }
    return;
  }
}

bool Listeners::congested() const {
  return std::any_of(listeners_.begin(), listeners_.end(), [](const ListenerPtr& listener) {
    const size_t queued = listener->link ? listener->link->queued_bytes() : 0;
    return listener->owner && queued + listener->backlog.size() > kCongestedBytes;
  });
}

bool Listeners::has_owner() const {
  return std::any_of(listeners_.begin(), listeners_.end(),
                     [](const ListenerPtr& listener) { return listener->owner; });
}

void Listeners::pause_input() {
  for (const ListenerPtr& listener : listeners_) {
    if (listener->link && listener->with_stdin) listener->link->pause();
  }
}

void Listeners::resume_input() {
  const auto all = listeners_;
  for (const ListenerPtr& listener : all) {
    if (listener->link) listener->link->resume();
  }
}

void Listeners::finish(std::function<void()> on_done) {
  on_done_ = std::move(on_done);
  const auto all = listeners_;
  for (const ListenerPtr& listener : all) {
    if (listener->accepted) listener->link->finish_after_peer();
  }
  if (listeners_.empty() && on_done_) return std::exchange(on_done_, nullptr)();
  drop_watchers_soon();
}

}  // namespace sluice::stepd
