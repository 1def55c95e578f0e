// The text of a crontab (scrontab): lines of times and commands, #SCRON lines with options for the
// next one, variables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::cli {

struct CrontabLine {
  uint32_t number = 0;  // in the text, the first is 1
  std::string times;    // "*/5 * * * *", "@daily"
  std::string command;
  std::vector<std::pair<uint32_t, std::string>> options;  // of #SCRON lines before it: line, text
  std::map<std::string, std::string> variables;           // set before it
};

// What is wrong begins with "line N: ".
[[nodiscard]] Result<std::vector<CrontabLine>> parse_crontab(std::string_view text);

}  // namespace sluice::cli
