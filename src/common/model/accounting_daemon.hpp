// Whether a cluster has an accounting daemon.
#pragma once

#include "common/model/cluster_config.hpp"

namespace sluice {

// AccountingStorageType=accounting_storage/slurmdbd: there is one.
[[nodiscard]] inline bool has_accounting_daemon(const ClusterConfig& config) {
  return config.accounting_storage_type == "accounting_storage/slurmdbd";
}

}  // namespace sluice
