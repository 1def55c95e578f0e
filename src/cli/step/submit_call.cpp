#include "cli/step/submit_call.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "cli/format/environment.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/submit_env.hpp"
#include "common/base/time_text.hpp"
#include "common/names/errors.hpp"
#include "common/os/back_off.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::cli {
namespace {

constexpr int kMostRetries = 15;  // of a controller that answers "not now"

// A request that is worth another try: the controller is busy, or full (MaxJobCount). What comes
// with words of its own is a bound that the request itself is beyond.
bool may_fit_later(const Error& error) {
  if (error.code == ErrorCode::kRetry) return !net::is_without_token(error);
  return error.code == ErrorCode::kTooManyJobs &&
         (error.text.empty() || error.text == error_sentence(error.code));
}

// False: it was interrupted.
bool rest(std::chrono::milliseconds pause, const std::function<bool()>& interrupted) {
  constexpr std::chrono::milliseconds kSlice{50};
  for (auto left = pause; left > left.zero(); left -= kSlice) {
    if (interrupted && interrupted()) return false;
    std::this_thread::sleep_for(std::min(left, kSlice));
  }
  return true;
}

// What is wrong, the sentence of it last: an error's own words go before that of its code, and an
// error without a code has nothing else. Words of a site's script may be several lines.
std::vector<std::string> lines_of(const Error& error) {
  const std::string sentence(error_sentence(error.code));
  std::vector<std::string> lines = split(error.text, '\n');
  std::erase(lines, "");
  const bool has_sentence = error.code == ErrorCode::kError || error.text == sentence;
  if (lines.empty() || !has_sentence) lines.push_back(sentence);
  return lines;
}

}  // namespace

Result<protocol::SubmitJobReply> submit_job(Client& client,
                                            const protocol::SubmitJobRequest& request,
                                            CommandSet command,
                                            const std::function<bool()>& interrupted) {
  using Clock = std::chrono::steady_clock;
  const std::string name(submit_command_name(command));
  const auto patience = Clock::now() + client.config().message_timeout;
  for (int tries = 0;; ++tries) {
    Result<protocol::SubmitJobReply> reply = client.call<protocol::SubmitJobReply>(request);
    if (reply) return reply;
    const ErrorCode code = reply.error().code;
    // nobody on this host who gives a token is as good as no controller
    const bool away = code == ErrorCode::kUnreachable || code == ErrorCode::kConnectionLost ||
                      net::is_without_token(reply.error());
    const bool later = may_fit_later(reply.error()) && tries < kMostRetries && !request.test_only;
    if (!later && (!away || Clock::now() >= patience)) return reply;
    if (later && tries == 0) {
      std::fprintf(stderr,
                   "%s: error: Slurm temporarily unable to accept job, sleeping and retrying\n",
                   name.c_str());
    }
    const auto pause = std::chrono::milliseconds(later ? std::min(1000 * (tries + 1), 5000) : 500);
    if (!rest(pause, interrupted)) return reply;
  }
}

void report_failure(std::string_view command, std::string_view what, const Error& error) {
  std::vector<std::string> lines = lines_of(error);
  const std::string last = std::move(lines.back());
  lines.pop_back();
  for (const std::string& line : lines) print_error(command, line);
  print_error(command, std::string(what) + ": " + last);
}

void print_messages(std::string_view command, const std::vector<std::string>& messages) {
  for (const std::string& message : messages) {
    std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(command.size()), command.data(),
                 message.c_str());
  }
}

int print_test(std::string_view command, const Result<protocol::SubmitJobReply>& reply) {
  if (!reply) {
    std::vector<std::string> lines = lines_of(reply.error());
    const std::string sentence(error_sentence(reply.error().code));
    if (lines.back() == sentence) lines.pop_back();
    for (const std::string& line : lines) print_error(command, line);
    std::fprintf(stderr, "allocation failure: %s\n", sentence.c_str());
    return error_exit();
  }
  std::fprintf(stderr,
               "%.*s: Job %u to start at %s using %u processors on nodes %s in partition %s\n",
               static_cast<int>(command.size()), command.data(), reply->job,
               format_time(reply->start).c_str(), reply->cpus, reply->nodes.c_str(),
               reply->partition.c_str());
  print_messages(command, reply->messages);
  return 0;
}

int report_problem(std::string_view command, const OptionProblem& problem) {
  for (const std::string& error : problem.errors) print_error(command, error);
  return problem.exit_status == 1 ? error_exit() : problem.exit_status;
}

std::optional<int> complete_request(Submission& submission, CommandSet command) {
  const std::string_view name = submit_command_name(command);
  if (const OptionResult read = read_host_file(submission); !read) {
    return report_problem(name, read.error());
  }
  std::vector<std::string> warnings;
  if (const OptionResult fits = finish_submission(submission, command, warnings); !fits) {
    return report_problem(name, fits.error());
  }
  if (command == kSbatch && submission.settings.quiet) {
    // srun and salloc warn in spite of --quiet
    std::erase_if(warnings, [](const std::string& text) { return text.starts_with("Warning: "); });
  }
  print_messages(name, warnings);
  return std::nullopt;
}

std::optional<int> complete_with_config(Submission& submission, const ClusterConfig& config,
                                        std::string_view command) {
  std::vector<std::string> warnings;
  follow_config(submission, config, warnings);
  print_messages(command, warnings);
  if (const OptionResult allowed = settle_cpu_frequency(submission, config.cpu_freq_governors);
      !allowed) {
    return report_problem(command, allowed.error());
  }
  if (const OptionResult there = resolve_outside(submission); !there) {
    return report_problem(command, there.error());
  }
  if (const std::string clusters = submission.job.clusters.str(); !clusters.empty()) {
    if (!accept_cluster(std::string(command).c_str(), clusters, config)) return 1;
    submission.job.clusters = config.cluster_name;
  }
  const Status known = check_gres(submission.job, config.gres_types);
  if (known || known.error().code != ErrorCode::kInvalidGres) return std::nullopt;
  return report_problem(command, {{std::string(error_sentence(known.error().code))}, 1, {}});
}

}  // namespace sluice::cli
