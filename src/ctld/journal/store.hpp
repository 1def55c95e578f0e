// The journal: what a store of frames, blobs and checkpoints offers. The controller's state is the
// fold over the frames, so a frame that is durable here is never lost.
//
// The store sees opaque bytes (event_codec.hpp knows what is in them). Nothing outside journal/ may
// depend on which store runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace sluice::journal {

using Sequence = uint64_t;  // a frame's number: 1, 2, … without gaps; 0 is "before the first"

// The longest frame in bytes, whichever store runs.
inline constexpr size_t kMostFrameBytes = size_t{900} << 20;

// The events of one command: all of them or none.
struct Frame {
  Sequence sequence = 0;
  uint64_t epoch = 0;  // of the controller that wrote it: set by read(), ignored by append()
  Time time;
  std::string bytes;
};

// Script or environment of a job, kept by content: `key` is blob_key(bytes). A group carries every
// blob its frames mention, also when an earlier group carried it already.
struct Blob {
  std::string key;
  std::string bytes;
};

// What becomes durable together: one transaction.
struct FrameGroup {
  std::vector<Frame> frames;
  std::vector<Blob> blobs;
  std::vector<std::string> outgoing;  // for the outbox, in order
};

// What waits to be sent to the accounting daemon: durable with the frames that it comes of,
// numbered 1, 2, … without gaps.
struct OutboxBatch {
  Sequence first = 0;
  std::vector<std::string> records;
};

// The whole state after frame `sequence`, so that earlier frames need no replay.
struct Checkpoint {
  Sequence sequence = 0;
  Time time;
  std::string bytes;
  // Keys of the blobs the state still refers to, in any order and with repeats. Blobs that are not
  // named and were not mentioned after `sequence` are removed. Not set: all are kept.
  std::optional<std::vector<std::string>> live_blobs;
};

// What a new store goes on with from one that it replaces; empty and 0: nothing.
struct StoreIdentity {
  std::string cluster_id;
  uint64_t epoch = 0;
};

struct StoreInfo {
  uint32_t format = 0;     // of the store's own tables
  std::string cluster_id;  // a UUID made with the store; nodes refuse a controller with another one
  uint64_t epoch = 0;      // how many times a controller opened the store, this time included
  Time created;
};

// Returns false to end the reading early.
using FrameVisitor = std::function<bool(const Frame&)>;

// Reading: safe from any thread, never waits for a commit, and holds no lock while a visitor runs.
// A damaged store gives kError with a text that names the file and what to do.
class JournalReader {
 public:
  virtual ~JournalReader() = default;

  virtual const StoreInfo& info() const = 0;

  // The oldest frame still kept; one past the last when none is.
  virtual Result<Sequence> first_sequence() = 0;
  virtual Result<Sequence> last_sequence() = 0;

  // Every durable frame from `from` (at least 1) on, in order; with an error, those before what
  // cannot be read. kNotFound: `from` was trimmed already.
  virtual Status read(Sequence from, const FrameVisitor& visit) = 0;

  // None when no checkpoint was taken yet. `live_blobs` does not come back.
  virtual Result<std::optional<Checkpoint>> load_latest_checkpoint() = 0;

  // kNotFound: there is no such blob (any more).
  virtual Result<std::string> blob(std::string_view key) = 0;

  // The oldest of the outbox, at least one if there is any: up to `records`, and about `bytes`.
  virtual Result<OutboxBatch> outgoing(size_t records, size_t bytes) = 0;

  // Where the named readers are: the last sequence each has dealt with.
  virtual Result<std::map<std::string, Sequence>> cursors() = 0;
};

// Writing: safe from any thread; append() goes before a checkpoint that runs at the same time.
class JournalStore : public JournalReader {
 public:
  // Durable on return; gives the last sequence written. The frames must follow the last one without
  // a gap. kStorageFull, and kRetry (another process has the store locked, or it is not where it
  // was opened): nothing was written and the same group may be tried again. Any other error means
  // that the store cannot be used any more.
  virtual Result<Sequence> append(const FrameGroup& group) = 0;

  // What of the outbox has been received, up to this number, goes.
  virtual Status remove_outgoing(Sequence last) = 0;
  // How many wait there. Any thread; never waits.
  virtual uint64_t outgoing_count() const = 0;
  // Numbers of the outbox begin anew in another stream.
  virtual std::string outgoing_stream() = 0;

  // Bytes of frames and blobs that append() has written since the store was opened.
  virtual uint64_t appended_bytes() const = 0;

  // Keeps the checkpoint in place of the one before, removes blobs that nothing needs, and trims
  // the frames that neither the checkpoint nor a reader's cursor needs (readers are waited for up
  // to a cap). Takes a while for a large state, in slices, so that commits go on. kStorageFull: the
  // former checkpoint stands.
  virtual Status checkpoint(const Checkpoint& checkpoint) = 0;

  // A reader registers, or says that it has dealt with everything up to `sequence`.
  virtual Status set_cursor(const std::string& reader, Sequence sequence) = 0;
  virtual Status remove_cursor(const std::string& reader) = 0;

  // True from the moment the reserve of room (the ballast) had to be used until it is back: what
  // goes on may still be written, new work should be refused.
  virtual bool low_on_room() const = 0;

  // kRetry, with a text for the administrator: what was opened was removed or replaced, so that
  // what is written would be lost. Cheap.
  virtual Status still_there() = 0;

  // Takes the reserve again when there is room for it. Cheap; called now and then while it is low.
  virtual void regain_reserve() = 0;

  // Whether it is known that the accounting daemon has nothing of the stream that this store has
  // not: until it says up to which number it has it, after each open.
  virtual bool outgoing_checked() const = 0;
  // It has it up to `known`. More than there was here when the store was opened: this is an older
  // copy of the store, and its numbers were given to other records. Another stream begins then, and
  // true comes back.
  virtual Result<bool> check_outgoing(uint64_t known) = 0;
};

}  // namespace sluice::journal
