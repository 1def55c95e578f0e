// What was posted to the engine and not taken yet. Reports of agents wait here while the journal
// writes: they would be durable no sooner, and those that came meanwhile are one frame then. So a
// storm of ends that come one by one is no more frames than the disk has commits. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

#include "common/base/time.hpp"
#include "ctld/engine/post.hpp"

namespace sluice::engine {

class Inbox {
 public:
  explicit Inbox(size_t most_waiting) : most_waiting_(most_waiting) {}

  // False, and the post is as it was: the inbox is closed, or the command begins something and too
  // much waits already.
  [[nodiscard]] bool put(Post& post);

  // Once or many times until the next take(), it is the same.
  void ask_tick();

  struct Taken {
    std::vector<Post> posts;  // all that waited, in its order
    bool tick_asked = false;
  };
  // Comes back when there is something to do, and then or after `longest` with everything.
  [[nodiscard]] Taken take(Duration longest);

  // A group is on its way to the journal; it is written, or cannot be.
  void note_sealed();
  void note_written();

  void close();
  [[nodiscard]] bool is_over() const;  // closed, and nothing waits

 private:
  [[nodiscard]] bool is_ready() const;  // with the mutex

  const size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<Post> waiting_;  // these are guarded by mutex_
  bool only_reports_ = true;   // in waiting_
  bool tick_asked_ = false;
  size_t unwritten_ = 0;  // groups
  bool closed_ = false;
};

}  // namespace sluice::engine
