// scancel: ends or signals jobs, array tasks and steps, by their ids or by what they have in
// common.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/shared/allocation.hpp"
#include "cli/shared/cancel_options.hpp"
#include "cli/shared/client.hpp"
#include "cli/shared/environment.hpp"
#include "cli/shared/option_parser.hpp"
#include "common/base/index_set.hpp"
#include "common/base/text.hpp"
#include "common/tables/errors.hpp"

namespace sluice::cli {
namespace {

// Slurm gives back the low byte of its own error number; programs test for the denied one.
int exit_status_of(const Error& error) {
  if (error.code == ErrorCode::kUnreachable) return 8;
  const auto number = error_number_of(error_text(error));
  const int status = number ? static_cast<int>(*number & 0xff) : 0;
  return status != 0 ? status : 1;
}

// Lines of a reply about some of an array's tasks that are no news to who cancels it: those that are over need no ending.
bool is_no_news(const std::string& line) {
  return line.ends_with(error_sentence(ErrorCode::kAlreadyDone)) || line.ends_with(": No error");
}

class Cancel {
 public:
  Cancel(Client& client, const CancelRequest& request)
      : client_(client),
        request_(request),
        filters_(request.has_filter() || request.interactive),
        plain_(!filters_ && !request.signal_given && !request.batch && std::ranges::none_of(request.targets, names_step)) {}

  int run() {
    if (filters_) {
      if (const auto status = filtered()) return *status;
    } else {
      for (const std::string& target : request_.targets)
        end_target(target);
    }
    return worst_;
  }

 private:
  using Jobs = std::vector<protocol::JobRecord>;

  // Of the jobs that are named, or of all, those that are not over.
  static protocol::QueryJobsRequest active_jobs(const std::vector<std::string>& targets) {
    protocol::QueryJobsRequest query;
    query.states = {JobState::kPending, JobState::kRunning, JobState::kSuspended};
    query.hidden_partitions = true;
    query.missing_is_error = false;
    for (const std::string& target : targets) query.ids.push_back(job_name(target));
    return query;
  }

  std::optional<Jobs> load(const protocol::QueryJobsRequest& query) {
    Jobs jobs;
    const Status status = client_.query_jobs(query, [&](protocol::JobChunk&& chunk) {
      for (auto& job : chunk.jobs)
        jobs.push_back(std::move(job));
      return true;
    });
    if (status) return jobs;
    print_error("scancel", "slurm_load_jobs error: " + error_text(status.error()));
    return std::nullopt;
  }

  // The jobs that pass all filters, asked about one by one with -i.
  std::optional<int> filtered() {
    protocol::QueryJobsRequest query = active_jobs(request_.targets);
    if (request_.uid) query.uids = {*request_.uid};
    if (!request_.partition.empty()) query.partitions = {request_.partition};
    if (!request_.account.empty()) query.accounts = {request_.account};
    if (!request_.qos.empty()) query.qos = {request_.qos};
    if (!request_.name.empty()) query.names = {request_.name};
    if (!request_.reservation.empty()) query.reservations = {request_.reservation};
    if (request_.state) query.states = {*request_.state};
    query.nodes = request_.nodes;
    const auto loaded = load(query);
    if (!loaded || !tell_missing(*loaded)) return 1;
    const Jobs& jobs = *loaded;
    size_t matched = 0;
    for (const protocol::JobRecord& job : jobs) {
      if (!request_.wckey.empty() && job.job.spec && job.job.spec->wckey != request_.wckey)
        continue;
      ++matched;
      if (!ends_with_leader(job.job, jobs)) end_job(job.job);
    }
    if (matched == 0 && request_.verbose > 0 && request_.has_filter()) {
      print_error("scancel", fmt::format("No active jobs match ALL job filters, including: {}", filters_text(request_)));
    }
    return std::nullopt;
  }

  // A component of a heterogeneous job ends with the first one.
  static bool ends_with_leader(const Job& job, const Jobs& jobs) {
    return is_het_follower(job) && std::ranges::any_of(jobs, [&](const protocol::JobRecord& other) {
      return other.job.id == job.het->leader;
    });
  }

  // What was named and is not there, or over, is an error; what is there and passes not all filters is left alone without a word.
  bool tell_missing(const Jobs& passed) {
    const auto is_among = [](const Jobs& jobs, const std::string& target) {
      return std::ranges::any_of(jobs, [&](const protocol::JobRecord& job) { return is_of_name(job.job, job_name(target)); });
    };
    std::vector<std::string> left;
    for (const std::string& target : request_.targets) {
      if (!is_among(passed, target)) left.push_back(target);
    }
    if (left.empty()) return true;
    const auto jobs = request_.has_filter() ? load(active_jobs(left)) : Jobs();
    if (!jobs) return false;
    for (const std::string& target : left) {
      if (!is_among(*jobs, target)) missing(target);
    }
    return true;
  }

  void missing(const std::string& target) {
    if (request_.verbose >= 0) print_failure(target, error_sentence(ErrorCode::kInvalidJobId));
    worst_ = std::max(worst_, 1);
  }

  static void print_failure(const std::string& target, std::string_view why) {
    print_error("scancel", fmt::format("Kill job error on job {}id {}: {}", names_step(target) ? "step " : "", target, why));
  }

  // What stands before the dot of a step.
  static std::string job_name(const std::string& target) { return target.substr(0, target.find('.')); }

  // Whether the job has this name, or is part of what has.
  static bool is_of_name(const Job& job, const std::string& name) {
    if (is_name_of(job, name)) return true;
    if (job.het) return name == std::to_string(job.het->leader);
    const size_t bar = name.find('_');
    if (!job.array || to_number<uint32_t>(name.substr(0, bar)) != job.array->array_job) return false;
    if (bar == std::string::npos) return true;
    const bool alone = job.array->task != kNoTask;
    return names_a_task(name.substr(bar + 1), alone ? IndexSet(job.array->task, job.array->task) : job.array->pending);
  }

  // One job of a filter's result: itself, or those of its steps and tasks that were named.
  void end_job(const Job& job) {
    bool named = false;
    for (const std::string& target : request_.targets) {
      if (!names_step(target) || !is_name_of(job, job_name(target))) continue;
      named = true;
      if (confirmed(fmt::format("step_id={}", target), job)) end_target(target);
    }
    if (named) return;
    for (const std::string& target : targets_of(job)) {
      if (confirmed(fmt::format("job_id={}", target), job)) end_target(target);
    }
  }

  static bool is_name_of(const Job& job, const std::string& name) {
    if (name == std::to_string(job.id)) return true;
    if (job.array) return name == fmt::format("{}_{}", job.array->array_job, job.array->task);
    return job.het && name == fmt::format("{}+{}", job.het->leader, job.het->offset);
  }

  // Of an array that waits some tasks alone may have been named.
  [[nodiscard]] std::vector<std::string> targets_of(const Job& job) const {
    if (!job.array) return {std::to_string(job.id)};
    const std::string whole = std::to_string(job.array->array_job);
    if (job.array->task != kNoTask) return {fmt::format("{}_{}", whole, job.array->task)};
    std::vector<std::string> tasks;
    for (const std::string& given : request_.targets) {
      const size_t bar = given.find('_');
      if (to_number<uint32_t>(given.substr(0, bar)) != job.array->array_job) continue;
      if (bar == std::string::npos) return {whole};
      if (names_a_task(given.substr(bar + 1), job.array->pending)) tasks.push_back(given);
    }
    return request_.targets.empty() ? std::vector<std::string>{whole} : tasks;
  }

  // `tasks`: 3, [1-3,7] or *, perhaps with a step behind a dot.
  static bool names_a_task(std::string_view tasks, const IndexSet& waiting) {
    tasks = tasks.substr(0, tasks.find('.'));
    if (tasks == "*") return true;
    const auto wanted = IndexSet::parse_tasks(tasks);
    return wanted && wanted->intersects(waiting);
  }

  [[nodiscard]] bool confirmed(const std::string& what, const Job& job) const {
    if (!request_.interactive) return true;
    std::string answer;
    do {  // until it is an answer
      std::fprintf(stdout, "Cancel %s name=%s partition=%s [y/n]? ", what.c_str(),
                   job.spec ? job.spec->name.c_str() : "", job.partition.c_str());
      std::fflush(stdout);
      if (!std::getline(std::cin, answer)) return false;
      if (answer.starts_with('y') || answer.starts_with('Y')) return true;
    } while (!answer.starts_with('n') && !answer.starts_with('N'));
    return false;
  }

  // A step is cancelled unless a signal was asked for. KILL is the end of a job in Slurm, unless it is for the script or
  // the steps alone.
  [[nodiscard]] bool ends(const std::string& target) const {
    if (names_step(target)) return !request_.signal_given;
    return !request_.batch && !request_.full && (!request_.signal_given || request_.signal == SIGKILL);
  }

  [[nodiscard]] protocol::SignalRequest signal_for(const std::string& target) const {
    protocol::SignalRequest signal;
    signal.target = target;
    signal.signal = request_.signal;
    if (ends(target)) signal.flags |= protocol::kSignalCancel;
    if (request_.batch) signal.flags |= protocol::kSignalBatchOnly;
    if (request_.full) signal.flags |= protocol::kSignalFull;
    if (!ends(target) && !request_.batch && !request_.full && !names_step(target)) signal.flags |= protocol::kSignalStepsOnly;
    if (request_.cron) signal.flags |= protocol::kSignalCron;
    if (request_.hurry) signal.flags |= protocol::kSignalHurry;
    return signal;
  }

  void end_target(const std::string& target) {
    const auto reply = client_.call<protocol::CountReply>(signal_for(target));
    const bool gone = !reply && (reply.error().code == ErrorCode::kInvalidJobId || reply.error().code == ErrorCode::kAlreadyDone);
    const bool all_over = reply && reply->count == 0 && !reply->errors.empty() && std::ranges::all_of(reply->errors, is_no_news);
    // Slurm looks for the jobs first when they are not just to end: what is over then is unknown to it
    if ((gone || all_over) && !plain_ && !filters_) return missing(target);
    if (!reply && names_step(target) && reply.error().code == ErrorCode::kJobPending) return;  // it has no steps
    announce(target);
    if (!reply) return failed(target, reply.error(), gone);
    for (const std::string& error : reply->errors) {
      if (request_.verbose >= 0 && !is_no_news(error)) print_error("scancel", error);
    }
  }

  void announce(const std::string& target) const {
    if (request_.verbose <= 0) return;
    const bool step = names_step(target);
    const std::string what = fmt::format("{}{} {}", request_.batch ? "batch " : request_.full ? "full " : "", step ? "step" : "job", target);
    if (!request_.signal_given || (step && request_.signal == SIGKILL)) {
      say("scancel", "Terminating " + what);
    } else {
      say("scancel", fmt::format("Signal {} to {}", request_.signal, what));
    }
  }

  // `gone`: it ended in the meantime, or was never there, which is what was wanted.
  void failed(const std::string& target, const Error& error, bool gone) {
    if (gone) {
      if (request_.verbose > 0) print_failure(target, error_text(error));
      return;
    }
    // a signal goes to the nodes as it is, and they know nothing of such a step
    if (error.code == ErrorCode::kInvalidStepId && request_.signal_given) return;
    const Error told = error.code == ErrorCode::kInvalidStepId ? Error{ErrorCode::kInvalidJobId, {}} : error;
    print_failure(target, error_text(told));
    worst_ = std::max(worst_, exit_status_of(told));
  }

  Client& client_;
  const CancelRequest& request_;
  const bool filters_;  // jobs are asked about before they are ended
  const bool plain_;    // jobs are to end, and that is all
  int worst_ = 0;
};

}  // namespace

int scancel_main(int argc, char** argv) {
  CancelRequest request;
  if (const auto status = read_cancel_request(argc, argv, request)) return *status;
  Result<Client> client = Client::open();
  if (!client) return report("scancel", client.error());
  if (!accept_cluster("scancel", request.clusters, client->config())) return 1;
  return Cancel(*client, request).run();
}

}  // namespace sluice::cli
