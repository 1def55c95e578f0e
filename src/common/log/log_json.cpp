// See log_json.hpp.
#include "common/log/log_json.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::log {
namespace {

bool is_any(std::string_view) { return true; }

// The first word behind `key` that may be one, in a line such as
// "_job_complete: JobId=17_3(20) WEXITSTATUS 0"; empty: there is none.
std::string_view value_of(std::string_view text, std::string_view key,
                          bool (*may_be)(std::string_view) = is_any) {
  for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    if (at != 0 && text[at - 1] != ' ') continue;
    const std::string_view rest = text.substr(at + key.size());
    const std::string_view word = rest.substr(0, rest.find_first_of(" ,:("));
    if (may_be(word)) return word;
  }
  return {};
}

// "the clock of this node is 3600 s behind" names none.
bool is_name(std::string_view word) {
  constexpr std::string_view kWords[] = {"is",    "are",  "was",   "were", "has", "have", "may",
                                         "does",  "not",  "and",   "or",   "of",  "to",   "in",
                                         "for",   "by",   "as",    "at",   "on",  "than", "that",
                                         "which", "with", "where", "who",  "when"};
  return !word.empty() && std::ranges::find(kWords, word) == std::end(kWords);
}

std::string_view node_of(std::string_view text) {
  for (const std::string_view key :
       {"NodeName=", "NodeList=", "node ", "Node ", "nodes ", "Nodes "}) {
    if (const std::string_view node = value_of(text, key, is_name); !node.empty()) return node;
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
