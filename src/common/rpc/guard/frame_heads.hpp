// The heads of the frames of HTTP/2 in what one side of a connection sends, however its bytes come;
// what the frames carry is passed over. RFC 9113, 3.4 and 4.1. Internal to rpc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sluice::net {

struct FrameHead {
  static constexpr uint8_t kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6,
                           kContinuation = 9;
  static constexpr uint8_t kAck = 1, kEndStream = 1, kEndHeaders = 4;
  size_t size = 0;  // of what follows
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
  [[nodiscard]] bool has(uint8_t flag) const { return (flags & flag) != 0; }
};

class FrameHeads {
 public:
  static constexpr size_t kPreface = 24;  // bytes that a client sends first
  explicit FrameHeads(size_t preface = 0) : payload_left_(preface) {}

  // The next bytes: `take` gets each head that is whole. False: it said so, and is asked no more.
  template <class Take>
  [[nodiscard]] bool read(std::string_view bytes, Take&& take) {
    while (!bytes.empty()) {
      const size_t passed = std::min(payload_left_, bytes.size());
      payload_left_ -= passed;
      bytes.remove_prefix(passed);
      const size_t more = std::min(head_.size() - head_size_, bytes.size());
      std::memcpy(head_.data() + head_size_, bytes.data(), more);
      head_size_ += more;
      bytes.remove_prefix(more);
      if (head_size_ == head_.size() && !take(begin_frame())) return false;
    }
    return true;
  }

 private:
  FrameHead begin_frame() {
    constexpr uint32_t kStreamBits = 0x7fff'ffff;
    const auto byte = [this](size_t at) { return uint32_t{head_[at]}; };
    head_size_ = 0;
    payload_left_ = byte(0) << 16 | byte(1) << 8 | byte(2);
    return {payload_left_, head_[3], head_[4],
            (byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8)) & kStreamBits};
  }

  size_t payload_left_;
  std::array<uint8_t, 9> head_{};  // of the frame that comes; so many bytes of it are there:
  size_t head_size_ = 0;
};

}  // namespace sluice::net
