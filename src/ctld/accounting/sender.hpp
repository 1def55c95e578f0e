// Sends what is in the journal's outbox to the accounting daemon, in order, and takes away what it
// has received. Nothing else waits for it; while the daemon is away the outbox grows.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/protocol/accounting.hpp"
#include "ctld/accounting/daemon_watch.hpp"
#include "ctld/accounting/dbd_client.hpp"
#include "ctld/journal/store.hpp"

namespace sluice::ctld {

class HistorySender {
 public:
  // Both outlive this. Numbers of records that wait are told from `most` / 16 on, each time that
  // they have doubled; at `most` (MaxDBDMsgs) as an error. None is ever dropped.
  struct Options {
    OwnCluster own;
    uint64_t most = 0;
    DaemonWatch* watch = nullptr;  // outlives this; null: nobody wants to know
  };
  HistorySender(journal::JournalStore& store, DbdClient& client, Options options);
  HistorySender(const HistorySender&) = delete;
  HistorySender& operator=(const HistorySender&) = delete;
  ~HistorySender();  // stop()

  // There is something in the outbox. Any thread; never blocks.
  void wake();
  // Since when the daemon takes no records; kNoTime: it takes them. Any thread.
  [[nodiscard]] Time refused_since() const { return refused_since_; }
  // How many records the daemon has received from this one. Any thread.
  [[nodiscard]] uint64_t sent() const { return sent_; }
  // Sends what is there once more, unless the daemon is away; ends the thread. What takes longer
  // than 2 s stays in the outbox, and the client is used no more. Idempotent.
  void stop();

 private:
  void run();
  [[nodiscard]] Status send_all();
  [[nodiscard]] Status check(uint64_t first);
  [[nodiscard]] Status send(journal::OutboxBatch batch);
  [[nodiscard]] Result<protocol::StoreHistoryReply> store(journal::OutboxBatch batch);
  void tell(const Status& sent);
  void rest(Duration pause);

  journal::JournalStore& store_;
  DbdClient& client_;
  const Options options_;
  std::string trouble_;  // of the thread alone, as the next; empty: the daemon takes records
  uint64_t told_ = 0;    // how many waited when that was told
  std::atomic<Time> refused_since_ = kNoTime;
  std::atomic<uint64_t> sent_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = true;      // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  bool ended_ = false;     // guarded by mutex_: the thread is done
  std::thread thread_;     // last: starts when all else is there
};

// What MaxDBDMsgs is: as set, else by the numbers of jobs and nodes.
[[nodiscard]] uint64_t most_dbd_messages(const ClusterConfig& config);

}  // namespace sluice::ctld
