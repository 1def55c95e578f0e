// The way to the accounting daemon that slurm.conf names (AccountingStorageHost, …BackupHost,
// …Port). Calls come back by callback on gRPC's threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/base/ids.hpp"
#include "common/model/accounting_daemon.hpp"
#include "common/rpc/async_client.hpp"

namespace sluice::ctld {

// What this controller says of itself to the accounting daemon.
struct OwnCluster {
  std::string name, id, control_host;
  uint32_t control_port = 0;
  uint64_t known_version = 0;  // of the accounting records in the state that it begins with
};

// Thread-safe.
class DbdClient {
 public:
  DbdClient(const ClusterConfig& config, std::shared_ptr<net::AuthProvider> auth,
            std::shared_ptr<net::TlsTrust> tls);

  // `done` runs exactly once, possibly before this returns. kUnreachable, kTimedOut: the daemon is
  // away.
  template <class Reply, class Request>
  void call(const Request& request, Duration timeout, std::function<void(Result<Reply>)> done) {
    client_.call<Reply>(request, timeout, std::move(done));
  }
  // The same, and waits for the answer, or until give_up().
  template <class Reply, class Request>
  [[nodiscard]] Result<Reply> ask(const Request& request, Duration timeout) {
    const auto answer = std::make_shared<Answer<Reply>>();
    std::future<Result<Reply>> future = answer->promise.get_future();
    const auto wait = begin_wait([answer] { answer->give(tl::unexpected<Error>(given_up())); });
    if (!wait) return tl::unexpected<Error>(given_up());
    call<Reply>(request, timeout,
                [answer](Result<Reply> result) { answer->give(std::move(result)); });
    Result<Reply> reply = future.get();
    end_wait(*wait);
    return reply;
  }
  // Every ask() that waits, or comes later, ends at once: kTimedOut. What was sent may have been
  // received.
  void give_up();

 private:
  // The first that is given counts: an answer may come after nobody waits for it any more.
  template <class Reply>
  struct Answer {
    void give(Result<Reply> reply) {
      if (!given.exchange(true)) promise.set_value(std::move(reply));
    }
    std::atomic<bool> given = false;
    std::promise<Result<Reply>> promise;
  };

  [[nodiscard]] static Error given_up();
  // Nothing: give_up() was called. `end` is called by it, on its thread.
  [[nodiscard]] std::optional<uint64_t> begin_wait(std::function<void()> end);
  void end_wait(uint64_t wait);

  net::AsyncClient client_;
  std::mutex mutex_;
  bool gave_up_ = false;                             // guarded by mutex_, as the next two
  uint64_t last_wait_ = 0;                           // the number of the newest
  std::map<uint64_t, std::function<void()>> waits_;  // what ends each
};

// The highest job id that the accounting daemon knows of the cluster; kNoJob: none. Waits for the
// answer, some seconds at most. kUnreachable, kTimedOut: the daemon is away.
[[nodiscard]] Result<JobId> last_known_job(DbdClient& client, const std::string& cluster);

}  // namespace sluice::ctld
