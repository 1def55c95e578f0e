// Follows the frames of one connection, those that its peer sends before gRPC reads them and those
// that gRPC sends: whether the peer is to be cut off. Internal to rpc.
#pragma once

#include <string_view>

#include "common/base/time.hpp"
#include "common/rpc/guard/frame_heads.hpp"
#include "common/rpc/guard/header_blocks.hpp"
#include "common/rpc/guard/open_streams.hpp"

namespace sluice::net {

class ConnectionFrames {
 public:
  // The next bytes that the peer sent, which may have `most` calls open. Says why the connection is
  // to be closed; empty: it is not.
  [[nodiscard]] std::string_view receive(std::string_view bytes, SteadyTime now,
                                         size_t most = OpenStreams::kMost);
  // The next bytes that were sent to the peer.
  void send(std::string_view bytes, SteadyTime now);

 private:
  [[nodiscard]] std::string_view look_at(const FrameHead& head, SteadyTime now, size_t most);

  FrameHeads received_{FrameHeads::kPreface};
  FrameHeads sent_;
  HeaderBlocks blocks_;
  OpenStreams streams_;
  std::string_view why_;
};

}  // namespace sluice::net
