#include "common/daemon/log_setup.hpp"

#include <algorithm>

#include "common/log/log.hpp"

namespace sluice::daemon {

Status start_log(const LogSettings& settings) {
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
  else if (settings.file.empty() && !settings.foreground) options.syslog_level = adjusted(settings.level);
  return log::configure(options);
}

}  // namespace sluice::daemon
