// The journal's thread: takes sealed groups in order, writes what is waiting as one transaction,
// and says for each group, in order, when it is durable. While the disk is full it holds what it
// has and tries again; nothing is lost or rolled back.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "ctld/journal/store.hpp"

namespace sluice::journal {

struct GroupCommitOptions {
  std::chrono::milliseconds retry_interval{500};   // between tries while there is no room
  size_t max_transaction_bytes = size_t{8} << 20;  // about; a larger group still goes in one piece
  // Told on the journal's thread when storage_full() changes; the text says why (empty: room
  // again).
  std::function<void(bool full, const std::string& why)> on_storage_change;
};

class GroupCommit {
 public:
  // Called on the journal's thread, once per group, in the order of submit(). The value is the last
  // sequence of the transaction that holds the group. An error means that the journal cannot be
  // used any more, or (kStorageFull) that stop() came while there was no room.
  using OnDurable = std::function<void(const Result<Sequence>&)>;

  // `store` outlives this.
  explicit GroupCommit(JournalStore& store, GroupCommitOptions options = {});
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;
  ~GroupCommit();

  // Never blocks on the disk. Must not be called after stop().
  void submit(FrameGroup group, OnDurable on_durable);

  // True while the reserve of room is in use or a group cannot be written: refuse new commands.
  bool storage_full() const { return storage_full_; }

  // Groups that are not durable yet.
  size_t backlog() const;

  // Writes everything that was submitted, calls back, and ends the thread. Idempotent.
  void stop();

 private:
  struct Waiting {
    FrameGroup group;
    OnDurable on_durable;
  };

  void run();
  // Moves what is waiting, up to a transaction's size, into one group.
  std::deque<Waiting> take_batch();
  // Returns only when the group is written or cannot be.
  Result<Sequence> write(const FrameGroup& group);
  // Waits for `interval` or stop(); true when stopping.
  bool pause(std::chrono::milliseconds interval);
  void set_storage_full(bool full, const std::string& why);

  JournalStore& store_;
  const GroupCommitOptions options_;
  std::atomic<bool> storage_full_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;  // guarded by mutex_
  size_t in_flight_ = 0;         // guarded by mutex_
  bool stopping_ = false;        // guarded by mutex_

  std::thread thread_;  // last: starts when all else is there
};

}  // namespace sluice::journal
