// A protocol::MpiMessage as frames: `data` may be longer than a frame, and is sent in parts.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "common/base/result.hpp"
#include "common/protocol/stepd.hpp"

namespace sluice {

inline constexpr size_t kMpiPartBytes = 256U << 10;
inline constexpr size_t kMaxMpiBytes = 256U << 20;  // of one message's data

// Calls `send` with the body of each frame, in order.
void send_mpi_parts(const protocol::MpiMessage& message,
                    const std::function<void(std::string_view)>& send);

// Puts the parts of one connection together again.
class MpiAssembler {
 public:
  // The message that this frame completes; nothing when more follows; kBadRequest when it cannot be
  // understood or is too long.
  [[nodiscard]] Result<std::optional<protocol::MpiMessage>> take(std::string_view body);

 private:
  std::optional<protocol::MpiMessage> partial_;
};

}  // namespace sluice
