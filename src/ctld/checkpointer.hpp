// Takes a checkpoint of the newest durable state when enough frames have come since the last one, so
// that a restart replays little.
#pragma once

#include "common/base/round_thread.hpp"
#include "ctld/engine/engine.hpp"
#include "ctld/engine/publisher.hpp"
#include "ctld/journal/store.hpp"

namespace sluice::ctld {

class Checkpointer {
 public:
  static constexpr journal::Sequence kFrames = 20'000;  // between two checkpoints

  // Both outlive this.
  Checkpointer(journal::JournalStore& store, const engine::Publisher& publisher, engine::Clock clock);
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();
  void stop();  // takes a last one when anything came since; idempotent

 private:
  void run();
  void take_if(journal::Sequence frames);

  journal::JournalStore& store_;
  const engine::Publisher& publisher_;
  const engine::Clock clock_;
  journal::Sequence last_;
  RoundThread thread_;
};

}  // namespace sluice::ctld
