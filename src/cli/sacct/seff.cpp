// seff: how much of what it was given a job used, as the script of this name among Slurm's
// contributions says it.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/format/shown_text.hpp"
#include "cli/sacct/efficiency.hpp"
#include "cli/shared/accounting_client.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/accounting_daemon.hpp"
#include "common/model/cluster_config.hpp"
#include "common/names/errors.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kUsage =
    "Usage: seff [Options] <JobID>\n"
    "       Options:\n"
    "       -h    Help\n"
    "       -v    Version\n";

// "12", "12_3", "12+1"
std::optional<protocol::HistoryJobName> parse_job(std::string_view text) {
  protocol::HistoryJobName name;
  const size_t mark = text.find_first_of("_+");
  const auto job = to_number<uint32_t>(text.substr(0, mark));
  if (!job || *job == kNoJob) return std::nullopt;
  name.job = *job;
  if (mark == text.npos) return name;
  const auto part = to_number<uint32_t>(text.substr(mark + 1));
  if (!part) return std::nullopt;
  (text[mark] == '_' ? name.task : name.offset) = *part;
  return name;
}

std::string memory_text(double kibibytes) {
  constexpr const char* kUnits[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
  size_t unit = kibibytes > 0 ? 0 : 1;  // nothing is "0.00 MB"
  for (; kibibytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) kibibytes /= 1024;
  return fmt::format("{:.2f} {}", kibibytes, kUnits[unit]);
}

void print_efficiency(const protocol::HistoryJob& record, const SacctContext& context) {
  const JobEfficiency use = job_efficiency(record, context);
  std::printf("CPU Utilized: %s\n", format_span(std::chrono::seconds(use.cpu_used)).c_str());
  std::printf("CPU Efficiency: %.2f%% of %s core-walltime\n", use.cpu_percent(),
              format_span(std::chrono::seconds(use.core_wall)).c_str());
  std::printf("Job Wall-clock time: %s\n", format_span(std::chrono::seconds(use.wall)).c_str());
  std::printf("Memory Utilized: %s%s\n", memory_text(use.memory_used).c_str(),
              use.memory_estimated ? " (estimated maximum)" : "");
  std::printf("Memory Efficiency: %.2f%% of %s\n", use.memory_percent(),
              memory_text(use.memory_given).c_str());
}

void print_job(const protocol::HistoryJob& record, const SacctContext& context) {
  const JobHistory& job = record.job;
  const std::string state = sacct_job_state(job, false);
  std::printf("Job ID: %u\n", job.id);
  if (job.array_job != kNoJob) std::printf("Array Job ID: %s\n", sacct_job_id(job).c_str());
  std::printf("Cluster: %s\nUser/Group: %s/%s\n", record.cluster.c_str(),
              shown_cell(job.user).c_str(), shown_cell(job.group).c_str());
  if (job.start == kNoTime) {
    std::printf("State: %s\n", state.c_str());
    std::printf("Efficiency not available for jobs in the %s state.\n", state.c_str());
    return;
  }
  std::printf("State: %s (exit code %d)\n", state.c_str(), (job.exit_status >> 8) & 0xff);
  if (job.cpus > 1)
    std::printf("Nodes: %u\nCores per node: %u\n", job.node_count,
                job.cpus / std::max(job.node_count, 1U));
  else std::printf("Cores: %u\n", job.cpus);
  print_efficiency(record, context);
  if (job.end == kNoTime)
    std::printf("WARNING: Efficiency statistics may be misleading for %s jobs.\n", state.c_str());
}

}  // namespace

int seff_main(int argc, char** argv) {
  const std::string_view word = argc == 2 ? argv[1] : "-h";
  if (word == "-v" || word == "-V") return print_slurm_version();
  const auto name = parse_job(word);
  if (!name) {
    std::fputs(kUsage, argc == 2 && word == "-h" ? stdout : stderr);
    return word == "-h" && argc == 2 ? 0 : 1;
  }
  Result<Client> client = Client::open();
  if (!client) return report("seff", client.error());
  if (!has_accounting_daemon(client->config())) {
    std::fputs("Slurm accounting storage is disabled\n", stderr);
    return 1;
  }
  protocol::QueryHistoryRequest request;
  request.clusters = {client->config().cluster_name};
  request.jobs = {*name};
  SacctContext context;
  bool found = false;
  const Status done =
      client->stream<protocol::HistoryChunk>(request, [&](protocol::HistoryChunk&& chunk) {
        context.now = chunk.now;
        for (const protocol::HistoryJob& record : chunk.jobs) {
          if (std::exchange(found, true)) break;
          print_job(record, context);
        }
        return true;
      });
  if (!done) {
    tell_no_answer("seff", *client, done.error());
    return 1;
  }
  if (found) return 0;
  std::fputs("Job not found.\n", stderr);
  return 1;
}

}  // namespace sluice::cli
