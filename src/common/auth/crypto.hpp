// The few primitives of OpenSSL that tokens, digests and the proofs of step connections need.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace sluice::net {

inline constexpr size_t kDigestSize = 32;

[[nodiscard]] std::string hmac_sha256(std::string_view key, std::string_view bytes);
// SHA-256 of the parts, with a zero byte between each and the next.
[[nodiscard]] std::string sha256_of(std::initializer_list<std::string_view> parts);
[[nodiscard]] bool same_secret(std::string_view a, std::string_view b);  // in constant time
[[nodiscard]] uint64_t random_number();
[[nodiscard]] std::string random_bytes(size_t count);  // at most 256

// Reads a secret's file: a regular file that only its owner (this process's user, root or `owner`)
// may read, of `least` to `most` bytes. Errors as ClusterKey::load.
[[nodiscard]] Result<std::string> read_secret(const std::string& path, size_t least, size_t most,
                                              uint32_t owner = 0);

}  // namespace sluice::net
