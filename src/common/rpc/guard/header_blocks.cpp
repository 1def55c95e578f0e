#include "common/rpc/guard/header_blocks.hpp"

namespace sluice::net {

bool HeaderBlocks::take(const FrameHead& head) {
  // nothing else may stand within a block
  if (head.type != FrameHead::kHeaders && head.type != FrameHead::kContinuation)
    return !is_in_block_;
  if (!is_in_block_) bytes_ = frames_ = 0;
  bytes_ += head.size;
  is_in_block_ = !head.has(FrameHead::kEndHeaders);
  return ++frames_ <= kMostFrames && bytes_ <= kMostBytes;
}

}  // namespace sluice::net
