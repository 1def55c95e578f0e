// What the log tells of a cluster at its usual level: each durable event as a line, in the words of
// Slurm's controller. One place, so that no event is forgotten: the visitor in event_log.cpp does
// not compile without a line, or a word why there is none.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "common/log/log.hpp"
#include "ctld/engine/publisher.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::ctld {

// The lines of one event up to the level `most`. `by`: uid of who gave the command, UINT32_MAX for
// nobody. `before` and `after`: the state before the event or somewhat earlier, and with it or
// somewhat later.
struct EventMoment {
  const state::ClusterState& before;
  const state::ClusterState& after;
  uint32_t by = UINT32_MAX;
  log::Level most = log::Level::kInfo;
  Time time = kNoTime;  // when it was decided
  Duration took{};      // until it was durable
};
[[nodiscard]] std::vector<log::Line> log_lines(const EventMoment& moment,
                                               const state::Event& event);

// Of lines with the same text the first one alone, with how often it was there.
[[nodiscard]] std::vector<log::Line> lines_once(std::vector<log::Line> lines);

// "17", "6_1(17)" of an array task, "12+1(13)" of a component of a heterogeneous job; with `JobId=`
// before it.
[[nodiscard]] std::string job_id_text(const state::ClusterState& state, JobId job);

// Writes the lines on a thread of its own, so that neither the engine nor who waits for an answer
// pays for them. What others log meanwhile comes behind what happened before it, as long as that is
// not very much.
class EventLog {
 public:
  explicit EventLog(state::ClusterSnapshot now);
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog();  // stop()

  // Any thread, in the order in which things happened; never blocks.
  void note(std::vector<engine::LoggedFrame> frames, const state::ClusterSnapshot& after);
  void stop();  // writes what is waiting, then ends the thread

 private:
  struct Batch {
    std::vector<engine::LoggedFrame> frames;
    state::ClusterSnapshot after;
    Time durable;
  };
  void run();
  [[nodiscard]] bool write_waiting();  // false: nothing waited
  void write(const Batch& batch);      // with writing_
  void catch_up();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Batch> waiting_;  // these are guarded by mutex_
  size_t waiting_events_ = 0;
  size_t left_out_ = 0;  // events that came while too many waited
  bool stopping_ = false;
  std::mutex writing_;             // taken before mutex_
  state::ClusterSnapshot before_;  // guarded by writing_
  std::thread thread_;
};

}  // namespace sluice::ctld
