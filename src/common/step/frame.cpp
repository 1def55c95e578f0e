#include "common/step/frame.hpp"

#include "common/base/check.hpp"

namespace sluice {
namespace {

void put_word(std::string& out, uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(word >> shift));
}
uint32_t get_word(std::string_view bytes) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = word << 8 | static_cast<uint8_t>(bytes[i]);
  return word;
}

}  // namespace

void append_frame(std::string& out, protocol::FrameType type, uint32_t task,
                  std::string_view body) {
  SLUICE_CHECK(body.size() < UINT32_MAX - kFrameHeaderBytes);
  put_word(out, static_cast<uint32_t>(body.size() + kFrameHeaderBytes - 4));
  out.push_back(static_cast<char>(type));
  put_word(out, task);
  out += body;
}

void FrameReader::feed(std::string_view bytes) {
  if (taken_ > 0) {
    bytes_.erase(0, taken_);
    taken_ = 0;
  }
  bytes_ += bytes;
}

Result<std::optional<Frame>> FrameReader::next() {
  const std::string_view rest = std::string_view(bytes_).substr(taken_);
  if (rest.size() < 4) return std::nullopt;
  const uint32_t length = get_word(rest);
  if (length < kFrameHeaderBytes - 4 || length > max_bytes_) {
    return failure(ErrorCode::kBadRequest, "a frame of impossible length");
  }
  if (rest.size() < length + size_t{4}) return std::nullopt;
  Frame frame;
  frame.type = static_cast<protocol::FrameType>(rest[4]);
  frame.task = get_word(rest.substr(5));
  frame.body = rest.substr(kFrameHeaderBytes, length + 4 - kFrameHeaderBytes);
  taken_ += length + size_t{4};
  return frame;
}

}  // namespace sluice
