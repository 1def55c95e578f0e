// A daemon's log from its configuration and options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::daemon {

struct LogSettings {
  std::string program;  // "slurmctld"
  std::string file;     // empty: syslog in the background, standard error in front
  DebugLevel level = DebugLevel::kInfo;
  std::optional<DebugLevel> syslog_level;
  int more = 0;  // levels up (-v) or down (-q)
  bool foreground = false;
  std::vector<std::string> debug_flags;  // names, checked when the configuration was read
  std::string time_format;  // LogTimeFormat; what the log has no form for leaves the usual one
  bool json = false;
};

// SluiceParameters=log_format=json.
[[nodiscard]] bool wants_json(const ClusterConfig& config);

// Errors: the file cannot be opened.
[[nodiscard]] Status start_log(const LogSettings& settings);

// scontrol setdebug, of which `level` is a name or empty, and setdebugflags ("+Steps", "-Steps").
// The log says that `uid` did. Errors, which change nothing: a level or a flag that is none.
[[nodiscard]] Status set_debug(const std::string& level, const std::vector<std::string>& flags,
                               uint32_t uid);

// A new configuration names another log file, or none (empty): the log goes there from now on,
// unless the command line had named the file (-L). Errors: it cannot be opened; the log stays.
[[nodiscard]] Status change_log_file(const std::string& before, const std::string& after);

// A new configuration: what it changes of level and flags acts, what it leaves as it was does not
// undo `scontrol setdebug`.
struct LogChange {
  DebugLevel before;
  DebugLevel after;
};
void change_log(LogChange level, const std::vector<std::string>& flags_before,
                const std::vector<std::string>& flags_after);

}  // namespace sluice::daemon
