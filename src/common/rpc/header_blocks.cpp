#include "common/rpc/header_blocks.hpp"

#include <algorithm>
#include <cstring>

namespace sluice::net {
namespace {

constexpr uint8_t kHeaders = 1, kContinuation = 9;
constexpr uint8_t kEndHeaders = 4;

}  // namespace

bool HeaderBlocks::begin_frame() {
  payload_left_ = size_t{head_[0]} << 16 | size_t{head_[1]} << 8 | head_[2];
  head_size_ = 0;
  const uint8_t type = head_[3];
  // nothing else may stand within a block
  if (type != kHeaders && type != kContinuation) return !is_in_block_;
  if (!is_in_block_) block_bytes_ = block_frames_ = 0;
  block_bytes_ += payload_left_;
  is_in_block_ = (head_[4] & kEndHeaders) == 0;
  return ++block_frames_ <= kMostFrames && block_bytes_ <= kMostBytes;
}

bool HeaderBlocks::read(std::string_view bytes) {
  const size_t preface = std::min(preface_left_, bytes.size());
  preface_left_ -= preface;
  bytes.remove_prefix(preface);
  while (!bytes.empty()) {
    const size_t passed = std::min(payload_left_, bytes.size());
    payload_left_ -= passed;
    bytes.remove_prefix(passed);
    const size_t more = std::min(head_.size() - head_size_, bytes.size());
    std::memcpy(head_.data() + head_size_, bytes.data(), more);
    head_size_ += more;
    bytes.remove_prefix(more);
    if (head_size_ == head_.size() && !begin_frame()) return false;
  }
  return true;
}

}  // namespace sluice::net
