// What sinfo was asked for: its arguments over its environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/table_options.hpp"
#include "common/names/job_states.hpp"

namespace sluice::cli {

struct SinfoOptions : TableOptions {
  [[nodiscard]] static const TableCommand& command();

  // Filters: nothing passes an empty one, all where there is none.
  std::optional<std::vector<std::string>> partitions;
  std::optional<std::vector<std::string>> nodes;  // expanded
  // any of them, each "all of these"
  std::optional<std::vector<std::vector<NodeStateName>>> any_state;
  bool all = false;
  bool all_given = false, partitions_given = false;  // on the command line
  bool dead = false;
  bool responding = false;
  bool exact = false;
  bool node_form = false;
  bool summarize = false;
  bool list_reasons = false;
  bool future = false;
  bool reservations = false;
  std::string nodes_given;  // as written, for -v
};

// Gives the exit status when there is nothing further to do (help, version, an error).
[[nodiscard]] std::optional<int> parse_sinfo_options(int argc, char** argv, SinfoOptions& options);

}  // namespace sluice::cli
