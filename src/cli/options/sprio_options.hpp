// What sprio was asked for: its arguments over its environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/priority.hpp"

namespace sluice::cli {

struct SprioOptions {
  protocol::QueryPrioritiesRequest request;
  std::optional<std::string> format;
  std::optional<std::string> sort;
  bool long_form = false;
  bool normal = false;
  bool weights_only = false;
  bool sibling = false;
  bool by_jobs = false;   // --jobs, with or without a list
  bool by_users = false;  // --user, whether there are such users or not
  bool no_header = false;
  uint32_t verbose = 0;
  std::string cluster;
  bool nobody = false;  // what was listed is nothing: no job is of it
  // as written, for -v
  std::string jobs_given, partitions_given, users_given;
};

// Gives the exit status when there is nothing further to do (help, version, an error).
[[nodiscard]] std::optional<int> parse_sprio_options(int argc, char** argv, SprioOptions& o);
// What -v shows of them.
[[nodiscard]] std::string sprio_options_text(const SprioOptions& o);

}  // namespace sluice::cli
