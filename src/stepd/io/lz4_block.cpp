#include "stepd/io/lz4_block.hpp"

#include <lz4.h>

namespace sluice::stepd {
namespace {

constexpr size_t kMostRatio = 255;  // of LZ4: no byte says more

}  // namespace

std::optional<std::string> unpack_block(const protocol::BroadcastBlock& block) {
  if (block.compression == protocol::Compression::kNone) return block.data;
  if (block.compression != protocol::Compression::kLz4 ||
      block.raw_bytes > protocol::kMaxBlockBytes)
    return std::nullopt;
  if (block.raw_bytes / kMostRatio > block.data.size()) return std::nullopt;
  std::string bytes(block.raw_bytes, '\0');
  const int size =
      LZ4_decompress_safe(block.data.data(), bytes.data(), static_cast<int>(block.data.size()),
                          static_cast<int>(bytes.size()));
  if (size != static_cast<int>(bytes.size())) return std::nullopt;
  return bytes;
}

}  // namespace sluice::stepd
