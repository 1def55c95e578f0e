// Certificates of a small site that has no CA: one is made, and it signs those of the daemons. Keys
// are of the curve P-256.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace sluice::net {

struct CertifiedKey {
  std::string certificate;  // PEM
  std::string key;          // PEM, without a password
};
struct Validity {
  Time from{};
  Time until{};
};

// A CA of this name. Errors: kError with OpenSSL's reason.
[[nodiscard]] Result<CertifiedKey> make_authority(const std::string& name, const Validity& valid);
// A daemon's: the first name is the subject's, all are alternative names. Errors: kInvalidConfig
// when `authority` is none or its key does not fit, kError.
[[nodiscard]] Result<CertifiedKey> certify(const CertifiedKey& authority,
                                           const std::vector<std::string>& names,
                                           const Validity& valid);

}  // namespace sluice::net
