// A node agent as the simulation has it: what it keeps on disk (key files, ends that were not
// acknowledged), what runs, and what it tells the controller. It keeps the promises of the real
// one: a step starts at most once, reports are repeated until they are acknowledged.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/node_reports.hpp"

namespace sluice::sim {

using protocol::StepKey;
using RunKey = std::pair<JobId, uint32_t>;  // job and restart count

struct FakeStep {
  Time ends = kNever;
  int32_t status = 0;
  bool batch = false;
};

class FakeNode {
 public:
  explicit FakeNode(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const { return name_; }

  bool powered = true;
  bool agent_up = true;
  bool cut_off = false;  // the network to the controller is broken
  uint64_t boot = 1;
  Time booted = kNoTime;  // last
  uint64_t agent_starts = 1;
  std::string features = "nps1";    // that its helpers have active
  Time features_changed = kNoTime;  // order that needed no reboot
  std::string cluster_id;

  // True when the step started now: not before, and its run was not ended already.
  bool launch(const StepKey& key, const FakeStep& step);
  // The launch could not be done; reported as an end with a failure.
  void fail_launch(const StepKey& key, bool blame_node);
  void prepare(RunKey run) { prolog_.insert(run); }
  // Ends what runs of the job; its clean-up is reported. `stuck`: processes could not be killed.
  void terminate(RunKey run, bool stuck);
  void terminate_step(const StepKey& key);
  // The agent is started again: what it had only in memory is gone.
  void restart_agent() {
    ++agent_starts;
    features_changed = kNoTime;
    early_.clear();
  }
  // What ends by itself until `now`.
  void run_until(Time now);
  // Power off and on: processes and everything about them is gone, but for reports not yet sent
  // where the spool is kept.
  void reboot(bool keeps_spool);
  // What the controller says after a registration.
  void obey(const std::vector<StepKey>& forget, const std::vector<JobId>& clean);
  void forget_acknowledged(const StepKey& key) { ended_.erase(key); }
  void forget_cleaned(RunKey run) { cleaned_.erase(run); }
  void forget_prepared(RunKey run) { prepared_.erase(run); }

  [[nodiscard]] protocol::RegisterNodeRequest registration() const;
  [[nodiscard]] std::vector<protocol::StepEnded> unacknowledged_ends() const;
  [[nodiscard]] std::vector<protocol::JobCleaned> unacknowledged_cleans() const;
  [[nodiscard]] std::vector<RunKey> unacknowledged_prologs() const;
  [[nodiscard]] bool idle() const { return running_.empty(); }
  [[nodiscard]] bool runs_any_of(JobId job) const;
  // Steps that were started more than once, ever.
  [[nodiscard]] const std::vector<StepKey>& started_twice() const { return started_twice_; }
  void answer_prolog(RunKey run) { prepared_.insert(run); }

 private:
  void end(const StepKey& key, int32_t status);
  [[nodiscard]] bool has_other_steps(const StepKey& key) const;

  std::string name_;
  std::map<StepKey, FakeStep> running_;
  std::map<StepKey, protocol::StepEnded> ended_;
  std::map<RunKey, protocol::JobCleaned> cleaned_;
  std::set<RunKey> prepared_;
  std::set<StepKey> key_files_;  // never removed here: stands for "kept long enough"
  std::set<StepKey> early_;      // steps whose order to end came before their launch
  std::set<RunKey> over_;        // runs that were terminated here
  std::set<RunKey> prolog_;
  std::vector<StepKey> started_twice_;
  std::set<StepKey> ever_started_;
};

}  // namespace sluice::sim
