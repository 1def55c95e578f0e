// Frames of protocol/stepd.hpp to bytes and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/protocol/stepd.hpp"

namespace sluice {

inline constexpr size_t kFrameHeaderBytes = 9;

struct Frame {
  protocol::FrameType type = protocol::FrameType::kHello;
  uint32_t task = kNoTask;
  std::string body;
};

// Appends one frame; `body` must fit into kMaxFrameBytes with the header.
void append_frame(std::string& out, protocol::FrameType type, uint32_t task, std::string_view body);

// Takes bytes as they come and gives whole frames.
class FrameReader {
 public:
  explicit FrameReader(uint32_t max_bytes = protocol::kMaxFrameBytes) : max_bytes_(max_bytes) {}
  void feed(std::string_view bytes);
  void allow(uint32_t max_bytes) { max_bytes_ = max_bytes; }
  // The next frame; nothing when more bytes are needed; kBadRequest when the length cannot be (the
  // connection is of no use any more).
  [[nodiscard]] Result<std::optional<Frame>> next();

 private:
  uint32_t max_bytes_;
  std::string bytes_;
  size_t taken_ = 0;
};

}  // namespace sluice
