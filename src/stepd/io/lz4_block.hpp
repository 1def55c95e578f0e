// The bytes of a block that sbcast sends, compressed or not.
#pragma once

#include <optional>
#include <string>

#include "common/protocol/broadcast.hpp"

namespace sluice::stepd {

// As they were; nothing when they cannot be made out.
[[nodiscard]] std::optional<std::string> unpack_block(const protocol::BroadcastBlock& block);

}  // namespace sluice::stepd
