// Frames of events to bytes and back.
#include "ctld/journal/event_codec.hpp"

#include <fmt/format.h>

#include "common/wire/instances.hpp"

namespace sluice::journal {

Frame encode_frame(Sequence sequence, Time time, const state::Events& events) {
  // as wire::encode of a JournalFrame, without copying the events into one
  std::string bytes;
  wire::detail::put_field(bytes, 1, kEventFormat);
  wire::detail::put_field(bytes, 2, events);
  return {sequence, 0, time, std::move(bytes)};
}

Result<state::Events> decode_frame(const Frame& frame) {
  Result<JournalFrame> decoded = wire::decode<JournalFrame>(frame.bytes, wire::kAnyRoom);
  if (decoded && decoded->format >= 1 && decoded->format <= kEventFormat) {
    return std::move(decoded->events);
  }
  if (decoded && decoded->format > kEventFormat) {
    return failure(
        fmt::format("frame {} of the journal has format {}, and this version knows up to "
                    "{}; start the newer version again",
                    frame.sequence, decoded->format, kEventFormat));
  }
  return failure(ErrorCode::kDamaged,
                 fmt::format("frame {} of the journal cannot be decoded: it is damaged or holds "
                             "events that this version does not know",
                             frame.sequence));
}

}  // namespace sluice::journal
