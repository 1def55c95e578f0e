// What scancel was asked to do: its options and operands, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/model/job_state.hpp"

namespace sluice::cli {

struct CancelRequest {
  std::vector<std::string> targets;  // 12, 12_3, 12_[1-4], 12+1, 12.0 as given
  uint32_t signal = 9;
  bool signal_given = false;
  bool batch = false, cron = false, full = false, hurry = false, interactive = false;
  int32_t verbose = 0;  // -1 after -Q, and -v counts from there
  // empty: nothing passes
  std::optional<std::string> account, name, partition, qos, reservation, wckey, nodes;
  std::string user, clusters;
  std::optional<uint32_t> uid;
  std::optional<JobState> state;
  JobFlags flag_state = 0;  // -t CG: no job is in that state alone

  [[nodiscard]] bool has_filter() const {
    return uid || state || flag_state != 0 || account || name || partition || qos || reservation ||
           wckey || nodes;
  }
  // A filter without a value, as of a script's variable that was never set: no job passes it.
  [[nodiscard]] bool passes_nothing() const {
    for (const auto* filter : {&account, &name, &partition, &qos, &reservation, &wckey, &nodes}) {
      if (*filter && (*filter)->empty()) return true;
    }
    return flag_state != 0;
  }
};

// Reads options, the SCANCEL_* environment and operands. An exit status when it is to end there.
[[nodiscard]] std::optional<int> read_cancel_request(int argc, char** argv, CancelRequest& out);

// A step (12.0) rather than a job.
[[nodiscard]] bool names_step(const std::string& target);
// Whether `text` can be a job, array task or step at all.
[[nodiscard]] bool is_cancel_target(const std::string& text);
// The filters in force, as Slurm lists them: `user_name=root partition=debug `.
[[nodiscard]] std::string filters_text(const CancelRequest& request);

}  // namespace sluice::cli
