// The step daemons of this node: started, found again after a restart of the agent, given orders,
// and their reports taken. All on the agent's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/protocol/stepd_start.hpp"
#include "common/step/frame_connection.hpp"
#include "common/step/step_spool.hpp"
#include "noded/process/child_processes.hpp"
#include "noded/steps/job_containers.hpp"
#include "noded/steps/job_groups.hpp"
#include "noded/node/node_state.hpp"
#include "noded/steps/spare_daemon.hpp"
#include "noded/steps/step_queries.hpp"
#include "noded/node/recent_map.hpp"

namespace sluice::noded {

class Steps {
 public:
  // Called once for each step that is over; its files stay until forget().
  using OnEnded = std::function<void(protocol::StepEnded)>;
  Steps(NodeState& node, ChildProcesses& children, JobGroups& groups, JobContainers& containers,
        OnEnded on_ended);
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  ~Steps();  // lets go of the daemons, which go on

  // Looks at the spool: running daemons are connected to, reports of ended ones handed on, and a
  // step whose daemon died without a report is reported as failed. Error: the spool cannot be used.
  [[nodiscard]] Status adopt_all();
  // The same for a step that an agent before this one started, and whose daemon claimed it since;
  // no-op for others.
  void adopt(const protocol::StepKey& key);
  // Ends the step daemons of this node that the spool does not know: what they run would be begun
  // again beside them. adopt_all() does so, too; where the spool was lost it is to be done again
  // when the cluster is known, and before a launch is taken.
  void end_strays();
  // For all that there are by now.
  void adopt_late_ones();

  // Starts a daemon; `encoded` is the signed message that `launch` was decoded from. No-op if the
  // step was started here before. Its end, or that it cannot start, comes through OnEnded.
  void launch(const protocol::StepLaunch& launch, std::string encoded, uint32_t node_index);
  // The node is to blame that the step cannot begin here: it is reported, and drains the node.
  // No-op for one that is known.
  void refuse(const protocol::StepKey& key, uint32_t uid, const std::string& why);
  [[nodiscard]] bool knows(const protocol::StepKey& key) const;
  // Its daemon took orders, or it is over and not forgotten.
  [[nodiscard]] bool has_begun(const protocol::StepKey& key) const;
  // What is to be done when a step begins that was started here.
  void when_begun(std::function<void(const protocol::StepKey&)> tell) {
    when_begun_ = std::move(tell);
  }
  // It was here and nothing of it is left, its key file neither: a launch that comes late must not
  // begin it again.
  [[nodiscard]] bool is_forgotten(const protocol::StepKey& key) const {
    return forgotten_.contains(key);
  }

  // Orders. A daemon that does not come to suspend or resume its step has it done for it after some
  // seconds. kInvalidStepId: no such step runs here; kRetry: too many wait for its daemon.
  [[nodiscard]] Status signal(const protocol::SignalStepRequest& request);
  // False when no such step runs here. One that is launched after the order to end it ends at once.
  bool terminate(const protocol::TerminateStepRequest& request);
  // Ends the step's daemon, which does not do as it was told, with all that runs below it where
  // that can be killed; the end comes as that of a daemon that died. Waits for some seconds at
  // most.
  void end_daemon(const protocol::StepKey& key);
  // Only for the user whose step it is; `uid` 0 may attach to all. kInvalidStepId, kAccessDenied,
  // kRetry as signal(), kBadRequest.
  [[nodiscard]] Status attach(const protocol::AttachRequest& request, uint32_t uid);
  // Every live step of the job (of any restart), the batch script first.
  [[nodiscard]] std::vector<protocol::StepKey> live_of(JobId job) const;
  // of this user
  [[nodiscard]] std::vector<protocol::StepKey> live(
      std::optional<uint32_t> only_of = std::nullopt) const;
  [[nodiscard]] std::vector<protocol::StepKey> unacknowledged() const;

  // Asks the daemons; `done` comes within a second. `only_of`: of this user's steps only.
  void list_pids(const protocol::ListPidsRequest& request, std::optional<uint32_t> only_of,
                 StepQueries::OnPids done);

  // Asks the step's daemon what its tasks use; `done` comes within a second. kInvalidStepId when no
  // such step runs here, kTimedOut when its daemon does not answer.
  void stat(const StepId& id, StepQueries::OnStats done);

  // The controller does not take reports for now: what was written of them shall outlive the host.
  void make_reports_safe();
  // The controller has the report: nothing of the step is kept any more.
  void forget(const protocol::StepKey& key);

 private:
  struct Step;
  using StepPtr = std::shared_ptr<Step>;
  void adopt(const std::vector<protocol::StepKey>& keys);
  // that of a step that was begun
  [[nodiscard]] StepPtr enter(const protocol::StepKey& key, pid_t& daemon);
  // Finds the step's daemon or its report, for as long as the process `daemon` is that daemon; then
  // the step is lost. 0: it is looked up, and waited for a moment.
  void find_daemon(const StepPtr& step, pid_t daemon, const std::string& why);
  void connect(const StepPtr& step, int fd);
  void start_daemon(const StepPtr& step, const std::string& start);
  void on_frame(const StepPtr& step, const Frame& frame);
  void on_daemon_exit(const StepPtr& step, int status);
  void on_disconnect(const StepPtr& step);
  void unconnected(const StepPtr& step);
  void watch_silence(const StepPtr& step);
  void watch_suspension(const StepPtr& step, int signal);
  [[nodiscard]] pid_t daemon_of(const Step& step) const;
  void let_script_go_first(const StepPtr& script);
  void script_was_told(const StepPtr& script);
  void lost(const StepPtr& step, const std::string& why, bool node_to_blame = false);
  void ended(const StepPtr& step, protocol::StepEnded report);
  void ask(const StepPtr& step, protocol::FrameType type);  // a question without words
  // False: the daemon takes nothing, and no more is kept for it.
  [[nodiscard]] bool try_order(const StepPtr& step, protocol::FrameType type,
                               const std::string& body);
  void order(const StepPtr& step, protocol::FrameType type, const std::string& body);
  [[nodiscard]] protocol::StepdStart start_message(const protocol::StepLaunch& launch,
                                                   uint32_t node_index) const;
  [[nodiscard]] bool is_live(const Step& step) const;

  NodeState& node_;
  SpareDaemon spare_;
  JobGroups& groups_;
  JobContainers& containers_;
  StepSpool spool_;
  OnEnded on_ended_;
  std::function<void(const protocol::StepKey&)> when_begun_;
  std::map<protocol::StepKey, StepPtr> steps_;
  // for steps that have not come yet
  RecentMap<protocol::StepKey, protocol::TerminateStepRequest> early_;
  RecentMap<protocol::StepKey, std::monostate> forgotten_;
  StepQueries queries_;
};

}  // namespace sluice::noded
