// Bounds the header blocks of HTTP/2 that a peer sends, before it has proved who it is: a block may
// be as long as its sender likes in any number of CONTINUATION frames, and gRPC 1.51 reads it all
// (CVE-2023-33953). Follows the frames of one connection by their lengths alone. Internal to rpc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/rpc/guard/frame_heads.hpp"

namespace sluice::net {

class HeaderBlocks {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 10;  // of one block, compressed as it is sent
  static constexpr uint32_t kMostFrames = 9;              // of one block

  // The next frame that the peer sent. False: a block is too long, or broken.
  [[nodiscard]] bool take(const FrameHead& head);

 private:
  size_t bytes_ = 0;
  uint32_t frames_ = 0;
  bool is_in_block_ = false;  // the last frame of headers did not end them
};

}  // namespace sluice::net
