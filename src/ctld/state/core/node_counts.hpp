// How many jobs are on each node, of those that count somewhere: a node counts once, however many
// of its jobs they are. Copies share what they have; one job on one node takes some 300 bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/check.hpp"
#include "common/base/ids.hpp"
#include "ctld/state/core/cow_ptr.hpp"

namespace sluice::state {

class NodeCounts {
 public:
  // Nodes with a job at least.
  [[nodiscard]] uint32_t size() const { return size_; }
  [[nodiscard]] bool contains(NodeId node) const {
    const auto at = std::ranges::lower_bound(blocks_, node / kNodes, {}, &Entry::number);
    return at != blocks_.end() && at->number == node / kNodes && at->block->jobs[node % kNodes] > 0;
  }
  // One job more, or one less, on each of these.
  template <class Nodes, class IdOf>
  void add(const Nodes& nodes, IdOf&& id_of) {
    change(nodes, id_of, [this](Block& block, uint32_t& jobs) {
      if (jobs++ > 0) return;
      ++block.used;
      ++size_;
    });
  }
  template <class Nodes, class IdOf>
  void take(const Nodes& nodes, IdOf&& id_of) {
    change(nodes, id_of, [this](Block& block, uint32_t& jobs) {
      SLUICE_CHECK(jobs > 0);
      if (--jobs > 0) return;
      --block.used;
      --size_;
    });
    std::erase_if(blocks_, [](const Entry& one) { return one.block->used == 0; });
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& one : blocks_) {
      for (uint32_t at = 0; at < kNodes; ++at) {
        if (one.block->jobs[at] > 0) visit(NodeId{one.number * kNodes + at});
      }
    }
  }
  bool operator==(const NodeCounts& other) const {
    return size_ == other.size_ &&
           std::ranges::equal(blocks_, other.blocks_, [](const Entry& a, const Entry& b) {
             return a.number == b.number && a.block->jobs == b.block->jobs;
           });
  }

 private:
  static constexpr uint32_t kNodes = 64;  // of a block
  struct Block {
    std::array<uint32_t, kNodes> jobs{};
    uint32_t used = 0;
  };
  struct Entry {
    uint32_t number = 0;
    CowPtr<Block> block;
  };

  // Nodes of a block follow each other mostly, so that it is looked up once.
  template <class Nodes, class IdOf, class Update>
  void change(const Nodes& nodes, IdOf&& id_of, Update&& update) {
    Block* block = nullptr;
    uint32_t number = 0;
    for (const auto& one : nodes) {
      const NodeId node = id_of(one);
      if (block == nullptr || number != node / kNodes) {
        number = node / kNodes;
        auto at = std::ranges::lower_bound(blocks_, number, {}, &Entry::number);
        if (at == blocks_.end() || at->number != number) at = blocks_.insert(at, Entry{number, {}});
        block = &at->block.edit();
      }
      update(*block, block->jobs[node % kNodes]);
    }
  }

  std::vector<Entry> blocks_;  // by number; none without a job
  uint32_t size_ = 0;
};

}  // namespace sluice::state
