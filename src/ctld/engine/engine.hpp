// The engine: the one thread that owns ClusterState. It drains its inbox, decides and applies,
// commits what happened into a group, and hands that to the journal; when the group is durable its
// snapshot is published, then its replies and effects go out. So nothing that was acknowledged is
// ever lost, and who was answered finds the answer true.
//
//   engine.post({.command = SubmitJob{…}, .blobs = …, .done = [](const Result<Reply>&, …) {…}});
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "ctld/engine/event_counts.hpp"
#include "ctld/engine/event_recorder.hpp"
#include "ctld/engine/inbox.hpp"
#include "ctld/engine/post.hpp"
#include "ctld/engine/publisher.hpp"
#include "common/base/snapshot_holder.hpp"
#include "ctld/engine/tick_timer.hpp"
#include "ctld/journal/group_commit.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/commands.hpp"
#include "ctld/state/messages/effects.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::engine {

using Clock = std::function<Time()>;

struct EngineOptions {
  Clock clock;
  Duration tick = std::chrono::seconds(1);  // how often a Tick is decided when nothing asks for one
  size_t most_waiting = 200'000;            // posts; beyond it new work is refused with kRetry
  // After a start: what would give a job id waits until open_job_ids(), but no longer than this. 0:
  // nothing waits.
  Duration job_ids_wait{0};
  // Told what one command led to, on the engine's thread before it is durable: for the log. May be
  // empty.
  std::function<void(const state::ClusterState& after, const state::Events&)> on_events = nullptr;
  EventRecorder* recorder = nullptr;  // outlives the engine; null: nothing is recorded
};

class Engine {
 public:
  // `commit`, `publisher` outlive this. `last` is the last durable sequence; `state` the state
  // after it.
  Engine(EngineOptions options, state::ClusterState state, journal::Sequence last,
         journal::GroupCommit& commit, Publisher& publisher);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();  // stop()

  // Any thread; never blocks on work or disk. After stop() the post is answered kRetry.
  void post(Post post);

  // A Tick is decided soon: at once, unless there have just been others. Any thread; never blocks.
  void ask_tick();

  // All nodes that can have said by now which job ids they know. Any thread; never blocks.
  void open_job_ids();

  [[nodiscard]] EventCounts& counts() { return counts_; }

  // Decides what is in the inbox, then ends the thread. Idempotent.
  void stop();

 private:
  struct Group;  // what one turn commits
  void run();
  void tick(Time now, Group& group);
  void execute(Post& post, Time now, Group& group);
  void apply(const state::Events& events, Time now);
  void commit_batch(Group group);
  [[nodiscard]] ErrorCode refusal(const Post& post) const;  // kOk: it is taken
  void note_refusal(const state::Command& command, ErrorCode code);
  [[nodiscard]] bool job_ids_open() const;
  void wait_for_job_ids(Post post, Group& group);

  const EngineOptions options_;
  state::ClusterState state_;   // of the engine's thread alone
  journal::Sequence sequence_;  // likewise
  TickTimer ticks_;             // likewise
  uint64_t tick_number_ = 0;    // likewise
  uint64_t refused_ = 0;        // likewise: commands of users
  journal::GroupCommit& commit_;
  Publisher& publisher_;
  EventCounts counts_;
  std::vector<Post> unnumbered_;  // of the engine's thread alone: would give job ids
  // they are given from then on, whatever nodes say
  const std::chrono::steady_clock::time_point job_ids_from_;
  std::atomic<bool> job_ids_open_;

  const std::shared_ptr<Inbox> inbox_;  // the journal's thread knows it, too, and may outlive this
  std::thread thread_;                  // last: starts when all else is there
};

}  // namespace sluice::engine
