// The smallest change to a pending job with which it would start now. Each candidate is tried out:
// the update is decided and applied to a copy of the state, and what the job finds at its turn then
// is looked at, by a pass of its own where its turn would be another; so what is named here does
// work.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/model/job.hpp"
#include "common/model/job_update.hpp"
#include "ctld/sched/pass_run.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::sched {

struct Change {
  JobUpdate update;
  bool by_admin = false;  // the job's user may not make it
};

// How many passes may still be run; all ask it, and what is refused is not looked at.
class PassBudget {
 public:
  // `kept`: a plan that they repair; may be null.
  PassBudget(uint32_t passes, std::function<bool()> out_of_time,
             std::shared_ptr<const KeptPlan> kept = nullptr)
      : left_(passes), out_of_time_(std::move(out_of_time)), kept_(std::move(kept)) {}
  [[nodiscard]] bool take() {
    spent_ = spent_ || left_ == 0;
    if (!take_try()) return false;
    --left_;
    return true;
  }
  // Of what needs no pass there may be as many as there is time for.
  [[nodiscard]] bool take_try() {
    spent_ = spent_ || (out_of_time_ && out_of_time_());
    if (!spent_) ++used_;
    return !spent_;
  }
  [[nodiscard]] std::unique_ptr<PassRun> make_pass(const state::ClusterState& state,
                                                   Time now) const;
  [[nodiscard]] bool spent() const { return spent_; }  // something was refused
  [[nodiscard]] uint32_t used() const { return used_; }

 private:
  uint32_t left_;
  uint32_t used_ = 0;
  bool spent_ = false;
  std::function<bool()> out_of_time_;
  std::shared_ptr<const KeptPlan> kept_;
};

// `turn`: a pass that stopped at the job's turn in its only partition; null: it has none, or not
// yet.
[[nodiscard]] std::optional<Change> find_change(const state::ClusterState& state, const Job& job,
                                                Time now, PassBudget& budget,
                                                std::unique_ptr<PassRun> turn);

// "drop its features and let it use 2 nodes".
[[nodiscard]] std::string change_in_words(const JobUpdate& update);
// The commands that make it: `scontrol release 12`, `scontrol update JobId=12 NumNodes=2`.
[[nodiscard]] std::vector<std::string> change_commands(const JobUpdate& update,
                                                       const std::string& job_id);

}  // namespace sluice::sched
