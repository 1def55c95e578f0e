// CowIdSet: an ordered set of ids (job ids, mostly) whose copy shares everything, as CowTable's.
// 4,096 ids are 512 bytes, and a change after a snapshot copies those and a short list.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "ctld/state/core/cow_table.hpp"

namespace sluice::state {

class CowIdSet {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // True when it was not there yet.
  bool insert(uint32_t id) {
    Block& block = blocks_.edit_or_insert(id / kBits);
    uint64_t& word = block.words[id % kBits / 64];
    const uint64_t bit = uint64_t{1} << (id % 64);
    if ((word & bit) != 0) return false;
    word |= bit;
    ++block.used;
    ++size_;
    return true;
  }
  // True when it was there.
  bool erase(uint32_t id) {
    if (!contains(id)) return false;
    Block& block = blocks_.edit(id / kBits);
    block.words[id % kBits / 64] &= ~(uint64_t{1} << (id % 64));
    --size_;
    if (--block.used == 0) blocks_.erase(id / kBits);
    return true;
  }
  [[nodiscard]] bool contains(uint32_t id) const {
    const Block* block = blocks_.find(id / kBits);
    return block != nullptr && (block->words[id % kBits / 64] >> (id % 64) & 1) != 0;
  }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void clear() {
    blocks_.clear();
    size_ = 0;
  }

  // The lowest member that is at least `from`; kNone when there is none.
  [[nodiscard]] uint32_t next(uint32_t from) const {
    for (uint32_t at = blocks_.next_id(from / kBits); at != kNone; at = blocks_.next_id(at + 1)) {
      const Block& block = blocks_.at(at);
      const uint32_t start = at == from / kBits ? from % kBits : 0;
      for (uint32_t w = start / 64; w < block.words.size(); ++w) {
        uint64_t word = block.words[w];
        if (w == start / 64) word &= ~uint64_t{0} << (start % 64);
        if (word != 0) return at * kBits + w * 64 + static_cast<uint32_t>(std::countr_zero(word));
      }
    }
    return kNone;
  }
  // The lowest member that is at least `from` and none of the other's.
  [[nodiscard]] uint32_t next_not_in(const CowIdSet& other, uint32_t from) const {
    for (uint32_t at = blocks_.next_id(from / kBits); at != kNone; at = blocks_.next_id(at + 1)) {
      const Block& block = blocks_.at(at);
      const Block* without = other.blocks_.find(at);
      const uint32_t start = at == from / kBits ? from % kBits : 0;
      for (uint32_t w = start / 64; w < block.words.size(); ++w) {
        uint64_t word = block.words[w];
        if (without != nullptr) word &= ~without->words[w];
        if (w == start / 64) word &= ~uint64_t{0} << (start % 64);
        if (word != 0) return at * kBits + w * 64 + static_cast<uint32_t>(std::countr_zero(word));
      }
    }
    return kNone;
  }
  // Calls visit(id) in order; a bool false from it ends the walk.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (uint32_t id = next(0); id != kNone; id = next(id + 1)) {
      if constexpr (std::is_same_v<decltype(visit(id)), bool>) {
        if (!visit(id)) return;
      } else {
        visit(id);
      }
    }
  }
  friend bool operator==(const CowIdSet& a, const CowIdSet& b) {
    if (a.size_ != b.size_) return false;
    bool same = true;
    a.for_each([&](uint32_t id) { return same = b.contains(id); });
    return same;
  }

 private:
  static constexpr uint32_t kBits = 4096;
  struct Block {
    std::array<uint64_t, kBits / 64> words{};
    uint32_t used = 0;
  };
  CowTable<Block> blocks_;
  size_t size_ = 0;
};

}  // namespace sluice::state
