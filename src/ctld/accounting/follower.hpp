// Follows what the accounting daemon says of this cluster: asks again and again, each time for what
// is newer than what it has, and hands it to the engine. While the daemon is away the controller
// goes on with what it knows.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/model/accounting.hpp"
#include "ctld/accounting/daemon_watch.hpp"
#include "ctld/accounting/dbd_client.hpp"
#include "ctld/accounting/known_uids.hpp"
#include "ctld/engine/engine.hpp"

namespace sluice::ctld {

class AccountingFollower {
 public:
  struct Options {
    OwnCluster own;
    KnownUids::LookUp uid_of;
    DaemonWatch* watch = nullptr;  // outlives this; null: nobody wants to know
  };
  // Both outlive this.
  AccountingFollower(engine::Engine& engine, DbdClient& client, Options options);
  AccountingFollower(const AccountingFollower&) = delete;
  AccountingFollower& operator=(const AccountingFollower&) = delete;
  ~AccountingFollower();  // stop()

  // An answer that is on its way is not waited for. Idempotent.
  void stop();

 private:
  // An answer may come after this is gone.
  struct Wake {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;  // guarded by mutex
  };

  void run();
  // False: the daemon is away, or stop() was called.
  [[nodiscard]] bool ask();
  void take(AccountingRecords records);
  // False: stop() was called.
  [[nodiscard]] bool rest(Duration pause);

  engine::Engine& engine_;
  DbdClient& client_;
  const Options options_;
  uint64_t known_ = 0;  // these are of the thread alone
  KnownUids uids_;
  std::string trouble_;  // empty: the daemon answers
  const std::shared_ptr<Wake> wake_ = std::make_shared<Wake>();
  std::thread thread_;  // last: starts when all else is there
};

// The system's.
[[nodiscard]] std::optional<uint32_t> system_uid_of(const std::string& user);

}  // namespace sluice::ctld
