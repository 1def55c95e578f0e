// A job on this node: prolog before its first step, its steps, and at its end TERM, KILL and
// epilog, then the report that the node is clean. All on the agent's thread. Repeating an order
// changes nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "common/protocol/noded.hpp"
#include "noded/steps/job_groups.hpp"
#include "noded/jobs/kept_jobs.hpp"
#include "noded/node/node_state.hpp"
#include "noded/reports/reporter.hpp"
#include "noded/process/site_scripts.hpp"
#include "noded/steps/steps.hpp"

namespace sluice::noded {

// "CANCELLED" and "CANCELLED DUE TO …" with the time in its place; a job that ended by itself has
// cancelled what it left running.
[[nodiscard]] std::string with_time(std::string_view message);

class Jobs {
 public:
  Jobs(NodeState& node, SiteScripts& scripts, JobGroups& groups);
  // Before anything else is called: the parts need each other.
  void connect(Steps& steps, Reporter& reporter);

  // Reads the jobs that an agent before this one had begun to prepare; their epilog is still to
  // run. A prolog whose outcome that one did not see runs again when it is wanted, and not before
  // it is gone; a failure is reported again.
  void load();
  // For a registration; clean() is about the runs of that moment.
  [[nodiscard]] std::vector<JobId> prepared();

  // A checked launch. It waits until nothing is left of an earlier run of the job here: they have a
  // folder and control groups in common. kAlreadyDone when the job is over here.
  Status launch(protocol::StepLaunch launch, std::string encoded, uint32_t node_index);
  void run_prolog(const protocol::RunPrologRequest& request);
  void terminate(const protocol::TerminateJobRequest& request);
  // The controller knows nothing of the job (any more): end it and run its epilog.
  void clean(JobId job);
  // A step is over: says whether nothing is left to do for its job here, so that this report can
  // end the job at once.
  [[nodiscard]] bool clean_after(const protocol::StepEnded& report);
  // UnkillableStepProgram, for a step that left processes which SIGKILL does not end.
  void run_unkillable_program(const protocol::StepKey& key);
  // After the report was handed on.
  void step_over(const protocol::StepKey& key);
  // Its daemon takes orders, and has made its control groups.
  void step_began(const protocol::StepKey& key);
  // The job's control group is needed although none of its steps runs: for its scripts.
  [[nodiscard]] bool keeps_group(JobId job) const;
  // Whether this run of the job ended here.
  [[nodiscard]] bool is_over(JobId job, uint32_t restart) const {
    return over_.contains({job, restart});
  }
  // What else has to go when nothing of a job is left here.
  void when_over(std::function<void(JobId)> clean) { when_over_ = std::move(clean); }

 private:
  using Id = JobRun;
  // kUnknown: an earlier agent began it
  enum class Prolog { kNotRun, kUnknown, kRunning, kDone, kFailed };
  struct Job;
  using JobPtr = std::shared_ptr<Job>;
  JobPtr job_of(JobId id, uint32_t restart);
  [[nodiscard]] std::vector<JobPtr> runs_of(JobId id) const;  // first to last
  [[nodiscard]] bool earlier_run_left(const Job& job) const;
  // Runs the prolog, or starts what waits, where nothing stands against it.
  void go_on(const JobPtr& job);
  [[nodiscard]] bool has_group_for_prolog(const JobPtr& job);
  void start_prolog(const JobPtr& job);
  void report_prolog(const Job& job);
  void await_left(const JobPtr& job, const ProcessMark& script);
  // Prolog or epilog, with its own time limit if it has one.
  void run_scripts(const JobPtr& job, const std::vector<std::string>& programs,
                   std::string_view context, const std::optional<Duration>& limit,
                   std::function<void(int)> done);
  void prolog_over(const JobPtr& job, int status);
  void end_steps(const JobPtr& job, const protocol::TerminateJobRequest& request);
  void continue_end(const JobPtr& job);
  void unkillable(const JobPtr& job);
  void cleaned(const JobPtr& job, int epilog_status, bool kill_failed);
  void remember_over(const Id& id);
  void store(const Job& job) const;
  [[nodiscard]] Environment script_environment(const Job& job, std::string_view context) const;

  NodeState& node_;
  SiteScripts& scripts_;
  JobGroups& groups_;
  KeptJobs kept_;
  Steps* steps_ = nullptr;        // not owned
  Reporter* reporter_ = nullptr;  // not owned
  std::map<Id, JobPtr> jobs_;
  std::set<Id> offered_;  // told at the last registration
  std::set<Id> over_;     // cleaned lately: late launches are refused
  std::vector<Id> over_order_;
  std::function<void(JobId)> when_over_;
};

}  // namespace sluice::noded
