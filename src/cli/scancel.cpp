// scancel: ends or signals jobs, array tasks and steps, by their ids or by what they have in
// common.
#include <algorithm>
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
int exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kAccessDenied:
      return 210;
    case ErrorCode::kUnreachable:
      return 8;
    case ErrorCode::kAlreadyDone:
      return 229;
    case ErrorCode::kHetComponent:
      return 60;
    default:
      return 1;
  }
}

// Lines of a reply about some of an array's tasks that are no news to who cancels it: those that are over need no ending.
bool is_no_news(const std::string& line) {
  return line.ends_with(error_sentence(ErrorCode::kAlreadyDone)) || line.ends_with(": No error");
}

class Cancel {
 public:
  Cancel(Client& client, const CancelRequest& request) : client_(client), request_(request) {}

  int run() {
    if (request_.has_filter() || request_.interactive) {
      if (const auto status = filtered()) return *status;
    } else {
      for (const std::string& target : request_.targets)
        end_target(target);
    }
    return worst_;
  }

 private:
  // Of the jobs that are named, or of all, those that are not over.
  [[nodiscard]] protocol::QueryJobsRequest active_jobs() const {
    protocol::QueryJobsRequest query;
    query.states = {JobState::kPending, JobState::kRunning, JobState::kSuspended};
    query.hidden_partitions = true;
    query.missing_is_error = false;
    for (const std::string& target : request_.targets) query.ids.push_back(job_name(target));
    return query;
  }

  std::optional<std::vector<protocol::JobRecord>> load(const protocol::QueryJobsRequest& query) {
    std::vector<protocol::JobRecord> jobs;
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
    if (!tell_missing()) return 1;
    protocol::QueryJobsRequest query = active_jobs();
    if (request_.uid) query.uids = {*request_.uid};
    if (!request_.partition.empty()) query.partitions = {request_.partition};
    if (!request_.account.empty()) query.accounts = {request_.account};
    if (!request_.qos.empty()) query.qos = {request_.qos};
    if (!request_.name.empty()) query.names = {request_.name};
    if (!request_.reservation.empty()) query.reservations = {request_.reservation};
    if (request_.state) query.states = {*request_.state};
    query.nodes = request_.nodes;
    const auto loaded = load(query);
    if (!loaded) return 1;
    const std::vector<protocol::JobRecord>& jobs = *loaded;
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
  static bool ends_with_leader(const Job& job, const std::vector<protocol::JobRecord>& jobs) {
    return is_het_follower(job) && std::ranges::any_of(jobs, [&](const protocol::JobRecord& other) {
      return other.job.id == job.het->leader;
    });
  }

  // What was named and is not there, or over, is an error; what is there and passes not all filters is left alone without a word.
  bool tell_missing() {
    if (request_.targets.empty()) return true;
    const auto jobs = load(active_jobs());
    if (!jobs) return false;
    for (const std::string& target : request_.targets) {
      const std::string name = job_name(target);
      if (std::ranges::any_of(*jobs, [&](const protocol::JobRecord& job) { return is_of_name(job.job, name); })) continue;
      print_error("scancel", fmt::format("Kill job error on job {}id {}: {}", names_step(target) ? "step " : "", target,
                                         error_sentence(ErrorCode::kInvalidJobId)));
      worst_ = 1;
    }
    return true;
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

  void end_target(const std::string& target) {
    const bool step = names_step(target);
    protocol::SignalRequest signal;
    signal.target = target;
    // KILL is the end of a job in Slurm, unless it is for the script or the steps alone.
    const bool ends =
        !request_.batch && !request_.full && (!request_.signal_given || request_.signal == 9);
    signal.signal = request_.signal;
    if (ends) signal.flags |= protocol::kSignalCancel;
    if (request_.batch) signal.flags |= protocol::kSignalBatchOnly;
    if (request_.full) signal.flags |= protocol::kSignalFull;
    if (!ends && !request_.batch && !request_.full && !step) {
      signal.flags |= protocol::kSignalStepsOnly;
    }
    if (request_.cron) signal.flags |= protocol::kSignalCron;
    if (request_.hurry) signal.flags |= protocol::kSignalHurry;
    announce(target, step, ends);
    const Result<protocol::CountReply> reply = client_.call<protocol::CountReply>(signal);
    if (reply) {
      for (const std::string& error : reply->errors) {
        if (!request_.quiet && !is_no_news(error)) print_error("scancel", error);
      }
      return;
    }
    failed(target, step, reply.error());
  }

  void announce(const std::string& target, bool step, bool ends) const {
    if (request_.verbose == 0 || request_.quiet) return;
    if (ends) {
      say("scancel", fmt::format("Terminating {} {}", step ? "step" : "job", target));
    } else {
      say("scancel", fmt::format("Signal {} to {}{} {}", request_.signal,
                                 request_.batch  ? "batch "
                                 : request_.full ? "full "
                                                 : "",
                                 step ? "step" : "job", target));
    }
  }

  void failed(const std::string& target, bool step, const Error& error) {
    const bool harmless =
        !step &&
        (error.code == ErrorCode::kInvalidJobId || error.code == ErrorCode::kAlreadyDone) &&
        (!request_.signal_given || (request_.quiet && error.code == ErrorCode::kAlreadyDone));
    if (!harmless || request_.verbose > 0) {
      if (!request_.quiet || !harmless) {
        print_error("scancel", fmt::format("Kill job error on job {}id {}: {}", step ? "step " : "",
                                           target, error_text(error)));
      }
    }
    if (!harmless) worst_ = exit_status_of(error.code);
  }

  Client& client_;
  const CancelRequest& request_;
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
