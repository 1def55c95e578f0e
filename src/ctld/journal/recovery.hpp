// The state to and from the journal: a checkpoint of it, and its recovery at start.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"
#include "ctld/journal/store.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::journal {

// Of a checkpoint's bytes; the rule is kEventFormat's.
inline constexpr uint32_t kCheckpointFormat = 1;

// The state as it is after frame `sequence`. Safe on any thread, `state` being a snapshot.
[[nodiscard]] Checkpoint make_checkpoint(const state::ClusterState& state, Sequence sequence,
                                         Time time);

struct Recovered {
  state::ClusterState state;
  Sequence last = 0;             // the last durable frame; the next one is last + 1
  Sequence checkpoint = 0;       // what the recovery started from; 0: from nothing
  uint64_t replayed_events = 0;  // applied after it
};

// The state that the journal stands for: the checkpoint, and every later frame applied. The error
// says what is wrong with the journal (kDamaged, or of a newer version) and where.
[[nodiscard]] Result<Recovered> recover(JournalReader& reader);
// The same into an empty `recovered`, which after an error holds the state before what cannot be
// read.
[[nodiscard]] Status recover_into(Recovered& recovered, JournalReader& reader);

}  // namespace sluice::journal
