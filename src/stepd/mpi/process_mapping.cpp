#include "stepd/mpi/process_mapping.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace sluice::stepd {
namespace {

struct Block {
  uint32_t first = 0;
  uint32_t nodes = 1;
  uint32_t ranks = 1;  // on each node
};

constexpr size_t kShortestBlock = std::string_view(",(0,1,1)").size();

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
    while (end < nodes.size() && nodes[end] == nodes[rank]) ++end;
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

// Whether these blocks, over and over, put each rank where it is.
bool repeat_to(std::span<const Block> blocks, const std::vector<uint32_t>& nodes) {
  for (size_t rank = 0; rank < nodes.size();) {
    for (const Block& block : blocks) {
      const size_t end = std::min<size_t>(nodes.size(), rank + size_t{block.nodes} * block.ranks);
      for (size_t i = rank; i < end; ++i) {
        if (nodes[i] != block.first + (i - rank) / block.ranks) return false;
      }
      rank = end;
    }
  }
  return true;
}

}  // namespace

std::string process_mapping(const StepLayout& layout) {
  const std::vector<uint32_t> nodes = node_of_each_rank(layout);
  std::vector<Block> blocks = blocks_of(nodes);
  const size_t most = std::min(blocks.size(), kMaxMappingBytes / kShortestBlock);
  for (size_t count = 1; count <= most; ++count) {
    if (!repeat_to(std::span(blocks).first(count), nodes)) continue;
    blocks.resize(count);
    break;
  }
  std::string out = "(vector";
  for (const Block& block : blocks)
    out += fmt::format(",({},{},{})", block.first, block.nodes, block.ranks);
  out += ')';
  if (out.size() > kMaxMappingBytes) out.clear();
  return out;
}

std::vector<std::string> distinct_node_names(const StepLayout& layout) {
  std::set<std::string> taken;
  for (const StepNode& node : layout.nodes) taken.insert(node.name);
  std::set<std::string> seen;
  std::vector<std::string> out;
  for (const StepNode& node : layout.nodes) {
    std::string name = node.name;
    for (uint32_t number = 2; !seen.insert(name).second; ++number) {
      name = fmt::format("{}_{}", node.name, number);
      while (taken.contains(name)) name = fmt::format("{}_{}", node.name, ++number);
    }
    out.push_back(name);
  }
  return out;
}

}  // namespace sluice::stepd
