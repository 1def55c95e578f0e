// scancel: ends or signals jobs, array tasks and steps, by their ids or by what they have in
// common.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/step/allocation.hpp"
#include "cli/options/cancel_options.hpp"
#include "cli/shared/client.hpp"
#include "cli/format/environment.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/format/shown_text.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::cli {
namespace {

// Slurm gives back the low byte of its own error number; programs test for the denied one.
int exit_status_of(const Error& error) {
  if (error.code == ErrorCode::kUnreachable) return 8;
  const auto number = error_number_of(error_text(error));
  const int status = number ? static_cast<int>(*number & 0xff) : 0;
  return status != 0 ? status : 1;
}

// Lines of a reply about some of an array's tasks that are no news to who cancels it: those that
// are over need no ending.
bool is_no_news(const std::string& line) {
  return line.ends_with(error_sentence(ErrorCode::kAlreadyDone)) || line.ends_with(": No error");
}

class Cancel {
 public:
  Cancel(Client& client, const CancelRequest& request)
      : client_(client),
        request_(request),
        filters_(request.has_filter() || request.interactive),
        plain_(!filters_ && !request.signal_given && !request.batch &&
               std::ranges::none_of(request.targets, names_step)) {}

  int run() {
    if (!filters_) {
      if (request_.targets.size() == 1) end_target(request_.targets.front());
      else end_targets();
      return worst_;
    }
    if (request_.passes_nothing()) return tell_of_none();
    if (!request_.interactive) return end_all(request_.targets);
    const auto found = ask(request_.targets, true);
    if (!found) return 1;
    for (const protocol::CancelOutcome& part : found->outcomes) {
      // the filters decide again: what begins while the question is read is no more what was meant
      // by PENDING
      if (confirmed(part)) end_all({without_limit(part.target)});
    }
    return worst_;
  }

 private:
  // Where the answer was lost and something is to end, it is asked for again: twice is as good as
  // once.
  template <class Reply, class Request>
  Result<Reply> call_surely(const Request& order) {
    Result<Reply> reply = client_.call<Reply>(order);
    const bool lost = !reply && reply.error().code == ErrorCode::kConnectionLost;
    return lost && !request_.signal_given ? client_.call<Reply>(order) : reply;
  }

  // The controller decides what passes the filters, and ends it in the same moment; with
  // `find_only` it says what that is.
  std::optional<protocol::CancelJobsReply> ask(const std::vector<std::string>& targets,
                                               bool find_only) {
    protocol::CancelJobsRequest order;
    order.signal = request_.signal;
    order.flags = flags_for(false);
    order.ends_steps = !request_.signal_given;
    order.find_only = find_only;
    order.filter = filter();
    order.filter.ids = targets;
    auto reply = call_surely<protocol::CancelJobsReply>(order);
    if (!reply) {
      const std::string text = "slurm_load_jobs error: " + error_text(reply.error());
      if (reply.error().code == ErrorCode::kUnreachable) std::fprintf(stderr, "%s\n", text.c_str());
      else print_error("scancel", text);
      return std::nullopt;
    }
    for (const std::string& target : reply->missing) missing(target);
    if (reply->outcomes.empty()) tell_of_none();
    return std::move(*reply);
  }

  int tell_of_none() const {
    if (request_.verbose > 0 && request_.has_filter()) {
      print_error("scancel", fmt::format("No active jobs match ALL job filters, including: {}",
                                         filters_text(request_)));
    }
    return 0;
  }

  int end_all(const std::vector<std::string>& targets) {
    const auto reply = ask(targets, false);
    if (!reply) return worst_ = 1;
    for (const protocol::CancelOutcome& outcome : reply->outcomes) {
      if (outcome.code == ErrorCode::kOk) {
        announce(outcome.target);
        continue;
      }
      const Error error{outcome.code, outcome.text};
      if (names_step(outcome.target) && error.code == ErrorCode::kJobPending)
        continue;  // it has no steps
      announce(outcome.target);
      failed(outcome.target, error,
             error.code == ErrorCode::kInvalidJobId || error.code == ErrorCode::kAlreadyDone);
    }
    return worst_;
  }

  [[nodiscard]] protocol::QueryJobsRequest filter() const {
    protocol::QueryJobsRequest out;
    const auto one = [](const std::optional<std::string>& text) {
      return text ? std::vector{*text} : std::vector<std::string>{};
    };
    if (request_.uid) out.uids = {*request_.uid};
    if (request_.state) out.states = {*request_.state};
    out.partitions = one(request_.partition);
    out.accounts = one(request_.account);
    out.qos = one(request_.qos);
    out.names = one(request_.name);
    out.reservations = one(request_.reservation);
    out.wckeys = one(request_.wckey);
    out.nodes = request_.nodes.value_or("");
    out.hidden_partitions = true;
    return out;
  }

  // 12_[2-4%1] is asked about, and 12_[2-4] ended.
  static std::string without_limit(const std::string& target) {
    const size_t limit = target.find('%');
    return limit == std::string::npos ? target : target.substr(0, limit) + "]";
  }

  void missing(const std::string& target) {
    if (request_.verbose >= 0) print_failure(target, error_sentence(ErrorCode::kInvalidJobId));
    worst_ = std::max(worst_, 1);
  }

  static void print_failure(const std::string& target, std::string_view why) {
    print_error("scancel", fmt::format("Kill job error on job {}id {}: {}",
                                       names_step(target) ? "step " : "", target, why));
  }

  [[nodiscard]] static bool confirmed(const protocol::CancelOutcome& part) {
    const char* kind = names_step(part.target) ? "step_id" : "job_id";
    std::string answer;
    do {  // until it is an answer
      print_text(fmt::format("Cancel {}={} name={} partition={} [y/n]? ", kind, part.target,
                             part.name, part.partition),
                 {});
      std::fflush(stdout);
      if (!std::getline(std::cin, answer)) return false;
      if (answer.starts_with('y') || answer.starts_with('Y')) return true;
    } while (!answer.starts_with('n') && !answer.starts_with('N'));
    return false;
  }

  // A step is cancelled unless a signal was asked for. KILL is the end of a job in Slurm, unless it
  // is for the script or the steps alone.
  [[nodiscard]] bool ends(bool step) const {
    if (step) return !request_.signal_given;
    return !request_.batch && !request_.full &&
           (!request_.signal_given || request_.signal == SIGKILL);
  }

  [[nodiscard]] protocol::SignalFlags flags_for(bool step) const {
    protocol::SignalFlags flags = 0;
    if (ends(step)) flags |= protocol::kSignalCancel;
    if (request_.batch && !request_.full) flags |= protocol::kSignalBatchOnly;
    if (request_.full) flags |= protocol::kSignalFull;
    if (!ends(step) && !request_.batch && !request_.full && !step)
      flags |= protocol::kSignalStepsOnly;
    if (request_.cron) flags |= protocol::kSignalCron;
    if (request_.hurry) flags |= protocol::kSignalHurry;
    return flags;
  }

  void end_target(const std::string& target) {
    tell_of(target, call_surely<protocol::CountReply>(protocol::SignalRequest{
                        target, request_.signal, flags_for(names_step(target))}));
  }

  // As many at a time as the controller does in one command.
  void end_targets() {
    constexpr size_t kMostAtOnce = 1000;
    const std::vector<std::string>& targets = request_.targets;
    for (size_t at = 0; at < targets.size();) {
      protocol::CancelJobsRequest order;
      order.signal = request_.signal;
      order.flags = flags_for(false);
      order.step_flags = flags_for(true);
      order.each_id = true;
      const size_t end = std::min(targets.size(), at + kMostAtOnce);
      order.filter.ids.assign(targets.begin() + static_cast<ptrdiff_t>(at),
                              targets.begin() + static_cast<ptrdiff_t>(end));
      const auto reply = call_surely<protocol::CancelJobsReply>(order);
      if (!reply || reply->outcomes.empty()) {
        const Error error =
            reply ? Error{ErrorCode::kError, "the controller gave no answer"} : reply.error();
        for (; at < end; ++at) tell_of(targets[at], tl::unexpected<Error>(error));
        continue;
      }
      for (const protocol::CancelOutcome& outcome : reply->outcomes) {
        Result<protocol::CountReply> done = protocol::CountReply{outcome.count, outcome.errors};
        if (outcome.code != ErrorCode::kOk)
          done = tl::unexpected<Error>(Error{outcome.code, outcome.text});
        tell_of(outcome.target, done);
      }
      at += reply->outcomes.size();
    }
  }

  void tell_of(const std::string& target, const Result<protocol::CountReply>& reply) {
    const bool gone = !reply && (reply.error().code == ErrorCode::kInvalidJobId ||
                                 reply.error().code == ErrorCode::kAlreadyDone);
    const bool all_over = reply && reply->count == 0 && !reply->errors.empty() &&
                          std::ranges::all_of(reply->errors, is_no_news);
    // Slurm looks for the jobs first when they are not just to end: what is over then is unknown to
    // it
    if ((gone || all_over) && !plain_ && !filters_) return missing(target);
    // it has no steps
    if (!reply && names_step(target) && reply.error().code == ErrorCode::kJobPending) return;
    announce(target);
    if (!reply) return failed(target, reply.error(), gone);
    for (const std::string& error : reply->errors) {
      if (request_.verbose >= 0 && !is_no_news(error)) print_error("scancel", error);
    }
  }

  void announce(const std::string& target) const {
    if (request_.verbose <= 0) return;
    const bool step = names_step(target);
    const std::string what = fmt::format("{}{} {}",
                                         request_.batch  ? "batch "
                                         : request_.full ? "full "
                                                         : "",
                                         step ? "step" : "job", target);
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
    const Error told =
        error.code == ErrorCode::kInvalidStepId ? Error{ErrorCode::kInvalidJobId, {}} : error;
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
  client->keep_asking();
  if (!accept_cluster("scancel", request.clusters, client->config())) return 1;
  return Cancel(*client, request).run();
}

}  // namespace sluice::cli
