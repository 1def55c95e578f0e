#include "stepd/binding/numa_nodes.hpp"

#include <fmt/format.h>

#include "common/os/read_file.hpp"
#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {

constexpr const char* kNodesFolder = "/sys/devices/system/node";

Bitmap numbers_of(const std::string& file) {
  const auto text = read_file(file);
  const auto numbers = text ? Bitmap::from_text(trim(*text)) : std::nullopt;
  return numbers ? *numbers : Bitmap();
}

}  // namespace

Bitmap numa_nodes() {
  Bitmap nodes = numbers_of(fmt::format("{}/online", kNodesFolder));
  if (nodes.none()) nodes.set(0);
  return nodes;
}

Bitmap cpus_of_numa_node(size_t node) {
  return numbers_of(fmt::format("{}/node{}/cpulist", kNodesFolder, node));
}

}  // namespace sluice::stepd
