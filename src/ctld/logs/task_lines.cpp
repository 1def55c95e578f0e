#include "ctld/logs/task_lines.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "common/base/index_set.hpp"

namespace sluice::ctld {
namespace {

constexpr size_t kFew = 100;          // lines, each for itself
constexpr size_t kMostOfTasks = 200;  // bytes
constexpr std::string_view kJob = "JobId=";

// A line around "6_1(17)".
struct TaskLine {
  std::string_view before;  // with the array's id and the `_`
  std::string_view behind;
  uint32_t task = 0;
};

std::optional<TaskLine> task_line(std::string_view text) {
  const size_t job = text.find(kJob);
  if (job == std::string_view::npos) return std::nullopt;
  const size_t array = job + kJob.size();
  const size_t bar = text.find_first_not_of("0123456789", array);
  if (bar == std::string_view::npos || bar == array || text[bar] != '_') return std::nullopt;
  TaskLine line{.before = text.substr(0, bar + 1)};
  const std::string_view rest = text.substr(bar + 1);
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), line.task);
  const auto length = static_cast<size_t>(end - rest.data());
  const size_t closed = rest.find(')', length);
  if (failed != std::errc() || length == rest.size() || rest[length] != '(' ||
      closed == std::string_view::npos)
    return std::nullopt;
  line.behind = rest.substr(closed + 1);
  return line;
}

struct Alike {
  size_t count = 0;
  IndexSet tasks;
  bool is_out = false;
};

std::string text_of(const TaskLine& line, const Alike& all) {
  std::string tasks = all.tasks.to_text();
  if (tasks.size() > kMostOfTasks) {
    tasks.resize(tasks.rfind(',', kMostOfTasks));
    tasks += ",...";
  }
  return fmt::format("{}[{}]{}", line.before, tasks, line.behind);
}

}  // namespace

std::vector<log::Line> tasks_in_one_line(std::vector<log::Line> lines) {
  if (lines.size() <= kFew) return lines;
  const auto key_of = [](const TaskLine& line) {
    return std::string(line.before) + '\n' + std::string(line.behind);
  };
  std::unordered_map<std::string, Alike> all;
  for (const log::Line& line : lines) {
    const auto parts = task_line(line.text);
    if (!parts) continue;
    Alike& alike = all[key_of(*parts)];
    ++alike.count;
    alike.tasks.insert(parts->task);
  }
  std::vector<log::Line> out;
  for (log::Line& line : lines) {
    const auto parts = task_line(line.text);
    Alike* alike = parts ? &all.at(key_of(*parts)) : nullptr;
    if (alike == nullptr || alike->count <= kFew) {
      out.push_back(std::move(line));
    } else if (!std::exchange(alike->is_out, true)) {
      out.push_back({line.level, text_of(*parts, *alike)});
    }
  }
  return out;
}

}  // namespace sluice::ctld
