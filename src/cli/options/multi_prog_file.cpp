#include "cli/options/multi_prog_file.hpp"

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

constexpr uint32_t kMostTasks = 1U << 24;  // where the file itself says how many there are

// The records of one file, read line by line.
class Records {
 public:
  explicit Records(uint32_t tasks) : most_(tasks == 0 ? kMostTasks : tasks), known_(tasks, false) {}

  // What is wrong with a line that begins a record: an empty text where only the line is to be
  // named.
  std::optional<std::string> take(std::string_view line) {
    const size_t blank = line.find_first_of(" \t");
    const std::string ranks(line.substr(0, blank));
    if (trim(line.substr(ranks.size())).empty()) return "";  // no program
    if (ranks == "*") {
      rest_ = true;
      return std::nullopt;
    }
    if (rest_) return "Task range specification with asterisk must be last";
    for (const std::string& part : split_list(ranks)) {
      if (auto fault = take_range(part)) return fault;
    }
    return std::nullopt;
  }

  [[nodiscard]] uint32_t tasks() const { return static_cast<uint32_t>(known_.size()); }

  // The first task that no record is for.
  [[nodiscard]] std::optional<uint32_t> unknown_task() const {
    for (uint32_t rank = 0; rank < known_.size() && !rest_; ++rank) {
      if (!known_[rank]) return rank;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> take_range(std::string_view part) {
    const size_t dash = part.find('-');
    const bool range = dash != std::string_view::npos;
    const auto first = to_number<uint32_t>(part.substr(0, dash));
    const auto last = range ? to_number<uint32_t>(part.substr(dash + 1)) : first;
    if (!first || !last) {
      const bool begun = range && part.front() >= '0' && part.front() <= '9';
      return begun ? "Invalid task range specification"
                   : fmt::format("Invalid task range specification ({})", part);
    }
    if (*last < *first) return fmt::format("Invalid task range, {}-{}", *first, *last);
    if (*last >= most_) return fmt::format("Invalid task id, {} >= ntasks", *last);
    if (*last >= known_.size()) known_.resize(*last + 1, false);
    for (uint32_t rank = *first; rank <= *last; ++rank) {
      if (known_[rank]) return fmt::format("Duplicate record for task {}", rank);
      known_[rank] = true;
    }
    return std::nullopt;
  }

  uint32_t most_;
  std::vector<bool> known_;  // by rank
  bool rest_ = false;        // a record with * is for all others
};

}  // namespace

Result<std::string> read_multi_prog(const std::string& path) {
  std::ifstream file(path);
  if (!file) return failure(fmt::format("Could not open multi_prog config file {}", path));
  // A folder opens like a file and fails when it is read: read() tells so, while an iterator over
  // the stream's buffer would throw.
  std::string text;
  char buffer[4096];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) return failure(fmt::format("Error reading multi_prog config file {}", path));
  return text;
}

MultiProgCheck check_multi_prog(std::string_view text, uint32_t tasks, const std::string& name) {
  Records records(tasks);
  bool continued = false;
  int number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    const bool part_of_last = continued;
    continued = line.ends_with('\\');
    if (part_of_last || line.empty() || line.starts_with('#')) continue;
    const auto fault = records.take(line);
    if (!fault) continue;
    std::vector<std::string> faults = {
        fmt::format("Line {} of configuration file {} invalid", number, name)};
    if (!fault->empty()) faults.insert(faults.begin(), *fault);
    return {std::move(faults), records.tasks()};
  }
  if (const auto rank = records.unknown_task()) {
    return {{fmt::format("Configuration file {} invalid, no record for task id {}", name, *rank)},
            records.tasks()};
  }
  return {{}, records.tasks()};
}

}  // namespace sluice::cli
