// The state as the journal has it: the latest checkpoint and every frame after it.
#pragma once

#include "common/base/result.hpp"
#include "ctld/journal/store.hpp"
#include "ctld/state/cluster_state.hpp"

namespace sluice::engine {

struct Recovered {
  state::ClusterState state;
  journal::Sequence sequence = 0;  // of the last frame applied
  uint64_t frames = 0;             // that were replayed
};

// Errors name the damaged part and the file.
[[nodiscard]] Result<Recovered> recover(journal::JournalReader& store);

// Writes the state as the checkpoint at `sequence`.
[[nodiscard]] Status take_checkpoint(journal::JournalStore& store,
                                     const state::ClusterState& state,
                                     journal::Sequence sequence,
                                     Time now);

}  // namespace sluice::engine
