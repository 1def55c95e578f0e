// Bounds the header blocks of HTTP/2 that a peer sends, before it has proved who it is: a block may
// be as long as its sender likes in any number of CONTINUATION frames, and gRPC 1.51 reads it all
// (CVE-2023-33953). Follows the frames of one connection by their lengths alone. RFC 9113, 3.4
// and 4.1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::net {

class HeaderBlocks {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 10;  // of one block, compressed as it is sent
  static constexpr uint32_t kMostFrames = 9;              // of one block

  // The next bytes that the peer sent. False: a block is too long, and the connection is to be
  // closed.
  [[nodiscard]] bool read(std::string_view bytes);

 private:
  [[nodiscard]] bool begin_frame();

  static constexpr size_t kPreface = 24;
  size_t preface_left_ = kPreface;
  std::array<uint8_t, 9> head_{};  // of the frame that comes; so many bytes of it are there:
  size_t head_size_ = 0;
  size_t payload_left_ = 0;
  size_t block_bytes_ = 0;
  uint32_t block_frames_ = 0;
  bool is_in_block_ = false;  // the last frame of headers did not end them
};

}  // namespace sluice::net
