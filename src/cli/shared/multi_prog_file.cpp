#include "cli/shared/multi_prog_file.hpp"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/base/index_set.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {

Result<std::string> read_multi_prog(const std::string& path) {
  std::ifstream file(path);
  if (!file) return failure(fmt::format("Could not open multi_prog config file {}", path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> multi_prog_faults(std::string_view text,
                                           uint32_t tasks,
                                           const std::string& name) {
  std::vector<bool> known(tasks, false);
  bool rest = false;
  bool continued = false;
  int number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    const bool part_of_last = continued;
    continued = line.ends_with('\\');
    if (part_of_last || line.empty() || line.starts_with('#')) continue;
    const std::string ranks(line.substr(0, line.find_first_of(" \t")));
    if (ranks == "*") {
      rest = true;
      continue;
    }
    const auto set = IndexSet::parse(ranks);
    if (!set || set->empty()) {
      return {fmt::format("Invalid task range specification ({})", ranks),
              fmt::format("Line {} of configuration file {} invalid", number, name)};
    }
    set->for_each([&](uint32_t rank) {
      if (rank < tasks) known[rank] = true;
    });
  }
  for (uint32_t rank = 0; rank < tasks && !rest; ++rank) {
    if (known[rank]) continue;
    return {fmt::format("Configuration file {} invalid, no record for task id {}", name, rank)};
  }
  return {};
}

}  // namespace sluice::cli
