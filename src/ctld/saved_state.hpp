// Whether what StateSaveLocation holds belongs to the cluster that is to start with it.
#pragma once

#include <string>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "ctld/journal/recovery.hpp"

namespace sluice::ctld {

inline constexpr const char* kSigningKeyFile = "credential.key";

// Errors: kInvalidConfig, where the state is that of a cluster with another ClusterName.
[[nodiscard]] Status check_cluster_name(const journal::Recovered& recovered,
                                        const ClusterConfig& config);

// The key with which launches were signed is lost.
[[nodiscard]] bool knew_a_key(const journal::Recovered& recovered);
[[nodiscard]] tl::unexpected<Error> missing_key(const std::string& path);

// There is a key of before, and no journal.
[[nodiscard]] tl::unexpected<Error> missing_journal(const std::string& folder);

// There is a credential.key, and no journal at all: nothing is to be begun there. kAccessDenied:
// this process may not look, and the error says whose folder keeps it from that.
[[nodiscard]] Status check_journal_file(const ClusterConfig& config);
// The same of a journal that was begun after the key, and that nothing was written to.
[[nodiscard]] Status check_journal_is_own(const ClusterConfig& config,
                                          const journal::Recovered& recovered,
                                          const journal::StoreInfo& info);
// Neither a journal nor a key, as far as this process may look: a start begins a new cluster there.
[[nodiscard]] bool holds_no_state(const ClusterConfig& config);

// Errors: kInvalidConfig, where anybody may replace what is in StateSaveLocation.
[[nodiscard]] Status check_state_place(const ClusterConfig& config);

// All of this, and whether the journal can be read, without changing anything (slurmctld -t). No
// error where there is no state yet, or this process may not look.
[[nodiscard]] Status check_saved_state(const ClusterConfig& config);

}  // namespace sluice::ctld
