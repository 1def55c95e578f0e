#include "cli/step/allocation.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "cli/options/option_parser.hpp"
#include "cli/step/submit_call.hpp"
#include "common/os/is_away.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "common/format/job_values.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A job that starts at once is not said to be queued: this long the scheduler has.
constexpr auto kQueuedAfter = std::chrono::milliseconds(300);

int immediate_exit() {
  const char* set = std::getenv("SLURM_EXIT_IMMEDIATE");
  const auto status = to_number<uint8_t>(set != nullptr ? set : "");
  return status && *status != 0 ? *status : error_exit();
}

// What a job that cannot start for a reason of its own is told besides being queued.
std::string_view why_not_now(JobReason reason) {
  switch (reason) {
    case JobReason::kPartitionNodeLimit:
    case JobReason::kPartitionTimeLimit:
    case JobReason::kPartitionConfig: return error_sentence(ErrorCode::kPartitionNotNow);
    case JobReason::kPartitionDown: return "Partition in DOWN state";
    case JobReason::kPartitionInactive: return error_sentence(ErrorCode::kPartitionNotAvailable);
    case JobReason::kJobHeldUser:
    case JobReason::kJobHeldAdmin: return "Job is in held state, pending scheduler release";
    case JobReason::kReqNodeNotAvail:
      return "Required node not available (down, drained or reserved)";
    default: return {};
  }
}

// Of a job that is to start at once or not at all.
Error why_not_at_once(JobReason reason) {
  switch (reason) {
    case JobReason::kBeginTime:
    case JobReason::kDependency:
    case JobReason::kJobHeldUser:
    case JobReason::kJobHeldAdmin: return Error{ErrorCode::kInvalidDependency, {}};
    default:
      const std::string_view text = why_not_now(reason);
      return text.empty() ? Error{ErrorCode::kNodesBusy, {}}
                          : Error{ErrorCode::kError, std::string(text)};
  }
}

class Waiter {
  // A handler that was on its way already when this Waiter ended is called by the next run of
  // `io_`.
  template <class Action>
  auto while_here(Action action) {
    return [here = std::weak_ptr<const bool>(here_), action](const auto& error, auto...) {
      if (!error && !here.expired()) action();
    };
  }

 public:
  Waiter(Client& client, boost::asio::io_context& io, JobWatch& watch, const Submission& submission,
         CommandSet command, const std::vector<JobSpec>& components)
      : client_(client),
        io_(io),
        watch_(watch),
        submission_(submission),
        components_(components),
        name_(submit_command_name(command)),
        salloc_(command == kSalloc),
        signals_(io, SIGINT, SIGTERM, SIGHUP),
        queued_timer_(io),
        immediate_timer_(io) {}

  Allocated run() {
    // whatever ends the command ends its job
    for (const int number : {SIGQUIT, SIGUSR1, SIGUSR2, salloc_ ? SIGPIPE : SIGALRM})
      signals_.add(number);
    signals_.async_wait(while_here([this] { interrupted(); }));
    if (!submit()) return out_;
    watch_.handle([this](const auto& update) { updated(update); },
                  [this](const Error& error) { ended(error); });
    protocol::WatchJobRequest request;
    request.job = out_.job;
    request.end_when_cancelled = is_attended();
    watch_.start(request);
    start_timers();
    io_.restart();
    io_.run();
    watch_.handle(nullptr, nullptr);
    if (out_.exit_status) watch_.stop();
    out_.wait_time = std::chrono::duration_cast<Duration>(Clock::now() - started_);
    return out_;
  }

 private:
  bool submit() {
    protocol::SubmitJobRequest request;
    request.spec = submission_.job;
    request.spec.attended = is_attended();
    request.components = components_;
    const Result<protocol::SubmitJobReply> reply =
        submit_job(client_, request, salloc_ ? kSalloc : kSrun, [this] {
          io_.poll();
          return out_.exit_status.has_value();
        });
    if (!reply && out_.exit_status) return false;
    if (!reply) {
      report_failure(name_, what_failed(), reply.error());
      const bool busy = submission_.job.immediate && reply.error().code == ErrorCode::kNodesBusy;
      finish(busy ? immediate_exit() : error_exit());
      return false;
    }
    out_.job = reply->job;
    if (!quiet()) print_messages(name_, reply->messages);
    return true;
  }

  void start_timers() {
    queued_timer_.expires_after(kQueuedAfter);
    queued_timer_.async_wait(while_here([this] { say_queued(reason_now()); }));
    const uint32_t seconds = submission_.settings.immediate_seconds.value_or(0);
    if (seconds == 0) return;
    immediate_timer_.expires_after(std::chrono::seconds(seconds));
    immediate_timer_.async_wait(while_here([this] {
      const JobReason reason = is_at_once() ? reason_now() : JobReason::kNone;
      cancel_job();
      give_up(why_not_at_once(reason));
    }));
  }

  void give_up(const Error& why) {
    const bool busy = why.code == ErrorCode::kNodesBusy;
    if (salloc_ && !is_at_once())
      print_error(name_, "Unable to allocate resources: Connection timed out");
    else report_failure(name_, busy ? "Unable to allocate resources" : what_failed(), why);
    if (salloc_ && !quiet()) say_revoked();
    finish(busy ? immediate_exit() : error_exit());
  }

  void say_revoked() const {
    say(name_, fmt::format("Job allocation {} has been revoked.", out_.job));
  }

  void updated(const protocol::JobWatchUpdate& update) {
    if (!update.message.empty()) say(name_, update.message);
    if (update.state == JobState::kPending) {
      // Only a reason means that the scheduler looked at the job and let it wait.
      if (update.reason != JobReason::kNone) say_queued(update.reason);
      return;
    }
    if (is_terminal(update.state)) return cancelled();
    if (update.state != JobState::kRunning || !update.allocation) return;
    say_granted();
    const bool begins = salloc_ && update.booting && !submission_.job.wait_all_nodes;
    if (!update.ready && !begins) return;
    out_.grant = update;
    if (salloc_ && !quiet() && components_.empty() && update.ready) {
      say(name_, fmt::format("Nodes {} are ready for job", update.allocation->node_list));
    }
    io_.stop();
  }

  // What the scheduler says of the waiting job.
  JobReason reason_now() {
    JobReason reason = JobReason::kNone;
    protocol::QueryJobsRequest request;
    request.ids.push_back(std::to_string(out_.job));
    (void)client_.query_jobs(request, [&](protocol::JobChunk&& chunk) {
      if (!chunk.jobs.empty()) reason = effective_reason({&chunk.jobs.front(), kNoTask, {}});
      return true;
    });
    return reason;
  }

  void say_queued(JobReason reason = JobReason::kNone) {
    if (out_.waited || granted_ || is_at_once()) return;
    out_.waited = true;
    if (quiet()) return;
    if (const std::string_view text = why_not_now(reason); !text.empty()) say(name_, text);
    if (salloc_) say(name_, fmt::format("Pending job allocation {}", out_.job));
    say(name_, fmt::format("job {} queued and waiting for resources", out_.job));
  }

  void say_granted() {
    if (std::exchange(granted_, true) || quiet()) return;
    if (out_.waited) say(name_, fmt::format("job {} has been allocated resources", out_.job));
    if (salloc_) say(name_, fmt::format("Granted job allocation {}", out_.job));
  }

  void cancelled() {
    say(name_, "Job has been cancelled");
    report_failure(name_, what_failed(), Error{ErrorCode::kAlreadyDone, {}});
    finish(error_exit());
  }

  void ended(const Error& error) {
    if (error.code == ErrorCode::kOk) return cancelled();
    report_failure(name_, what_failed(), error);
    finish(error_exit());
  }

  void interrupted() {
    if (out_.job == kNoJob) return finish(error_exit());
    cancel_job();
    if (salloc_) {
      say_revoked();
      say(name_, "Job aborted due to signal");
    } else {
      say(name_, fmt::format("Job allocation {} has been revoked", out_.job));
      say(name_, fmt::format("Force Terminated JobId={}", out_.job));
    }
    finish(error_exit());
  }

  void cancel_job() {
    (void)cancel(client_, std::to_string(out_.job));  // the broken watch cancels it, too
  }

  void finish(int exit_status) {
    out_.exit_status = exit_status;
    io_.stop();
  }

  // --immediate without a time, or of one second: who waits longer is told for what.
  [[nodiscard]] bool is_at_once() const { return submission_.settings.immediate_seconds == 1U; }
  // Whether the job ends with this command.
  [[nodiscard]] bool is_attended() const { return !submission_.settings.no_shell; }
  [[nodiscard]] bool quiet() const { return submission_.settings.quiet; }
  [[nodiscard]] const char* what_failed() const {
    return salloc_ ? "Job submit/allocate failed" : "Unable to allocate resources";
  }

  Client& client_;
  boost::asio::io_context& io_;
  JobWatch& watch_;
  const Submission& submission_;
  const std::vector<JobSpec>& components_;
  std::string_view name_;
  bool salloc_;
  bool granted_ = false;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer queued_timer_;
  boost::asio::steady_timer immediate_timer_;
  Clock::time_point started_ = Clock::now();
  Allocated out_;
  std::shared_ptr<const bool> here_ = std::make_shared<bool>(true);
};

}  // namespace

void say(std::string_view command, std::string_view text) {
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(command.size()), command.data(),
               static_cast<int>(text.size()), text.data());
}

Allocated allocate(Client& client, boost::asio::io_context& io, JobWatch& watch,
                   const Submission& submission, CommandSet command,
                   const std::vector<JobSpec>& components) {
  return Waiter(client, io, watch, submission, command, components).run();
}

JobFacts facts_of(const Allocated& allocated, const JobSpec& spec, const ClusterConfig& config) {
  JobFacts facts;
  facts.job = allocated.job;
  auto told = std::make_shared<JobSpec>(spec);
  if (told->oom_kill_step == Toggle::kDefault &&
      has_option(config.task_plugin_param, "OOMKillStep")) {
    told->oom_kill_step = Toggle::kYes;
  }
  facts.spec = std::move(told);
  if (allocated.grant.allocation) facts.node_list = allocated.grant.allocation->node_list;
  facts.allocation = allocated.grant.allocation;
  facts.cpus = allocated.grant.cpus_per_node;
  facts.cluster = config.cluster_name;
  facts.partition = allocated.grant.partition;
  // as the controller filled them in
  const protocol::JobWatchUpdate& grant = allocated.grant;
  facts.account = grant.account.empty() ? spec.account.str() : grant.account;
  facts.qos = grant.qos.empty() ? spec.qos.str() : grant.qos;
  facts.reservation = spec.reservation.str();
  facts.end = allocated.grant.end;
  return facts;
}

std::vector<JobFacts> het_facts_of(const Allocated& allocated, const std::vector<JobSpec>& specs,
                                   const ClusterConfig& config) {
  std::vector<JobFacts> all;
  for (size_t i = 0; i < std::min(specs.size(), allocated.grant.components.size()); ++i) {
    const HetComponent& component = allocated.grant.components[i];
    JobFacts facts = facts_of(allocated, specs[i], config);
    facts.job = component.job;
    facts.node_list = component.node_list;
    facts.cpus = component.cpus;
    facts.partition = component.partition;
    if (i != 0 && !specs[i].account.empty()) facts.account = specs[i].account.str();
    if (i != 0 && !specs[i].qos.empty()) facts.qos = specs[i].qos.str();
    if (i != 0) facts.allocation.reset();
    all.push_back(std::move(facts));
  }
  return all;
}

Result<protocol::CountReply> cancel(Client& client, const std::string& target) {
  protocol::SignalRequest request;
  request.target = target;
  request.signal = SIGKILL;
  request.flags = protocol::kSignalCancel;
  return client.call<protocol::CountReply>(request);
}

bool end_allocation(Client& client, JobId job, int32_t wait_status) {
  protocol::EndAllocationRequest request;
  request.job = job;
  request.exit_status = wait_status;
  const auto patience = Clock::now() + client.config().message_timeout;
  for (bool again = false;; again = true) {
    const auto reply = client.call<protocol::Empty>(request);
    if (reply) return true;
    const ErrorCode code = reply.error().code;
    if (!is_away(code) || Clock::now() >= patience) return again || code != ErrorCode::kAlreadyDone;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

}  // namespace sluice::cli
