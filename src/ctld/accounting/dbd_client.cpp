#include "ctld/accounting/dbd_client.hpp"

#include <fmt/format.h>

namespace sluice::ctld {
namespace {

net::ClientOptions options_of(const ClusterConfig& config, std::shared_ptr<net::AuthProvider> auth,
                              std::shared_ptr<net::TlsTrust> tls) {
  net::ClientOptions options;
  for (const std::string& host :
       {config.accounting_storage_host, config.accounting_storage_backup_host}) {
    if (!host.empty())
      options.addresses.push_back(fmt::format("{}:{}", host, config.accounting_storage_port));
  }
  options.receiver = net::kAccountingDaemon;
  options.auth = std::move(auth);
  options.tls = std::move(tls);
  return options;
}

}  // namespace

DbdClient::DbdClient(const ClusterConfig& config, std::shared_ptr<net::AuthProvider> auth,
                     std::shared_ptr<net::TlsTrust> tls)
    : client_(options_of(config, std::move(auth), std::move(tls))) {}

}  // namespace sluice::ctld
