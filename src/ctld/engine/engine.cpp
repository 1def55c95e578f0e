#include "ctld/engine/engine.hpp"

#include <utility>

#include "common/base/check.hpp"
#include "common/log/log.hpp"
#include "ctld/engine/gather.hpp"
#include "ctld/engine/new_work.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/react.hpp"

namespace sluice::engine {
struct Engine::Group {
  journal::FrameGroup frames;
  std::vector<Answer> answers;
  state::Effects effects;
};

Engine::Engine(EngineOptions options,
               state::ClusterState state,
               journal::Sequence last,
               journal::GroupCommit& commit,
               Publisher& publisher)
    : options_(std::move(options)),
      state_(std::move(state)),
      sequence_(last),
      next_tick_(options_.clock() + options_.tick),
      commit_(commit),
      publisher_(publisher),
      thread_([this] { run(); }) {}

Engine::~Engine() { stop(); }

void Engine::post(Post post) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ && (inbox_.size() < options_.most_waiting || !is_new_work(post.command))) {
      inbox_.push_back(std::move(post));
      if (inbox_.size() == 1) wake_.notify_one();
      return;
    }
  }
  if (post.done) post.done(failure(ErrorCode::kRetry), publisher_.newest()->state);
}

void Engine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// A clock that was set back would put the next tick off for as long.
bool Engine::is_tick_due(Time now) const { return now >= next_tick_ || next_tick_ - now > options_.tick; }

std::vector<Post> Engine::wait_for_posts() {
  const Time now = options_.clock();
  const Duration left = is_tick_due(now) ? Duration(0) : next_tick_ - now;
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, left, [this] { return stopping_ || !inbox_.empty(); });
  return std::exchange(inbox_, {});
}

void Engine::run() {
  while (true) {
    std::vector<Post> posts = gather_reports(wait_for_posts());
    Group group;
    const Time now = options_.clock();
    for (Post& post : posts) obey(post, now, group);
    if (is_tick_due(now)) {
      Post tick{state::Tick{}, {}, {}};
      obey(tick, now, group);
      next_tick_ = now + options_.tick;
    }
    if (!group.frames.frames.empty() || !group.answers.empty()) seal(std::move(group));
    const std::lock_guard lock(mutex_);
    if (stopping_ && inbox_.empty()) return;
  }
}

bool Engine::refuse(const Post& post) const {
  return commit_.storage_full() && is_new_work(post.command);
}

void Engine::obey(Post& post, Time now, Group& group) {
  if (refuse(post)) {
    // Nothing happened, so the answer waits for no journal: that may have no room for hours.
    publisher_.answer({std::move(post.done), failure(ErrorCode::kStorageFull)});
    return;
  }
  Result<state::Decision> decision = state::decide(state_, post.command, now);
  if (!decision) {
    group.answers.push_back({std::move(post.done), tl::unexpected(std::move(decision.error()))});
    return;
  }
  if (!decision->events.empty()) {
    const state::Events events = std::move(decision->events);
    group.frames.frames.push_back(journal::encode_frame(++sequence_, now, events));
    for (journal::Blob& blob : post.blobs) group.frames.blobs.push_back(std::move(blob));
    for (const state::Event& event : events) {
      state::apply(state_, event);
      counts_.note(state_, event);
    }
    if (options_.on_events) options_.on_events(state_, events);
    for (state::Effect& effect : state::react(state_, events)) group.effects.push_back(std::move(effect));
  }
  for (state::Effect& effect : decision->effects) group.effects.push_back(std::move(effect));
  if (post.done) group.answers.push_back({std::move(post.done), std::move(decision->reply)});
}

void Engine::seal(Group group) {
  // Shared: a std::function must be copyable.
  auto durable = std::make_shared<DurableGroup>();
  durable->published = {std::make_shared<const state::ClusterState>(state_), sequence_};
  durable->answers = std::move(group.answers);
  durable->effects = std::move(group.effects);
  commit_.submit(std::move(group.frames), [this, durable](const Result<journal::Sequence>& written) {
    if (!written) {
      // The state holds what the journal does not: this process must not answer anything any more.
      log::error("the journal cannot be written: {}", written.error().text);
      if (written.error().code != ErrorCode::kStorageFull) check_failed(__FILE__, __LINE__, "journal");
      return;
    }
    publisher_.publish(std::move(*durable));
  });
}

}  // namespace sluice::engine
