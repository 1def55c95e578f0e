// How the daemon knows who sends, and what it shows of itself, as slurmdbd.conf says.
#pragma once

#include <memory>

#include "common/auth/auth.hpp"
#include "common/base/result.hpp"
#include "common/rpc/tls_identity.hpp"
#include "dbd/config/dbd_config.hpp"

namespace sluice::dbd {

// Errors: a key that is missing, or that others may read.
[[nodiscard]] Result<std::shared_ptr<net::AuthProvider>> open_auth(const DbdConfig& config);
// Null: nothing is encrypted. Errors: certificates that are missing or do not fit.
[[nodiscard]] Result<std::shared_ptr<net::TlsIdentity>> open_tls(const DbdConfig& config);

}  // namespace sluice::dbd
