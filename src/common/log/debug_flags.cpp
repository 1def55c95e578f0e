// Names of levels, debug flags and time formats.
#include <array>
#include <bit>
#include <charconv>

#include <strings.h>

#include "common/log/log.hpp"

namespace sluice::log {
namespace {

constexpr std::array<std::string_view, 10> kLevelNames = {
    "quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5"};

// In the order of DebugFlag's bits.
constexpr std::array<std::string_view, 49> kFlagNames = {"Accrue",
                                                         "Agent",
                                                         "Backfill",
                                                         "BackfillMap",
                                                         "BurstBuffer",
                                                         "Cgroup",
                                                         "CPU_Bind",
                                                         "CpuFrequency",
                                                         "Data",
                                                         "Dependency",
                                                         "Elasticsearch",
                                                         "Energy",
                                                         "ExtSensors",
                                                         "Federation",
                                                         "FrontEnd",
                                                         "Gres",
                                                         "Hetjob",
                                                         "Gang",
                                                         "JobAccountGather",
                                                         "JobContainer",
                                                         "License",
                                                         "Network",
                                                         "NetworkRaw",
                                                         "NodeFeatures",
                                                         "NO_CONF_HASH",
                                                         "Power",
                                                         "Priority",
                                                         "Profile",
                                                         "Protocol",
                                                         "Reservation",
                                                         "Route",
                                                         "Script",
                                                         "SelectType",
                                                         "Steps",
                                                         "Switch",
                                                         "TimeCray",
                                                         "TraceJobs",
                                                         "Triggers",
                                                         "WorkQueue",
                                                         "AuditRPCs",
                                                         "AuditTLS",
                                                         "ConMgr",
                                                         "DBD_Agent",
                                                         "GLOB_SILENCE",
                                                         "JobComp",
                                                         "Namespace",
                                                         "Metrics",
                                                         "thread",
                                                         "TLS"};

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::optional<Level> parse_level(std::string_view text) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (same_name(text, kLevelNames[i])) return static_cast<Level>(i);
  }
  unsigned number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (number >= kLevelNames.size()) return std::nullopt;
  return static_cast<Level>(number);
}

std::string_view level_name(Level level) { return kLevelNames.at(static_cast<size_t>(level)); }

Result<uint64_t> parse_debug_flags(std::string_view names) {
  uint64_t flags = 0;
  while (!names.empty()) {
    const size_t comma = names.find(',');
    std::string_view name = names.substr(0, comma);
    names = comma == std::string_view::npos ? std::string_view{} : names.substr(comma + 1);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (name.empty()) continue;
    if (same_name(name, "PowerSave")) name = "Power";  // its older name
    size_t i = 0;
    while (i < kFlagNames.size() && !same_name(name, kFlagNames[i])) ++i;
    if (i == kFlagNames.size()) return failure(ErrorCode::kInvalidConfig, std::string(name));
    flags |= uint64_t{1} << i;
  }
  return flags;
}

std::string debug_flag_names(uint64_t flags) {
  std::string names;
  for (size_t i = 0; i < kFlagNames.size(); ++i) {
    if ((flags >> i & 1) == 0) continue;
    if (!names.empty()) names += ',';
    names += kFlagNames[i];
  }
  return names;
}

std::optional<TimeFormat> parse_time_format(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, TimeFormat>, 7> kFormats = {{
      {"iso8601", TimeFormat::kIso8601},
      {"iso8601_ms", TimeFormat::kIso8601Ms},
      {"rfc5424", TimeFormat::kRfc5424},
      {"rfc5424_ms", TimeFormat::kRfc5424Ms},
      {"clock", TimeFormat::kClock},
      {"short", TimeFormat::kShort},
      {"thread_id", TimeFormat::kThreadId},
  }};
  for (const auto& [name, format] : kFormats) {
    if (same_name(text, name)) return format;
  }
  return std::nullopt;
}

}  // namespace sluice::log
