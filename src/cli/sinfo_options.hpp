// What sinfo was asked for: its arguments over its environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/format/structured_output.hpp"
#include "common/names/job_states.hpp"

namespace sluice::cli {

struct SinfoOptions {
  std::optional<std::string> letters;  // -o
  std::optional<std::string> names;    // -O
  std::optional<std::string> sort;
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
  bool long_form = false;
  bool summarize = false;
  bool list_reasons = false;
  bool no_header = false;
  bool future = false;
  bool reservations = false;
  bool convert = true;
  uint32_t iterate_seconds = 0;
  std::string cluster;
  uint32_t verbose = 0;                   // -v, counted
  std::string nodes_given, states_given;  // as written, for -v
  StructuredChoice form;
  std::vector<std::string> command_line;
};

// Gives the exit status when there is nothing further to do (help, version, an error).
[[nodiscard]] std::optional<int> parse_sinfo_options(int argc, char** argv, SinfoOptions& options);

}  // namespace sluice::cli
