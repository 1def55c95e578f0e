// A daemon's log from its configuration and options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::daemon {

struct LogSettings {
  std::string program;        // "slurmctld"
  std::string file;           // empty: syslog in the background, standard error in front
  DebugLevel level = DebugLevel::kInfo;
  std::optional<DebugLevel> syslog_level;
  int more = 0;               // levels up (-v) or down (-q)
  bool foreground = false;
};

// Errors: the file cannot be opened.
[[nodiscard]] Status start_log(const LogSettings& settings);

}  // namespace sluice::daemon
