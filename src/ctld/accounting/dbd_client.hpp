// The way to the accounting daemon that slurm.conf names (AccountingStorageHost, …BackupHost,
// …Port). Calls come back by callback on gRPC's threads.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>

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
  // The same, and waits for the answer.
  template <class Reply, class Request>
  [[nodiscard]] Result<Reply> ask(const Request& request, Duration timeout) {
    auto done = std::make_shared<std::promise<Result<Reply>>>();
    std::future<Result<Reply>> reply = done->get_future();
    call<Reply>(request, timeout,
                [done](Result<Reply> result) { done->set_value(std::move(result)); });
    return reply.get();
  }

 private:
  net::AsyncClient client_;
};

// The highest job id that the accounting daemon knows of the cluster; kNoJob: none. Waits for the
// answer, some seconds at most. kUnreachable, kTimedOut: the daemon is away.
[[nodiscard]] Result<JobId> last_known_job(DbdClient& client, const std::string& cluster);

}  // namespace sluice::ctld
