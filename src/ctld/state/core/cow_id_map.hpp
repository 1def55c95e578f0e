// CowIdMap: ids by small numbers (an array's tasks), whose copy shares everything, as CowTable's.
// 256 of them are one kilobyte, which is what a change after a snapshot copies.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/ids.hpp"
#include "ctld/state/core/cow_table.hpp"

namespace sluice::state {

class CowIdMap {
 public:
  // kNoJob: there is none.
  [[nodiscard]] JobId find(uint32_t key) const {
    const Block* block = blocks_.find(key / kEntries);
    return block == nullptr ? kNoJob : block->ids[key % kEntries];
  }
  // In place of what was there.
  void set(uint32_t key, JobId id) {
    Block& block = blocks_.edit_or_insert(key / kEntries);
    JobId& entry = block.ids[key % kEntries];
    if (entry == kNoJob) ++block.used;
    entry = id;
  }
  // Unless there is another by now.
  void erase(uint32_t key, JobId id) {
    if (id == kNoJob || find(key) != id) return;
    Block& block = blocks_.edit(key / kEntries);
    block.ids[key % kEntries] = kNoJob;
    if (--block.used == 0) blocks_.erase(key / kEntries);
  }

 private:
  static constexpr uint32_t kEntries = 256;
  struct Block {
    std::array<JobId, kEntries> ids{};
    uint32_t used = 0;
  };
  CowTable<Block> blocks_;
};

}  // namespace sluice::state
