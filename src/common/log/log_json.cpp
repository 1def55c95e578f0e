// See log_json.hpp.
#include "common/log/log_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::log {
namespace {

// What stands behind `key` in a line such as "_job_complete: JobId=17_3(20) WEXITSTATUS 0"; empty:
// nothing.
std::string_view value_of(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    if (at != 0 && text[at - 1] != ' ') continue;
    const std::string_view rest = text.substr(at + key.size());
    return rest.substr(0, rest.find_first_of(" ,:("));
  }
  return {};
}

std::string_view node_of(std::string_view text) {
  for (const std::string_view key :
       {"NodeName=", "NodeList=", "node ", "Node ", "nodes ", "Nodes "}) {
    if (const std::string_view node = value_of(text, key); !node.empty()) return node;
  }
  return {};
}

}  // namespace

std::string json_line(const JsonLine& line) {
  std::tm utc{};
  gmtime_r(&line.when.tv_sec, &utc);
  char seconds[32];
  const size_t size = std::strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
  nlohmann::ordered_json out;
  out["time"] =
      fmt::format("{}.{:03}Z", std::string_view(seconds, size), line.when.tv_nsec / 1'000'000);
  out["level"] = line.prefix.starts_with("warning") ? "warning" : level_name(line.level);
  out["program"] = line.program;
  out["message"] = line.text;
  if (const auto job = value_of(line.text, "JobId="); !job.empty()) out["job"] = job;
  if (const auto node = node_of(line.text); !node.empty()) out["node"] = node;
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sluice::log
