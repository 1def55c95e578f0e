#include "stepd/mpi/process_mapping.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace sluice::stepd {
namespace {

struct Block {
  uint32_t first = 0;
  uint32_t nodes = 1;
  uint32_t ranks = 1;  // on each node
  friend bool operator==(const Block&, const Block&) = default;
};

std::vector<uint32_t> node_of_each_rank(const StepLayout& layout) {
  std::vector<uint32_t> nodes(layout.num_tasks);
  for (uint32_t node = 0; node < layout.nodes.size(); ++node) {
    for (const uint32_t rank : layout.nodes[node].tasks) {
      if (rank < nodes.size()) nodes[rank] = node;
    }
  }
  return nodes;
}

std::vector<Block> blocks_of(const std::vector<uint32_t>& nodes) {
  std::vector<Block> blocks;
  for (size_t rank = 0; rank < nodes.size();) {
    size_t end = rank;
    while (end < nodes.size() && nodes[end] == nodes[rank])
      ++end;
    const auto count = static_cast<uint32_t>(end - rank);
    if (!blocks.empty() && blocks.back().ranks == count &&
        blocks.back().first + blocks.back().nodes == nodes[rank]) {
      ++blocks.back().nodes;
    } else {
      blocks.push_back({nodes[rank], 1, count});
    }
    rank = end;
  }
  return blocks;
}

}  // namespace

std::string process_mapping(const StepLayout& layout) {
  std::vector<Block> blocks = blocks_of(node_of_each_rank(layout));
  const bool repeats = std::all_of(blocks.begin(), blocks.end(),
                                   [&](const Block& block) { return block == blocks.front(); });
  if (repeats && !blocks.empty()) blocks.resize(1);
  std::string out = "(vector";
  for (const Block& block : blocks)
    out += fmt::format(",({},{},{})", block.first, block.nodes, block.ranks);
  out += ')';
  if (out.size() > kMaxMappingBytes) out.clear();
  return out;
}

}  // namespace sluice::stepd
