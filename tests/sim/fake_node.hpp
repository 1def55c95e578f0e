// A node agent as the simulation has it: what it keeps on disk (key files, ends that were not
// acknowledged), what runs, and what it tells the controller. It keeps the promises of the real
// one: a step is not started again while its key file is there, reports are repeated until they are
// acknowledged. Key files go a while after that, and with the spool.
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
  Time registered = kNever;         // since the agent started, first
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
  // A broken node: it says that it has ended the run, whose steps go on.
  void pretend_terminated(RunKey run);
  void terminate_step(const StepKey& key);
  // The agent is started again: what it had only in memory is gone.
  void restart_agent() {
    ++agent_starts;
    registered = kNever;
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
  // What is known of a step, or of a run, that was acknowledged long ago.
  void remove_key_file(const StepKey& key);
  void remove_run(RunKey run);
  void forget_prepared(RunKey run) { prepared_.erase(run); }

  [[nodiscard]] protocol::RegisterNodeRequest registration() const;
  [[nodiscard]] std::vector<protocol::StepEnded> unacknowledged_ends() const;
  [[nodiscard]] std::vector<protocol::JobCleaned> unacknowledged_cleans() const;
  [[nodiscard]] std::vector<RunKey> unacknowledged_prologs() const;
  [[nodiscard]] bool idle() const { return running_.empty(); }
  [[nodiscard]] bool runs_any_of(JobId job) const;
  [[nodiscard]] bool runs(const StepKey& key) const { return running_.contains(key); }
  [[nodiscard]] const std::map<StepKey, FakeStep>& running() const { return running_; }
  void answer_prolog(RunKey run) { prepared_.insert(run); }

 private:
  void end(const StepKey& key, int32_t status);
  [[nodiscard]] bool has_other_steps(const StepKey& key) const;

  std::string name_;
  std::map<StepKey, FakeStep> running_;
  std::map<StepKey, protocol::StepEnded> ended_;
  std::map<RunKey, protocol::JobCleaned> cleaned_;
  std::set<RunKey> prepared_;
  std::set<StepKey> key_files_;
  std::set<StepKey> early_;  // steps whose order to end came before their launch
  std::set<RunKey> over_;    // runs that were terminated here
  std::set<RunKey> prolog_;
};

}  // namespace sluice::sim
