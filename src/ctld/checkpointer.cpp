#include "ctld/checkpointer.hpp"

#include <algorithm>
#include <utility>

#include "common/log/log.hpp"
#include "ctld/journal/recovery.hpp"

namespace sluice::ctld {

Checkpointer::Checkpointer(journal::JournalStore& store, const engine::Publisher& publisher,
                           engine::Clock clock)
    : store_(store),
      publisher_(publisher),
      clock_(std::move(clock)),
      last_(publisher.newest()->sequence) {
  thread_.start([this] { run(); });
}

Checkpointer::~Checkpointer() { stop(); }

void Checkpointer::stop() {
  if (thread_.stop()) take_if(1, 0);
}

void Checkpointer::run() {
  while (thread_.rest(std::chrono::seconds(5))) {
    take_if(kFrames, std::max(kBytes, last_size_));
    if (store_.low_on_room()) store_.regain_reserve();
  }
}

void Checkpointer::take_if(journal::Sequence frames, uint64_t bytes) {
  const uint64_t appended = store_.appended_bytes();
  const auto newest = publisher_.newest();
  if (newest->sequence == last_) return;
  if (newest->sequence < last_ + frames && appended - last_bytes_ < bytes) return;
  const journal::Checkpoint checkpoint =
      journal::make_checkpoint(*newest->state, newest->sequence, clock_());
  if (const Status taken = store_.checkpoint(checkpoint); !taken) {
    return log::error("no checkpoint could be written, the former one stands: {}",
                      taken.error().text);
  }
  last_ = newest->sequence;
  last_bytes_ = appended;
  last_size_ = checkpoint.bytes.size();
}

}  // namespace sluice::ctld
