// Checkpoint and replay.
#include "ctld/journal/recovery.hpp"

#include <fmt/format.h>

#include "common/wire/instances.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/state/apply.hpp"

namespace sluice::journal {

namespace {

struct JournalCheckpoint {
  uint32_t format = 0;
  state::StateImage image;
  template <class V>
  static void describe(V&& field) {
    field(1, "format", &JournalCheckpoint::format);
    field(2, "image", &JournalCheckpoint::image);
  }
};

Result<state::StateImage> decode_image(const Checkpoint& checkpoint) {
  Result<JournalCheckpoint> decoded =
      wire::decode<JournalCheckpoint>(checkpoint.bytes, wire::kAnyRoom);
  if (!decoded || decoded->format == 0) {
    return failure(
        ErrorCode::kDamaged,
        fmt::format("the journal's checkpoint of frame {} cannot be decoded: it is damaged",
                    checkpoint.sequence));
  }
  if (decoded->format > kCheckpointFormat) {
    return failure(
        fmt::format("the journal's checkpoint of frame {} has format {}, and this version "
                    "knows up to {}; start the newer version again",
                    checkpoint.sequence, decoded->format, kCheckpointFormat));
  }
  return std::move(decoded->image);
}

}  // namespace

Checkpoint make_checkpoint(const state::ClusterState& state, Sequence sequence, Time time) {
  Checkpoint checkpoint;
  checkpoint.sequence = sequence;
  checkpoint.time = time;
  checkpoint.bytes = wire::encode(JournalCheckpoint{kCheckpointFormat, state::make_image(state)});
  checkpoint.live_blobs = state::live_blobs(state);
  return checkpoint;
}

Status recover_into(Recovered& recovered, JournalReader& reader) {
  const Result<std::optional<Checkpoint>> checkpoint = reader.load_latest_checkpoint();
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  if (*checkpoint) {
    const Result<state::StateImage> image = decode_image(**checkpoint);
    if (!image) return tl::unexpected(image.error());
    recovered.state = state::from_image(*image);
    recovered.checkpoint = (*checkpoint)->sequence;
  }
  recovered.last = recovered.checkpoint;
  Status decoded;
  const Status read = reader.read(recovered.last + 1, [&](const Frame& frame) {
    const Result<state::Events> events = decode_frame(frame);
    if (!events) {
      decoded = tl::unexpected(events.error());
      return false;
    }
    for (const state::Event& event : *events) state::apply(recovered.state, event);
    recovered.last = frame.sequence;
    recovered.replayed_events += events->size();
    return true;
  });
  if (read) return decoded;
  // nobody trims what no checkpoint holds
  const bool gap = read.error().code == ErrorCode::kNotFound;
  return gap ? failure(ErrorCode::kDamaged, read.error().text) : read;
}

Result<Recovered> recover(JournalReader& reader) {
  Recovered recovered;
  if (Status done = recover_into(recovered, reader); !done) return tl::unexpected(done.error());
  return recovered;
}

}  // namespace sluice::journal
