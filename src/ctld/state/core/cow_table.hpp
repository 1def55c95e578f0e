// CowTable<Value>: records keyed by a dense uint32, whose copy (a snapshot) costs one reference and
// shares everything. Records hang in chunks of 64, chunks in groups of 64, groups in one list; a
// change after a snapshot copies the list, one group, one chunk (pointers) and the one record.
// Emptied chunks are freed; the list forgets leading groups that are empty, so that ever-growing
// ids cost nothing.
//
// Readers may hold copies in other threads; one thread owns a copy and changes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ctld/state/core/cow_ptr.hpp"

namespace sluice::state {

template <class Value>
class CowTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;  // no id; never a key

  // The record, or null. The pointer holds until the table is changed.
  [[nodiscard]] const Value* find(uint32_t id) const {
    const Chunk* chunk = find_chunk(id / kFanOut);
    return chunk == nullptr ? nullptr : chunk->entries[id % kFanOut].get();
  }
  // The record, which must exist.
  [[nodiscard]] const Value& at(uint32_t id) const {
    const Value* found = find(id);
    SLUICE_CHECK(found != nullptr);
    return *found;
  }
  [[nodiscard]] bool contains(uint32_t id) const { return find(id) != nullptr; }

  // The record to change, which must exist; holds until the next change of the table or a copy.
  [[nodiscard]] Value& edit(uint32_t id) {
    SLUICE_CHECK(contains(id));
    return slot(id).edit();
  }
  // Adds a record; there must be none under this id.
  Value& insert(uint32_t id, Value value) {
    SLUICE_CHECK(id != kNone && !contains(id));
    Root& root = root_.edit();
    const uint32_t group_number = id / kFanOut / kFanOut;
    if (root.groups.empty()) root.first_group = group_number;
    if (group_number < root.first_group) {
      root.groups.insert(root.groups.begin(), root.first_group - group_number, {});
      root.first_group = group_number;
    }
    if (group_number - root.first_group >= root.groups.size()) {
      root.groups.resize(group_number - root.first_group + 1);
    }
    CowPtr<Group>& group = root.groups[group_number - root.first_group];
    if (!group || !group->chunks[id / kFanOut % kFanOut]) ++group.edit().used;
    Chunk& chunk = group.edit().chunks[id / kFanOut % kFanOut].edit();
    ++chunk.used;
    ++root.size;
    return (chunk.entries[id % kFanOut] = CowPtr<Value>::make(std::move(value))).edit();
  }
  // The record to change, made afresh when there is none.
  [[nodiscard]] Value& edit_or_insert(uint32_t id) {
    return contains(id) ? edit(id) : insert(id, Value{});
  }
  // False when there was none.
  bool erase(uint32_t id) {
    if (!contains(id)) return false;
    Root& root = root_.edit();
    CowPtr<Group>& group = root.groups[id / kFanOut / kFanOut - root.first_group];
    CowPtr<Chunk>& chunk = group.edit().chunks[id / kFanOut % kFanOut];
    chunk.edit().entries[id % kFanOut] = {};
    --root.size;
    if (--chunk.edit().used == 0) {
      chunk = {};
      if (--group.edit().used == 0) group = {};
    }
    drop_leading(root);
    return true;
  }
  void clear() { root_ = {}; }

  [[nodiscard]] size_t size() const { return root_ ? root_->size : 0; }
  [[nodiscard]] bool empty() const { return size() == 0; }

  // The lowest id that is at least `from`; kNone when there is none.
  [[nodiscard]] uint32_t next_id(uint32_t from) const {
    if (!root_ || from == kNone) return kNone;
    const uint64_t lowest = uint64_t{root_->first_group} * kFanOut * kFanOut;
    uint64_t id = from < lowest ? lowest : from;
    while (id / kFanOut / kFanOut - root_->first_group < root_->groups.size()) {
      const CowPtr<Group>& group = root_->groups[id / kFanOut / kFanOut - root_->first_group];
      if (!group) {
        id = (id / kFanOut / kFanOut + 1) * kFanOut * kFanOut;
        continue;
      }
      const CowPtr<Chunk>& chunk = group->chunks[id / kFanOut % kFanOut];
      if (!chunk) {
        id = (id / kFanOut + 1) * kFanOut;
        continue;
      }
      if (chunk->entries[id % kFanOut]) return static_cast<uint32_t>(id);
      ++id;
    }
    return kNone;
  }
  // Calls visit(const Value&) in the order of ids; the table must not be changed meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (!root_) return;
    for (const CowPtr<Group>& group : root_->groups) {
      if (!group) continue;
      for (const CowPtr<Chunk>& chunk : group->chunks) {
        if (!chunk) continue;
        for (const CowPtr<Value>& entry : chunk->entries) {
          if (entry) visit(*entry);
        }
      }
    }
  }

 private:
  static constexpr uint32_t kFanOut = 64;
  struct Chunk {
    std::array<CowPtr<Value>, kFanOut> entries;
    uint32_t used = 0;
  };
  struct Group {
    std::array<CowPtr<Chunk>, kFanOut> chunks;
    uint32_t used = 0;
  };
  struct Root {
    std::vector<CowPtr<Group>> groups;
    uint32_t first_group = 0;
    size_t size = 0;
  };

  [[nodiscard]] const Chunk* find_chunk(uint32_t number) const {
    if (!root_ || number / kFanOut < root_->first_group) return nullptr;
    const size_t at = number / kFanOut - root_->first_group;
    if (at >= root_->groups.size() || !root_->groups[at]) return nullptr;
    return root_->groups[at]->chunks[number % kFanOut].get();
  }
  CowPtr<Value>& slot(uint32_t id) {
    Root& root = root_.edit();
    Group& group = root.groups[id / kFanOut / kFanOut - root.first_group].edit();
    return group.chunks[id / kFanOut % kFanOut].edit().entries[id % kFanOut];
  }
  static void drop_leading(Root& root) {
    size_t empty = 0;
    while (empty < root.groups.size() && !root.groups[empty]) ++empty;
    // now and then is enough; moving the rest each time would cost more than it saves
    if (empty == 0 || (empty < 16 && empty < root.groups.size())) return;
    root.groups.erase(root.groups.begin(), root.groups.begin() + static_cast<ptrdiff_t>(empty));
    root.first_group += static_cast<uint32_t>(empty);
  }

  CowPtr<Root> root_;
};

}  // namespace sluice::state
