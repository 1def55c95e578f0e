// The journal's thread: takes sealed groups in order, writes what is waiting as one transaction,
// and says for each group, in order, when it is durable. While the disk is full, or another process
// has the journal locked, it holds what it has and tries again; nothing is lost or rolled back.
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
  std::chrono::milliseconds retry_interval{500};  // between tries while it cannot be written
  // between looks at whether the store is still there, where nothing is written
  std::chrono::milliseconds look_interval{30'000};
  size_t max_transaction_bytes = size_t{8} << 20;  // about; a larger group still goes in one piece
  // Told on the journal's thread when trouble() comes or goes; the text says why (empty: it is
  // gone).
  std::function<void(ErrorCode trouble, const std::string& why)> on_storage_change;
};

class GroupCommit {
 public:
  // Called on the journal's thread, once per group, in the order of submit(). The value is the last
  // sequence of the transaction that holds the group. An error means that the journal cannot be
  // used any more, or (kStorageFull, kRetry) that stop() came while it could not be written.
  using OnDurable = std::function<void(const Result<Sequence>&)>;

  // `store` outlives this.
  explicit GroupCommit(JournalStore& store, GroupCommitOptions options = {});
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;
  ~GroupCommit();

  // Never blocks on the disk. Must not be called after stop().
  void submit(FrameGroup group, OnDurable on_durable);

  // Other than kOk new commands are to be refused with it: kStorageFull while the reserve of room
  // is in use or there is none at all, kRetry while another process has the journal locked,
  // or it is not where it was opened.
  ErrorCode trouble() const { return trouble_; }

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
  // At what may have changed since the last transaction.
  void look();
  // Returns only when the group is written or cannot be.
  Result<Sequence> write(const FrameGroup& group);
  // Waits for `interval` or stop(); true when stopping.
  bool pause(std::chrono::milliseconds interval);
  void set_trouble(ErrorCode trouble, const std::string& why);

  JournalStore& store_;
  const GroupCommitOptions options_;
  std::atomic<ErrorCode> trouble_ = ErrorCode::kOk;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;  // guarded by mutex_
  size_t in_flight_ = 0;         // guarded by mutex_
  bool stopping_ = false;        // guarded by mutex_

  std::thread thread_;  // last: starts when all else is there
};

}  // namespace sluice::journal
