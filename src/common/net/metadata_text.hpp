// How bytes and texts travel in gRPC's metadata. Internal to net.
#pragma once

#include <string>
#include <string_view>

namespace sluice::net {

[[nodiscard]] std::string to_base64(std::string_view bytes);
// padded or not; empty when it is none
[[nodiscard]] std::string from_base64(std::string_view text);
[[nodiscard]] std::string percent_decoded(std::string_view text);

}  // namespace sluice::net
