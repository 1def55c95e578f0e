#include "ctld/checkpointer.hpp"

#include <utility>

#include "common/log/log.hpp"
#include "ctld/journal/recovery.hpp"

namespace sluice::ctld {

Checkpointer::Checkpointer(journal::JournalStore& store, const engine::Publisher& publisher, engine::Clock clock)
    : store_(store),
      publisher_(publisher),
      clock_(std::move(clock)),
      last_(publisher.newest()->sequence) {
  thread_.start([this] { run(); });
}

Checkpointer::~Checkpointer() { stop(); }

void Checkpointer::stop() {
  if (thread_.stop()) take_if(1);
}

void Checkpointer::run() {
  while (thread_.rest(std::chrono::seconds(5))) {
    take_if(kFrames);
    if (store_.low_on_room()) store_.regain_reserve();
  }
}

void Checkpointer::take_if(journal::Sequence frames) {
  const auto newest = publisher_.newest();
  if (newest->sequence < last_ + frames) return;
  const Status taken = store_.checkpoint(journal::make_checkpoint(*newest->state, newest->sequence, clock_()));
  if (taken) last_ = newest->sequence;
  else log::error("no checkpoint could be written, the former one stands: {}", taken.error().text);
}

}  // namespace sluice::ctld
