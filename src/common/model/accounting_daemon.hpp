// Whether a cluster has an accounting daemon.
#pragma once

#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"

namespace sluice {

// AccountingStorageType=accounting_storage/slurmdbd: there is one.
[[nodiscard]] inline bool has_accounting_daemon(const ClusterConfig& config) {
  return config.accounting_storage_type == "accounting_storage/slurmdbd";
}

// Where it may be: AccountingStorageHost, then AccountingStorageBackupHost; those that are set.
[[nodiscard]] inline std::vector<std::string> accounting_hosts(const ClusterConfig& config) {
  std::vector<std::string> hosts;
  for (const std::string& host :
       {config.accounting_storage_host, config.accounting_storage_backup_host}) {
    if (!host.empty()) hosts.push_back(host);
  }
  return hosts;
}
// The same with the port: "host:6819".
[[nodiscard]] inline std::vector<std::string> accounting_addresses(const ClusterConfig& config) {
  std::vector<std::string> addresses = accounting_hosts(config);
  for (std::string& one : addresses) one += ":" + std::to_string(config.accounting_storage_port);
  return addresses;
}

}  // namespace sluice
