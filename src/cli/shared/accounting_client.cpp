#include "cli/shared/accounting_client.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "common/auth/auth_config.hpp"
#include "common/config_files/load.hpp"
#include "common/net/tls_config.hpp"
#include "common/protocol/accounting.hpp"

namespace sluice::cli {

struct AccountingClient::Parts {
  ClusterConfig config;
  std::unique_ptr<net::RpcClient> rpc;
};

AccountingClient::AccountingClient(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
AccountingClient::AccountingClient(AccountingClient&&) noexcept = default;
AccountingClient& AccountingClient::operator=(AccountingClient&&) noexcept = default;
AccountingClient::~AccountingClient() = default;

const ClusterConfig& AccountingClient::config() const { return parts_->config; }
net::RpcClient& AccountingClient::rpc() { return *parts_->rpc; }
// What changes many records waits for the disk, and others for it.
Duration AccountingClient::timeout() const { return parts_->config.message_timeout * 10; }

Result<AccountingClient> AccountingClient::open() {
  const std::string path = readable_config_path();
  if (path.empty())
    return failure(ErrorCode::kNotFound, "Could not establish a configuration source");
  Result<ClusterConfig> config = load_global_config(path);
  if (!config) return tl::unexpected<Error>(config.error());
  if (config->accounting_storage_type != "accounting_storage/slurmdbd")
    return failure(ErrorCode::kNotSupported,
                   "You are not running a supported accounting_storage plugin\n"
                   "Only 'accounting_storage/slurmdbd' is supported.");
  auto parts = std::make_unique<Parts>();
  parts->config = std::move(*config);
  const ClusterConfig& c = parts->config;
  net::ClientOptions options;
  for (const std::string& host : {c.accounting_storage_host, c.accounting_storage_backup_host})
    if (!host.empty())
      options.addresses.push_back(fmt::format("{}:{}", host, c.accounting_storage_port));
  options.receiver = std::string(protocol::kAccountingDaemon);
  options.connect_timeout = c.tcp_timeout;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a command has one thread here
  const char* token = std::getenv("SLURM_JWT");
  auto auth = token != nullptr && *token != '\0'
      ? Result<std::shared_ptr<net::AuthProvider>>(net::use_jwt(token))
      : net::make_auth(net::auth_options(c));
  if (!auth) return tl::unexpected<Error>(auth.error());
  options.auth = std::move(*auth);
  parts->rpc = std::make_unique<net::RpcClient>(std::move(options));
  return AccountingClient(std::move(parts));
}

}  // namespace sluice::cli
