// The publisher: a thread that takes groups that became durable, in their order, publishes their
// snapshot, answers, and hands their effects on. It keeps replies off the journal's thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/snapshot_holder.hpp"
#include "ctld/journal/store.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/effects.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::engine {

// The state as of a durable frame.
struct Published {
  state::ClusterSnapshot state;
  journal::Sequence sequence = 0;
};

// `after`: the state in which the answer is true.
using Done = std::function<void(const Result<state::Reply>&, const state::ClusterSnapshot& after)>;

struct Answer {
  Done done;
  Result<state::Reply> reply;
};

// What one command led to, for the log.
struct LoggedFrame {
  Time time = kNoTime;
  // uid of who gave the command; UINT32_MAX: an agent, or the controller itself
  uint32_t by = UINT32_MAX;
  state::Events events;
};

// What becomes visible at once.
struct DurableGroup {
  Published published;  // no state: nothing new
  std::vector<Answer> answers;
  state::Effects effects;
  std::vector<LoggedFrame> frames;
};

// Carries effects out: must not block. Called on the publisher's thread, in order.
using EffectSink = std::function<void(const state::Effects&, const state::ClusterSnapshot&)>;

// Told what became durable, and the state then. On the publisher's thread, in order; must not
// block.
using FrameSink =
    std::function<void(std::vector<LoggedFrame>, const state::ClusterSnapshot& after)>;

class Publisher {
 public:
  Publisher(Published first, EffectSink sink, FrameSink frames = nullptr);
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;
  ~Publisher();  // stop()

  // The newest durable state. Any thread.
  [[nodiscard]] std::shared_ptr<const Published> newest() const { return holder_.get(); }

  void publish(DurableGroup group);  // any thread; the caller keeps the order
  void answer(Answer answer);        // any thread; one that needs nothing new to be durable
  void stop();                       // deals with what is waiting, then ends the thread

 private:
  void run();

  SnapshotHolder<Published> holder_;
  const EffectSink sink_;
  const FrameSink frames_;  // may be empty
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<DurableGroup> waiting_;  // guarded by mutex_
  bool stopping_ = false;             // guarded by mutex_
  std::thread thread_;
};

}  // namespace sluice::engine
