// What sacct is asked for: its options, and the variables that stand for some.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/format/structured_output.hpp"
#include "cli/sacct/fields.hpp"
#include "common/model/accounting.hpp"

namespace sluice::cli {

enum class SacctLayout { kColumns, kParsable, kParsable2 };

struct SacctOptions {
  std::optional<std::string> format;
  SacctLayout layout = SacctLayout::kColumns;
  std::string delimiter = "|";
  bool header = true;
  bool convert = true;
  char unit = 0;
  bool truncate = false;
  bool expand_patterns = false;
  bool expand_arrays = false;         // --array
  bool allocations = false;           // -X
  std::optional<bool> whole_het_job;  // --whole-hetjob; else all where the leader is named
  bool all_users = false;
  bool all_clusters = false;
  bool script = false, variables = false;   // -B, --env-vars
  std::string clusters;                     // -M; empty: this one
  std::string start, end;                   // as written
  std::string jobs;                         // likewise
  protocol::QueryHistoryRequest request;    // the rest of what is asked for
  std::vector<std::string> job_flags;       // -F
  std::vector<AssociationId> associations;  // -x
  bool states_given = false;
  bool completion = false;  // -c
  uint32_t verbose = 0;
  StructuredChoice form;
  std::vector<std::string> command_line;
};

// Reads the command line and the variables. An exit status when there is nothing left to do.
[[nodiscard]] std::optional<int> read_sacct_options(int argc, char** argv, SacctOptions& options);

}  // namespace sluice::cli
