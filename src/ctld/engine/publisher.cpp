#include "ctld/engine/publisher.hpp"

#include <utility>

#include "common/base/thread_name.hpp"

namespace sluice::engine {

Publisher::Publisher(Published first, EffectSink sink, FrameSink frames)
    : holder_(std::make_shared<const Published>(std::move(first))),
      sink_(std::move(sink)),
      frames_(std::move(frames)),
      thread_([this] { run(); }) {}

Publisher::~Publisher() { stop(); }

void Publisher::publish(DurableGroup group) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(group));
  }
  wake_.notify_one();
}

void Publisher::answer(Answer answer) {
  DurableGroup group;
  group.answers.push_back(std::move(answer));
  publish(std::move(group));
}

void Publisher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Publisher::run() {
  name_thread("publisher");
  while (true) {
    std::deque<DurableGroup> groups;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      groups.swap(waiting_);
    }
    for (DurableGroup& group : groups) {
      if (group.published.state) holder_.set(std::make_shared<const Published>(group.published));
      const state::ClusterSnapshot state = holder_.get()->state;
      for (Answer& answer : group.answers) {
        if (answer.done) answer.done(answer.reply, state);
      }
      // it is logged before what it leads to
      if (!group.frames.empty() && frames_) frames_(std::move(group.frames), state);
      if (!group.effects.empty()) sink_(group.effects, state);
    }
  }
}

}  // namespace sluice::engine
