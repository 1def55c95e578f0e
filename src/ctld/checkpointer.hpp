// Takes a checkpoint of the newest durable state when enough frames, or bytes of them, have come
// since the last one, so that a restart replays little and the journal does not fill the disk.
#pragma once

#include "common/os/round_thread.hpp"
#include "ctld/engine/engine.hpp"
#include "ctld/engine/publisher.hpp"
#include "ctld/journal/store.hpp"

namespace sluice::ctld {

class Checkpointer {
 public:
  // Between two checkpoints, about; of bytes also as many as the last checkpoint had, since each is
  // written whole.
  static constexpr journal::Sequence kFrames = 20'000;
  static constexpr uint64_t kBytes = uint64_t{64} << 20;

  // Both outlive this.
  Checkpointer(journal::JournalStore& store, const engine::Publisher& publisher,
               engine::Clock clock);
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();
  void stop();  // takes a last one when anything came since; idempotent

 private:
  void run();
  void take_if(journal::Sequence frames, uint64_t bytes);

  journal::JournalStore& store_;
  const engine::Publisher& publisher_;
  const engine::Clock clock_;
  journal::Sequence last_;
  uint64_t last_bytes_ = 0;  // appended before the last one
  uint64_t last_size_ = 0;   // of the last one, in bytes
  RoundThread thread_;
};

}  // namespace sluice::ctld
