// What squeue was asked for: its arguments over its environment.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/options/table_options.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::cli {

// Of --jobs.
struct NamedJob {
  std::string id;  // "12", "12_3"
  // "12+1": of a heterogeneous job this one alone; any other job has but one
  std::optional<uint32_t> component;
};

struct SqueueOptions : TableOptions {
  [[nodiscard]] static const TableCommand& command();

  protocol::QueryJobsRequest request;
  std::vector<NamedJob> jobs;           // those of request.ids, where --jobs gave them
  std::vector<std::string> steps;       // of --steps: "12.0"
  std::vector<std::string> step_names;  // -n beside it
  bool step_mode = false;
  bool by_jobs = false;              // --jobs, with or without a list
  bool one_row_a_task = false;       // -r
  bool one_row_a_partition = false;  // -P
  bool start = false;
  bool only_state = false;
  bool nobody = false;  // the users named are unknown: nothing matches
  // letters of options that were given without a value: nothing matches these either
  std::set<char> empty_filters;
  std::optional<uint32_t> not_user;  // --notme
  Duration running_over{-1};         // negative: no such filter
  Duration running_under{-1};
  std::string node_list;  // -w, to be checked against the cluster's nodes
  std::string jobs_given, steps_given, users_given;  // as written, for -v
};

// Gives the exit status when there is nothing further to do (help, version, an error).
[[nodiscard]] std::optional<int> parse_squeue_options(int argc, char** argv,
                                                      SqueueOptions& options);

// What -v shows first.
[[nodiscard]] std::string squeue_options_text(const SqueueOptions& options);

}  // namespace sluice::cli
