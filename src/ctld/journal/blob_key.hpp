// The name of a blob: the SHA-256 of its content.
#pragma once

#include <string>
#include <string_view>

namespace sluice::journal {

inline constexpr size_t kBlobKeyBytes = 32;

// SHA-256 of `bytes`, 32 raw bytes.
[[nodiscard]] std::string blob_key(std::string_view bytes);

}  // namespace sluice::journal
