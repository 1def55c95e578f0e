// The site's own programs and records: MailProg, RebootProgram, PrologSlurmctld, EpilogSlurmctld,
// JobCompType. Programs run as SlurmUser with the job's SLURM_* variables, a few at a time; the end
// of this object waits for them. Those of power saving run beside them, as many as there are, and
// nobody waits for them: they may take as long as a host takes to boot.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "common/model/job.hpp"
#include "common/daemon/running_programs.hpp"
#include "ctld/agents/user_queues.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/effects.hpp"

namespace sluice::ctld {

class SitePrograms {
 public:
  ~SitePrograms();

  // JobCompType filetxt or script: one line, or one run of the script, per ended job.
  void record_ended(const Job& job, const state::ClusterSnapshot& state);
  // As its user. Of those of one user who is no administrator one runs at a time; those that still
  // wait when this ends are not run.
  void run_trigger(const state::RunTrigger& firing, const state::ClusterSnapshot& state);
  // SlurmctldParameters=reboot_from_controller: "PROGRAM ARGUMENTS… NODE,NODE FEATURES". `done` as
  // for prologs.
  void run_reboot(const Bitmap& nodes, const std::string& features,
                  const state::ClusterSnapshot& state, std::function<void(int)> done);
  // SuspendProgram, ResumeProgram, ResumeFailProgram: "PROGRAM ARGUMENTS… NODES". ResumeProgram
  // finds in SLURM_RESUME_FILE which jobs wait for them.
  void run_power(const state::PowerNodes& order, const state::ClusterSnapshot& state);
  void send_mail(const state::SendMail& mail, const state::ClusterSnapshot& state);
  // `done` gets the status as wait(2) gives it; the first program that fails ends the row.
  void run_prolog(const Job& job, const state::ClusterSnapshot& state,
                  std::function<void(int)> done);
  void run_epilog(const Job& job, const state::ClusterSnapshot& state);
  // ResvProlog or ResvEpilog, beside administrators' triggers: "PROGRAM RESERVATION".
  void run_reservation(const state::RunReservationProgram& order,
                       const state::ClusterSnapshot& state);
  // The controller ends: prologs and epilogs have a second left. No `done` is called later.
  // Idempotent.
  void stop();

 private:
  struct Terms {
    // the key of those that end with the controller; empty: they are waited for
    std::string name;
    std::chrono::milliseconds most{0};  // 0: no limit
    bool again_later = false;           // the next controller runs what this one could not
  };
  // As this process's user.
  void run(std::vector<std::vector<std::string>> programs,
           std::map<std::string, std::string> environment, std::function<void(int)> done,
           const Terms& terms);

  // for threads that outlive this
  std::shared_ptr<std::atomic<bool>> ending_ = std::make_shared<std::atomic<bool>>(false);
  std::mutex file_mutex_;  // one line at a time into the completion file
  struct Lane {
    boost::asio::thread_pool worker{1};
    std::shared_ptr<std::atomic<size_t>> waiting = std::make_shared<std::atomic<size_t>>(0);
  };
  daemon::RunningPrograms running_;       // prologs and epilogs
  boost::asio::thread_pool workers_{4};   // prologs, epilogs, records of ended jobs
  boost::asio::thread_pool triggers_{4};  // administrators'
  UserQueues user_triggers_{4};
  std::array<Lane, 4> mail_lanes_;
};

// The variables that these programs find, by name.
[[nodiscard]] std::map<std::string, std::string> program_environment(const Job& job,
                                                                     const ClusterConfig& config);
// One line of JobCompType=jobcomp/filetxt.
[[nodiscard]] std::string completion_line(const Job& job, const state::ClusterState& state);

}  // namespace sluice::ctld
