// The process's log: Slurm's levels and line format, to a file, the standard error and syslog.
//
//   log::info("job {} started on {}", job, nodes);
//   log::flag(log::DebugFlag::kSteps, "{} tasks launched", count);   // only with DebugFlags=Steps
//
// A call whose level is off costs one relaxed load; its arguments are not formatted. Until
// configure() is called, everything up to `info` goes to the standard error. All functions may be
// called from any thread. This is the one process-wide object: a log is reached from everywhere,
// and handing it through every constructor would say nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace sluice::log {

// Slurm's levels and their numbers (SlurmctldDebug=3 means info).
enum class Level : int {
  kQuiet = 0,
  kFatal,
  kError,
  kInfo,
  kVerbose,
  kDebug,
  kDebug2,
  kDebug3,
  kDebug4,
  kDebug5,
};

// "debug2" or "6", in any case; nullopt for anything else.
[[nodiscard]] std::optional<Level> parse_level(std::string_view text);
[[nodiscard]] std::string_view level_name(Level level);  // "debug2"

// DebugFlags of slurm.conf, as bits.
enum class DebugFlag : uint64_t;

// Comma separated names in any case; an unknown name is the error's text.
[[nodiscard]] Result<uint64_t> parse_debug_flags(std::string_view names);
[[nodiscard]] std::string debug_flag_names(uint64_t flags);  // "Backfill,Steps", "" for none

// LogTimeFormat of slurm.conf; applies to the log file only.
enum class TimeFormat {
  kIso8601Ms,
  kIso8601,
  kRfc5424Ms,
  kRfc5424,
  kClock,
  kShort,
  kThreadId,
};
[[nodiscard]] std::optional<TimeFormat> parse_time_format(std::string_view text);

struct Options {
  std::string program;                // "slurmctld": prefix of lines on the standard error
  Level stderr_level = Level::kInfo;  // kQuiet switches a target off
  std::string file;                   // empty: no file
  Level file_level = Level::kQuiet;
  Level syslog_level = Level::kQuiet;
  TimeFormat time_format = TimeFormat::kIso8601Ms;
  bool json = false;  // a JSON object a line on all targets, for journald and Loki
};

// Replaces all targets. When the file cannot be opened the log stays as it was.
Status configure(const Options& options);

// Opens the file anew by its name (after logrotate, SIGUSR2).
Status reopen();

// Changes the level of the file, or of the standard error and syslog when there is no file.
void set_level(Level level);
[[nodiscard]] Level level();

void set_debug_flags(uint64_t flags);
[[nodiscard]] uint64_t debug_flags();

namespace detail {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see the top of the file
inline std::atomic<int> threshold{static_cast<int>(Level::kInfo)};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
inline std::atomic<uint64_t> flags{0};

void write(Level level, std::string_view message);
void vwarning(fmt::string_view format, fmt::format_args args);
void vlog(Level level, fmt::string_view format, fmt::format_args args);
void vlog_flag(DebugFlag flag, fmt::string_view format, fmt::format_args args);
[[noreturn]] void vfatal(fmt::string_view format, fmt::format_args args);
}  // namespace detail

[[nodiscard]] inline bool enabled(Level level) {
  return static_cast<int>(level) <= detail::threshold.load(std::memory_order_relaxed);
}
// The most that any target takes.
[[nodiscard]] inline Level most() {
  return static_cast<Level>(detail::threshold.load(std::memory_order_relaxed));
}
[[nodiscard]] inline bool enabled(DebugFlag flag) {
  return (detail::flags.load(std::memory_order_relaxed) & static_cast<uint64_t>(flag)) != 0;
}

template <class... Args>
void log(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level)) detail::vlog(level, format, fmt::make_format_args(args...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  log(Level::kError, format, std::forward<Args>(args)...);
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  log(Level::kInfo, format, std::forward<Args>(args)...);
}
template <class... Args>
void verbose(fmt::format_string<Args...> format, Args&&... args) {
  log(Level::kVerbose, format, std::forward<Args>(args)...);
}
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  log(Level::kDebug, format, std::forward<Args>(args)...);
}
template <class... Args>
void debug2(fmt::format_string<Args...> format, Args&&... args) {
  log(Level::kDebug2, format, std::forward<Args>(args)...);
}
template <class... Args>
void debug3(fmt::format_string<Args...> format, Args&&... args) {
  log(Level::kDebug3, format, std::forward<Args>(args)...);
}
// A line of a debug flag: shown at level `verbose` and up, headed by the flag's name ("STEPS: …").
template <class... Args>
void flag(DebugFlag which, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(which)) detail::vlog_flag(which, format, fmt::make_format_args(args...));
}
// For what an administrator must see: written whatever the level is, headed by "warning: ".
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  detail::vwarning(format, fmt::make_format_args(args...));
}
// Many lines of one moment, written at once; those whose level is off are left out.
struct Line {
  Level level = Level::kInfo;
  std::string text;
  [[nodiscard]] bool operator==(const Line&) const = default;
};
void write_lines(std::span<const Line> lines, Time when);

// Logs, then ends the process with exit status 1. For start-up only.
template <class... Args>
[[noreturn]] void fatal(fmt::format_string<Args...> format, Args&&... args) {
  detail::vfatal(format, fmt::make_format_args(args...));
}

enum class DebugFlag : uint64_t {
  kAccrue = 1ull << 0,
  kAgent = 1ull << 1,
  kBackfill = 1ull << 2,
  kBackfillMap = 1ull << 3,
  kBurstBuffer = 1ull << 4,
  kCgroup = 1ull << 5,
  kCpuBind = 1ull << 6,
  kCpuFrequency = 1ull << 7,
  kData = 1ull << 8,
  kDependency = 1ull << 9,
  kElasticsearch = 1ull << 10,
  kEnergy = 1ull << 11,
  kExtSensors = 1ull << 12,
  kFederation = 1ull << 13,
  kFrontEnd = 1ull << 14,
  kGres = 1ull << 15,
  kHetjob = 1ull << 16,
  kGang = 1ull << 17,
  kJobAccountGather = 1ull << 18,
  kJobContainer = 1ull << 19,
  kLicense = 1ull << 20,
  kNetwork = 1ull << 21,
  kNetworkRaw = 1ull << 22,
  kNodeFeatures = 1ull << 23,
  kNoConfHash = 1ull << 24,
  kPower = 1ull << 25,
  kPriority = 1ull << 26,
  kProfile = 1ull << 27,
  kProtocol = 1ull << 28,
  kReservation = 1ull << 29,
  kRoute = 1ull << 30,
  kScript = 1ull << 31,
  kSelectType = 1ull << 32,
  kSteps = 1ull << 33,
  kSwitch = 1ull << 34,
  kTimeCray = 1ull << 35,
  kTraceJobs = 1ull << 36,
  kTriggers = 1ull << 37,
  kWorkQueue = 1ull << 38,
  kAuditRpcs = 1ull << 39,
  kAuditTls = 1ull << 40,
  kConMgr = 1ull << 41,
  kDbdAgent = 1ull << 42,
  kGlobSilence = 1ull << 43,
  kJobComp = 1ull << 44,
  kNamespace = 1ull << 45,
  kMetrics = 1ull << 46,
  kThread = 1ull << 47,
  kTls = 1ull << 48,
};

}  // namespace sluice::log
