// The log's targets, on spdlog's sinks. Levels are ours (Slurm has more than spdlog), so a line is
// filtered and formatted here and a sink only writes it.
#include "common/log/log.hpp"
#include "common/log/before_lines.hpp"
#include "common/log/log_file.hpp"
#include "common/log/log_json.hpp"
#include "common/log/log_line.hpp"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::log {
namespace {

using SinkPtr = std::shared_ptr<spdlog::sinks::sink>;

// A sink that writes the given text and a newline.
SinkPtr plain(SinkPtr sink) {
  sink->set_formatter(std::make_unique<spdlog::pattern_formatter>("%v"));
  return sink;
}

struct Targets {
  std::mutex mutex;
  Options options;
  SinkPtr to_stderr = plain(std::make_shared<spdlog::sinks::stderr_sink_st>());
  bool stderr_is_journal = false;
  AppendFile to_file;
  SinkPtr to_syslog;
  std::timespec last{};                                 // of the newest line
  std::shared_ptr<const std::function<void()>> before;  // null: nothing

  [[nodiscard]] Level most() const {
    return std::max({options.stderr_level, to_file.is_open() ? options.file_level : Level::kQuiet,
                     to_syslog ? options.syslog_level : Level::kQuiet});
  }
  void publish_threshold() const {
    detail::threshold.store(static_cast<int>(most()), std::memory_order_relaxed);
  }
};

// Never destroyed: threads may log until the very end of the process.
Targets& targets() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): it is guarded
  static auto* const instance = new Targets;
  return *instance;
}

constexpr std::string_view kWarningPrefix = "warning: ";

std::string_view prefix_of(Level level) {
  switch (level) {
    case Level::kFatal: return "fatal: ";
    case Level::kError: return "error: ";
    case Level::kDebug: return "debug:  ";
    case Level::kDebug2: return "debug2: ";
    case Level::kDebug3: return "debug3: ";
    case Level::kDebug4: return "debug4: ";
    case Level::kDebug5: return "debug5: ";
    default: return "";
  }
}

std::string strftime_text(const char* format, const std::tm& local) {
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &local)};
}

std::string zone_text(const std::tm& local) {  // "+01:00"
  const std::string zone = strftime_text("%z", local);
  return zone.size() == 5 ? fmt::format("{}:{}", zone.substr(0, 3), zone.substr(3)) : zone;
}

std::string stamp(TimeFormat format, const std::timespec& now) {
  std::tm local{};
  localtime_r(&now.tv_sec, &local);
  const long ms = now.tv_nsec / 1'000'000;
  switch (format) {
    case TimeFormat::kIso8601: return strftime_text("[%Y-%m-%dT%H:%M:%S] ", local);
    case TimeFormat::kIso8601Ms:
      return fmt::format("[{}.{:03}] ", strftime_text("%Y-%m-%dT%H:%M:%S", local), ms);
    case TimeFormat::kRfc5424:
      return fmt::format("[{}{}] ", strftime_text("%Y-%m-%dT%H:%M:%S", local), zone_text(local));
    case TimeFormat::kRfc5424Ms:
      return fmt::format("[{}.{:03}{}] ", strftime_text("%Y-%m-%dT%H:%M:%S", local), ms,
                         zone_text(local));
    case TimeFormat::kClock: return fmt::format("[{}] ", std::clock());
    case TimeFormat::kShort: return strftime_text("[%b %d %T] ", local);
    case TimeFormat::kThreadId:
      return fmt::format("[{}.{:06} {} {}] ", strftime_text("%b %d %T", local), now.tv_nsec / 1000,
                         getpid(), gettid());
  }
  return {};
}

spdlog::level::level_enum spdlog_level(Level level) {
  if (level <= Level::kFatal) return spdlog::level::critical;
  if (level == Level::kError) return spdlog::level::err;
  if (level <= Level::kVerbose) return spdlog::level::info;
  return spdlog::level::debug;
}

// A log that cannot be written (a full disk) must not end the process.
void emit(const SinkPtr& sink, Level level, std::string_view line) {
  try {
    sink->log(spdlog::details::log_msg("", spdlog_level(level),
                                       spdlog::string_view_t(line.data(), line.size())));
    sink->flush();
  } catch (const std::exception&) {}
}

// Whether journald reads our standard error: $JOURNAL_STREAM names it by device and inode
// (systemd.exec(5)).
bool is_journal(int fd) {
  const char* stream = std::getenv("JOURNAL_STREAM");  // NOLINT(concurrency-mt-unsafe)
  struct stat file {};
  return stream != nullptr && ::fstat(fd, &file) == 0 &&
         fmt::format("{}:{}", file.st_dev, file.st_ino) == stream;
}

struct Entry {
  Level level = Level::kInfo;
  std::string_view prefix;
  std::string_view text;
  std::timespec when{};
  bool always = false;  // whatever the level of a target is
};

// What journald takes from the beginning of a line as its priority (sd-daemon(3)).
std::string journal_priority(const Entry& entry) {
  const int priority = entry.prefix == kWarningPrefix   ? LOG_WARNING
                       : entry.level <= Level::kFatal   ? LOG_CRIT
                       : entry.level == Level::kError   ? LOG_ERR
                       : entry.level <= Level::kVerbose ? LOG_INFO
                                                        : LOG_DEBUG;
  return fmt::format("<{}>", priority);
}

// Lines are in the order of their times: one that was late has that of the line before it. The
// clock may be set back further.
std::timespec in_order(Targets& log, const std::timespec& when) {
  constexpr int64_t kLate = 1'000'000'000;
  const int64_t behind =
      (log.last.tv_sec - when.tv_sec) * 1'000'000'000 + (log.last.tv_nsec - when.tv_nsec);
  if (behind <= 0 || behind > kLate) log.last = when;
  return log.last;
}

// Under the mutex. What the file gets is added to `file`, so that many lines are one write.
void emit(Targets& log, const Entry& entry, std::string& file) {
  const Options& options = log.options;
  const auto wanted = [&](Level most) { return entry.level <= most || entry.always; };
  const bool to_file = log.to_file.is_open() && wanted(options.file_level);
  const bool to_syslog = log.to_syslog && wanted(options.syslog_level);
  const bool to_stderr =
      entry.level <= options.stderr_level || (entry.always && !to_file && !to_syslog);
  const std::string priority =
      to_stderr && log.stderr_is_journal ? journal_priority(entry) : std::string();
  if (options.json) {
    const std::string line =
        json_line({entry.level, options.program, entry.prefix, entry.text, entry.when});
    if (to_file) file += line + '\n';
    if (to_stderr) emit(log.to_stderr, entry.level, priority + line);
    if (to_syslog) emit(log.to_syslog, entry.level, line);
    return;
  }
  if (to_file) {
    fmt::format_to(std::back_inserter(file), "{}{}{}\n", stamp(options.time_format, entry.when),
                   entry.prefix, entry.text);
  }
  if (to_stderr) {
    const bool named = !options.program.empty();
    emit(log.to_stderr, entry.level,
         fmt::format("{}{}{}{}{}", priority, options.program, named ? ": " : "", entry.prefix,
                     entry.text));
  }
  if (to_syslog) emit(log.to_syslog, entry.level, fmt::format("{}{}", entry.prefix, entry.text));
}

void emit_now(Entry entry) {
  Targets& log = targets();
  std::shared_ptr<const std::function<void()>> before;
  {
    const std::lock_guard lock(log.mutex);
    before = log.before;
  }
  if (before) (*before)();
  std::string file;
  const std::lock_guard lock(log.mutex);
  entry.when = in_order(log, entry.when);
  emit(log, entry, file);
  if (!file.empty()) log.to_file.write(file);
}

std::timespec now() {
  std::timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

}  // namespace

Status configure(const Options& options) {
  Targets& log = targets();
  AppendFile file;
  SinkPtr syslog;
  if (!options.file.empty()) {
    auto opened = AppendFile::open(options.file);
    if (!opened) return tl::unexpected<Error>(opened.error());
    file = std::move(*opened);
  }
  try {
    if (options.syslog_level > Level::kQuiet) {
      syslog = plain(std::make_shared<spdlog::sinks::syslog_sink_st>(options.program, LOG_PID,
                                                                     LOG_DAEMON, true));
    }
  } catch (const std::exception& problem) {
    return failure(ErrorCode::kPathMissing, problem.what());
  }
  const std::lock_guard lock(log.mutex);
  log.options = options;
  log.stderr_is_journal = is_journal(STDERR_FILENO);
  log.to_file = std::move(file);
  log.to_syslog = std::move(syslog);
  log.publish_threshold();
  return {};
}

Status reopen() {
  Targets& log = targets();
  const std::lock_guard lock(log.mutex);
  if (!log.to_file.is_open()) return {};
  auto opened = AppendFile::open(log.options.file);
  if (!opened) return tl::unexpected<Error>(opened.error());
  log.to_file = std::move(*opened);
  return {};
}

void set_level(Level level) {
  Targets& log = targets();
  const std::lock_guard lock(log.mutex);
  if (log.to_file.is_open()) {
    log.options.file_level = level;
  } else {
    log.options.stderr_level = level;
    if (log.to_syslog) log.options.syslog_level = level;
  }
  log.publish_threshold();
}

Level level() {
  Targets& log = targets();
  const std::lock_guard lock(log.mutex);
  return log.to_file.is_open() ? log.options.file_level : log.options.stderr_level;
}

void set_debug_flags(uint64_t flags) { detail::flags.store(flags, std::memory_order_relaxed); }
uint64_t debug_flags() { return detail::flags.load(std::memory_order_relaxed); }

std::string stamp_now() {
  Targets& log = targets();
  const std::timespec time = now();
  const std::lock_guard lock(log.mutex);
  return stamp(log.options.time_format, time);
}

namespace detail {

void write(Level level, std::string_view text) {
  const std::string message = log_line(text);
  emit_now({.level = level, .prefix = prefix_of(level), .text = message, .when = now()});
}

void vwarning(fmt::string_view format, fmt::format_args args) {
  const std::string message = log_line(bounded_text(format, args));
  emit_now({.level = Level::kError,
            .prefix = kWarningPrefix,
            .text = message,
            .when = now(),
            .always = true});
}

void vlog(Level level, fmt::string_view format, fmt::format_args args) {
  write(level, bounded_text(format, args));
}

void vlog_flag(DebugFlag flag, fmt::string_view format, fmt::format_args args) {
  if (!enabled(Level::kVerbose)) return;
  std::string heading = debug_flag_names(static_cast<uint64_t>(flag));
  for (char& c : heading) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  write(Level::kVerbose, fmt::format("{}: {}", heading, bounded_text(format, args)));
}

void vfatal(fmt::string_view format, fmt::format_args args) {
  write(Level::kFatal, bounded_text(format, args));
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): the process cannot go on
}

}  // namespace detail

void before_lines(std::function<void()> hook) {
  Targets& log = targets();
  const std::lock_guard lock(log.mutex);
  log.before = hook ? std::make_shared<const std::function<void()>>(std::move(hook)) : nullptr;
}

void write_lines(std::span<const Line> lines, Time when) {
  Targets& log = targets();
  const auto since_1970 = when.time_since_epoch();
  const std::timespec time{.tv_sec = to_seconds(when),
                           .tv_nsec = since_1970.count() % 1'000'000 * 1000};
  std::vector<std::string> messages;
  messages.reserve(lines.size());
  for (const Line& line : lines) messages.push_back(log_line(line.text));
  std::string file;
  const std::lock_guard lock(log.mutex);
  const std::timespec stamp = in_order(log, time);
  for (size_t i = 0; i < lines.size(); ++i) {
    emit(log,
         {.level = lines[i].level,
          .prefix = prefix_of(lines[i].level),
          .text = messages[i],
          .when = stamp},
         file);
  }
  if (!file.empty()) log.to_file.write(file);
}

}  // namespace sluice::log
