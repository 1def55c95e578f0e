// Events as the bytes of a frame: a JournalFrame in protobuf's wire format (proto/journal.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "ctld/journal/store.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::journal {

// Of what is in a frame. It grows when an older version could misread a frame rather than refuse or
// skip what it does not know: a new field or event alone does not need a new number. tests/corpus
// keeps a journal of each format.
inline constexpr uint32_t kEventFormat = 1;

struct JournalFrame {
  uint32_t format = 0;
  state::Events events;
  template <class V>
  static void describe(V&& field) {
    field(1, "format", &JournalFrame::format);
    field(2, "events", &JournalFrame::events);
  }
};

[[nodiscard]] Frame encode_frame(Sequence sequence, Time time, const state::Events& events);

// The error names the frame and says whether it is damaged or of a newer version.
[[nodiscard]] Result<state::Events> decode_frame(const Frame& frame);

}  // namespace sluice::journal
