#include "ctld/accounting/dbd_client.hpp"

namespace sluice::ctld {
namespace {

net::ClientOptions options_of(const ClusterConfig& config, std::shared_ptr<net::AuthProvider> auth,
                              std::shared_ptr<net::TlsTrust> tls) {
  net::ClientOptions options;
  options.addresses = accounting_addresses(config);
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
