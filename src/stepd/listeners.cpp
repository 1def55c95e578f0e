#include "stepd/listeners.hpp"

#include <algorithm>
#include <utility>

#include "common/wire/codec.hpp"

namespace sluice::stepd {
namespace {

using boost::asio::ip::tcp;

constexpr size_t kCongestedBytes = 1U << 20;
constexpr size_t kTooSlowBytes = 16U << 20;  // a watcher this far behind is dropped
constexpr auto kWatcherTime = std::chrono::seconds(5);  // to take the rest, once the step is over

// Numbers only, as srun sends them. To look up a name would keep orders waiting for as long as whoever answers for that
// name likes, and it is the user who gives it.
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
  auto listener = std::make_shared<Listener>();
  listener->endpoint = endpoint;
  listener->with_stdin = with_stdin;
  listener->owner = owner;
  listener->connecting = std::make_shared<tcp::socket>(io_);
  listeners_.push_back(listener);
  tcp::endpoint address;
  if (!parse_endpoint(endpoint, address)) return drop(listener);
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
  listener->link = FrameConnection::make(std::move(*listener->connecting));
  listener->link->start({[this, listener](const Frame& frame) { handle(listener, frame); },
                         [this, listener] { drop(listener); },
                         [this] {
                           if (!congested() && handlers_.on_room) handlers_.on_room();
                         }});
  protocol::StepHello hello = hello_;
  hello.io_key = listener->endpoint.key;
  listener->link->send(protocol::FrameType::kHello, kNoTask, wire::encode(hello));
}

void Listeners::handle(const ListenerPtr& listener, const Frame& frame) {
  if (frame.type == protocol::FrameType::kAccepted) {
    if (std::exchange(listener->accepted, true)) return;
    listener->link->send_encoded(std::exchange(listener->backlog, {}));
    if (on_done_) listener->link->finish_after_peer();
    if (listener->owner && handlers_.on_settled) handlers_.on_settled();
    return;
  }
  if (!listener->accepted) return;
  if (frame.type == protocol::FrameType::kStdin && !listener->with_stdin) return;
  const bool for_owner = frame.type == protocol::FrameType::kMpiPassed || frame.type == protocol::FrameType::kX11ToNode ||
                         frame.type == protocol::FrameType::kBegin;
  if (for_owner && !listener->owner) return;
  if (handlers_.on_frame) handlers_.on_frame(frame);
}

void Listeners::drop(const ListenerPtr& listener) {
  const auto place = std::find(listeners_.begin(), listeners_.end(), listener);
  if (place == listeners_.end()) return;
  listeners_.erase(place);
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

void Listeners::send(protocol::FrameType type, uint32_t task, std::string_view body) {
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

void Listeners::send_owner(protocol::FrameType type, std::string_view body, uint32_t task) {
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
    return listener->owner && listener->link && listener->link->queued_bytes() > kCongestedBytes;
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
