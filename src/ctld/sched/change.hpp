// The smallest change to a pending job with which it would start now. Each candidate is tried out:
// the update is decided and applied to a copy of the state, and a pass is run on that; so what is
// named here does work.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/model/job.hpp"
#include "common/model/job_update.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::sched {

struct Change {
  JobUpdate update;
  bool by_admin = false;  // the job's user may not make it
};

// How many passes may still be run; all ask it, and what is refused is not looked at.
class PassBudget {
 public:
  PassBudget(uint32_t passes, std::function<bool()> out_of_time)
      : left_(passes), out_of_time_(std::move(out_of_time)) {}
  [[nodiscard]] bool take() {
    spent_ = spent_ || left_ == 0 || (out_of_time_ && out_of_time_());
    if (spent_) return false;
    --left_;
    ++used_;
    return true;
  }
  [[nodiscard]] bool spent() const { return spent_; }  // something was refused
  [[nodiscard]] uint32_t used() const { return used_; }

 private:
  uint32_t left_;
  uint32_t used_ = 0;
  bool spent_ = false;
  std::function<bool()> out_of_time_;
};

[[nodiscard]] std::optional<Change> find_change(const state::ClusterState& state, const Job& job,
                                                Time now, PassBudget& budget);

// "drop its features and let it use 2 nodes".
[[nodiscard]] std::string change_in_words(const JobUpdate& update);
// The commands that make it: `scontrol release 12`, `scontrol update JobId=12 NumNodes=2`.
[[nodiscard]] std::vector<std::string> change_commands(const JobUpdate& update,
                                                       const std::string& job_id);

}  // namespace sluice::sched
