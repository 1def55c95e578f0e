// How a command asks the accounting daemon: by AccountingStorageHost and its port of slurm.conf,
// and by the backup's where that one cannot be reached.
#pragma once

#include <memory>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/net/rpc_client.hpp"

namespace sluice::cli {

class AccountingClient {
 public:
  // Reads slurm.conf; connects at the first call. Errors: kInvalidConfig, kNotFound (none there),
  // kNotSupported (AccountingStorageType is not accounting_storage/slurmdbd).
  [[nodiscard]] static Result<AccountingClient> open();
  AccountingClient(AccountingClient&&) noexcept;
  AccountingClient& operator=(AccountingClient&&) noexcept;
  ~AccountingClient();

  [[nodiscard]] const ClusterConfig& config() const;

  template <class Reply, class Request>
  requires net::Answers<Reply, Request>
  [[nodiscard]] Result<Reply> call(const Request& request) {
    return rpc().call<Reply, Request>(request, timeout());
  }

 private:
  struct Parts;
  explicit AccountingClient(std::unique_ptr<Parts> parts);
  [[nodiscard]] net::RpcClient& rpc();
  [[nodiscard]] Duration timeout() const;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::cli
