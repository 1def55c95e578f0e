#include "cli/submit_advice.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/format/environment.hpp"
#include "cli/format/shown_text.hpp"
#include "cli/sacct/advice.hpp"
#include "cli/shared/client.hpp"
#include "common/base/text.hpp"
#include "common/model/accounting_daemon.hpp"
#include "common/os/clock.hpp"
#include "common/os/replace_file.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice::cli {
namespace {

constexpr std::chrono::milliseconds kLongest(200);

bool is_wanted(const ClusterConfig& config) {
  if (::isatty(STDOUT_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) return false;
  if (!has_accounting_daemon(config)) return false;
  const char* said = std::getenv("SLUICE_ADVICE");
  if (said != nullptr && to_bool(said) == false) return false;
  return !iequals(option_value(config.sluice_parameters, "submit_advice").value_or(""), "no");
}

std::optional<protocol::JobRecord> submitted_job(Client& client, JobId job) {
  protocol::QueryJobsRequest request;
  request.ids = {std::to_string(job)};
  request.all_states = request.hidden_partitions = true;
  std::optional<protocol::JobRecord> found;
  const Status done = client.query_jobs(request, [&](protocol::JobChunk&& chunk) {
    if (!found && !chunk.jobs.empty()) found = std::move(chunk.jobs.front());
    return true;
  });
  return done ? found : std::nullopt;
}

// The newest of its user's jobs of this name, or of this command line where it has no name of its
// own; without steps.
std::vector<JobHistory> newest_runs(Client& client, const JobSpec& spec) {
  const auto is_newer = [](const JobHistory& a, const JobHistory& b) { return a.end > b.end; };
  const bool by_line = is_named_by_sbatch(spec.name.view());
  std::vector<JobHistory> newest;
  for (const int days : {1, 7, 30}) {  // a month of somebody may be long
    protocol::QueryHistoryRequest request;
    request.clusters = {client.config().cluster_name};
    request.uids = {spec.uid};
    request.names = {spec.name.str()};
    request.from = current_time() - std::chrono::hours(24 * days);
    request.steps = false;
    newest.clear();
    const Status done =
        client.stream<protocol::HistoryChunk>(request, [&](protocol::HistoryChunk&& chunk) {
          for (protocol::HistoryJob& record : chunk.jobs) {
            const bool same = !by_line || record.job.submit_line == spec.submit_line.view();
            if (same && record.job.state == JobState::kCompleted)
              newest.push_back(std::move(record.job));
          }
          std::ranges::stable_sort(newest, is_newer);
          if (newest.size() > kRunsForAdvice) newest.resize(kRunsForAdvice);
          return true;
        });
    if (!done) return {};
    if (newest.size() == kRunsForAdvice) break;
  }
  return newest;
}

std::string find_advice(Client& client, JobId job) {
  const auto submitted = submitted_job(client, job);
  if (!submitted || submitted->job.het != nullptr) return {};
  const std::vector<JobHistory> newest = newest_runs(client, *submitted->job.spec);
  if (newest.size() < kLeastRuns) return {};
  protocol::QueryHistoryRequest request;
  request.clusters = {client.config().cluster_name};
  for (const JobHistory& one : newest) {
    if (one.array_job == kNoJob) request.jobs.push_back({.job = one.id});
    else request.jobs.push_back({.job = one.array_job, .task = one.array_task});
  }
  std::vector<protocol::HistoryJob> runs;
  SacctContext context;
  const Status done =
      client.stream<protocol::HistoryChunk>(request, [&](protocol::HistoryChunk&& chunk) {
        context.now = chunk.now;
        for (protocol::HistoryJob& record : chunk.jobs) runs.push_back(std::move(record));
        return true;
      });
  if (!done) return {};
  const AskedResources asked = asked_resources(submitted->required_tres, submitted->job.time_limit);
  std::string text;
  for (const std::string& line : advice_for(asked, runs, context)) text += "sbatch: " + line + "\n";
  return text;
}

// All that is written until the other end is closed; nothing where that takes longer.
std::string read_within(std::chrono::milliseconds longest, int from) {
  const auto end = std::chrono::steady_clock::now() + longest;
  std::string text;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd wait{from, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) return {};
    char buffer[4096];
    const ssize_t got = ::read(from, buffer, sizeof buffer);
    if (got < 0) return {};
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

// A process of its own asks: what cannot be bounded otherwise (the resolver, munged) ends with it.
std::string ask_within(std::chrono::milliseconds longest, const std::function<std::string()>& ask) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const auto [from, to] = ends;
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, fd);
    (void)write_all(to, ask());
    ::_exit(0);
  }
  ::close(to);
  std::string text = child < 0 ? "" : read_within(longest, from);
  ::close(from);
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return text;
}

}  // namespace

void tell_advice(const ClusterConfig& config, JobId job) {
  if (!is_wanted(config)) return;
  const std::string text = ask_within(kLongest, [&]() -> std::string {
    Result<Client> client = Client::open(config);
    return client ? find_advice(*client, job) : std::string();
  });
  std::fputs(shown_text(text).c_str(), stderr);
}

}  // namespace sluice::cli
