#include "ctld/engine/recovery.hpp"

#include "common/wire/codec.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/state/apply.hpp"

namespace sluice::engine {

Result<Recovered> recover(journal::JournalReader& store) {
  Recovered out;
  auto checkpoint = store.load_latest_checkpoint();
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  if (*checkpoint) {
    const auto image = wire::decode<state::StateImage>((*checkpoint)->bytes);
    if (!image) return failure("the journal's checkpoint cannot be read: " + image.error().text);
    out.state = state::from_image(*image);
    out.sequence = (*checkpoint)->sequence;
  }
  Status bad;
  const Status read = store.read(out.sequence + 1, [&](const journal::Frame& frame) {
    const auto events = journal::decode_frame(frame);
    if (!events) {
      bad = tl::unexpected(events.error());
      return false;
    }
    for (const state::Event& event : *events) state::apply(out.state, event);
    out.sequence = frame.sequence;
    ++out.frames;
    return true;
  });
  if (!bad) return tl::unexpected(bad.error());
  if (!read) return tl::unexpected(read.error());
  return out;
}

Status take_checkpoint(journal::JournalStore& store,
                       const state::ClusterState& state,
                       journal::Sequence sequence,
                       Time now) {
  return store.checkpoint({sequence, now, wire::encode(state::make_image(state)), state::live_blobs(state)});
}

}  // namespace sluice::engine
