#include "common/daemon/log_setup.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/log/log.hpp"

namespace sluice::daemon {
namespace {

void set_flags(const std::vector<std::string>& names) {
  uint64_t flags = 0;
  for (const std::string& name : names) flags |= log::parse_debug_flags(name).value_or(0);
  log::set_debug_flags(flags);
}

// What the log was last opened with; written by the thread that starts or reconfigures the daemon.
LogSettings& current_settings() {
  static LogSettings settings;
  return settings;
}

Status open_log(const LogSettings& settings) {
  const auto adjusted = [&](DebugLevel level) {
    return static_cast<log::Level>(std::clamp(static_cast<int>(level) + settings.more, 0, 9));
  };
  log::Options options;
  options.program = settings.program;
  options.file = settings.file;
  options.file_level = settings.file.empty() ? log::Level::kQuiet : adjusted(settings.level);
  // until the terminal is released, errors of the start reach whoever started the daemon
  options.stderr_level = settings.foreground ? adjusted(settings.level) : log::Level::kError;
  if (settings.syslog_level) options.syslog_level = adjusted(*settings.syslog_level);
  else if (settings.file.empty() && !settings.foreground)
    options.syslog_level = adjusted(settings.level);
  for (const std::string& word : split_list(settings.time_format)) {
    options.time_format = log::parse_time_format(word).value_or(options.time_format);
  }
  options.json = settings.json;
  return log::configure(options);
}

}  // namespace

bool wants_json(const ClusterConfig& config) {
  return iequals(option_value(config.sluice_parameters, "log_format").value_or(""), "json");
}

Status start_log(const LogSettings& settings) {
  set_flags(settings.debug_flags);
  current_settings() = settings;
  return open_log(settings);
}

Status change_log_file(const std::string& before, const std::string& after) {
  LogSettings settings = current_settings();
  if (before == after || settings.file != before) return {};
  settings.file = after;
  const log::Level level = log::level();
  log::info("the log goes on in {}", after.empty() ? "syslog" : after);
  if (auto ok = open_log(settings); !ok) return ok;
  if (!before.empty()) log::set_level(level);  // as scontrol setdebug left it
  current_settings() = settings;
  log::info("the log was in {} before", before.empty() ? "syslog" : before);
  return {};
}

Status set_debug(const std::string& level, const std::vector<std::string>& flags, uint32_t uid) {
  const auto wanted = log::parse_level(level);
  if (!level.empty() && !wanted)
    return failure(ErrorCode::kBadRequest, "invalid debug level: " + level);
  uint64_t after = log::debug_flags();
  for (const std::string& change : flags) {
    if (change.size() < 2) continue;
    const auto bits = log::parse_debug_flags(std::string_view(change).substr(1));
    if (!bits) return tl::unexpected(bits.error());
    after = change[0] == '-' ? after & ~*bits : after | *bits;
  }
  const log::Level next = wanted.value_or(log::level());
  const auto tell = [&] {
    log::info("Set debug level to '{}', DebugFlags={} (uid {})", log::level_name(next),
              log::debug_flag_names(after), uid);
  };
  const bool falls_silent = next < log::Level::kInfo;
  if (falls_silent) tell();
  if (wanted) log::set_level(*wanted);
  log::set_debug_flags(after);
  if (!falls_silent) tell();
  return {};
}

void change_log(LogChange level, const std::vector<std::string>& flags_before,
                const std::vector<std::string>& flags_after) {
  if (level.before != level.after) {
    current_settings().level = level.after;
    log::set_level(static_cast<log::Level>(level.after));
  }
  if (flags_before != flags_after) set_flags(flags_after);
}

}  // namespace sluice::daemon
