// A line of the log as a JSON object (SluiceParameters=log_format=json), for journald, Loki and
// their like.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "common/log/log.hpp"

namespace sluice::log {

struct JsonLine {
  Level level = Level::kInfo;
  std::string_view program;
  std::string_view prefix;  // "warning: "
  std::string_view text;
  std::timespec when{};
};

// {"time":"2026-11-24T01:48:54.213Z","level":"info","program":"slurmctld","message":"…"}, and of a
// line about a job or a node "job":"17_3" and "node":"n8". Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string json_line(const JsonLine& line);

}  // namespace sluice::log
