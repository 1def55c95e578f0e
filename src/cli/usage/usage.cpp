// sluice usage: what a user used, and how near that is to their target and limits, on one screen.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/format/environment.hpp"
#include "cli/format/shown_text.hpp"
#include "cli/format/structured_text.hpp"
#include "cli/shared/client.hpp"
#include "cli/shared/user_names.hpp"
#include "cli/usage/output.hpp"
#include "common/model/accounting_daemon.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice::cli {
namespace {

constexpr size_t kMostJobs = 10;
constexpr const char* kUsageLines =
    "Usage: sluice usage [--json]\n"
    "What you used of the cluster, your target and shares, limits, and how well jobs used what "
    "they had.\n";

// The newest of those that ended after `from`; without steps.
Status look_for_jobs(Client& client, Time from, std::vector<JobHistory>& newest) {
  protocol::QueryHistoryRequest request;
  request.clusters = {client.config().cluster_name};
  request.uids = {getuid()};
  request.from = from;
  request.steps = false;
  newest.clear();
  const auto is_newer = [](const JobHistory& a, const JobHistory& b) { return a.end > b.end; };
  return client.stream<protocol::HistoryChunk>(request, [&](protocol::HistoryChunk&& chunk) {
    for (protocol::HistoryJob& record : chunk.jobs) {
      if (record.job.start == kNoTime || record.job.end == kNoTime) continue;
      newest.push_back(std::move(record.job));
    }
    std::ranges::stable_sort(newest, is_newer);
    if (newest.size() > kMostJobs) newest.resize(kMostJobs);
    return true;
  });
}

Status read_jobs(Client& client, std::vector<UsageJob>& out) {
  std::vector<JobHistory> newest;
  for (const int days : {1, 7, 30}) {  // a month of somebody may be long
    const Time from = current_time() - std::chrono::hours(24 * days);
    if (Status done = look_for_jobs(client, from, newest); !done) return done;
    if (newest.size() == kMostJobs) break;
  }
  if (newest.empty()) return {};
  protocol::QueryHistoryRequest request;
  request.clusters = {client.config().cluster_name};
  for (const JobHistory& job : newest) {
    if (job.array_job == kNoJob) request.jobs.push_back({.job = job.id});
    else request.jobs.push_back({.job = job.array_job, .task = job.array_task});
  }
  std::vector<protocol::HistoryJob> found;
  SacctContext context;
  Status done = client.stream<protocol::HistoryChunk>(request, [&](protocol::HistoryChunk&& chunk) {
    context.now = chunk.now;
    for (protocol::HistoryJob& record : chunk.jobs) found.push_back(std::move(record));
    return true;
  });
  if (!done) return done;
  std::ranges::stable_sort(found, std::greater<>(),
                           [](const protocol::HistoryJob& one) { return one.job.end; });
  if (found.size() > kMostJobs) found.resize(kMostJobs);
  for (const protocol::HistoryJob& record : found) out.push_back(usage_job(record, context));
  return {};
}

int fail(const std::string& text) {
  std::fprintf(stderr, "sluice: error: %s\n", text.c_str());
  return 1;
}

int tell_usage(Client& client, bool json) {
  const ClusterConfig& config = client.config();
  const std::string user = own_name();
  protocol::QueryAssocMgrRequest request;
  request.users = {user};
  request.no_users = true;
  const auto all = client.call<protocol::AssocMgrReply>(request);
  if (!all) return report("sluice", all.error());
  if (!all->followed)
    return fail("the controller has heard nothing of the accounting daemon yet: it knows no usage");
  protocol::QueryNodesRequest look;
  look.nodes_only = look.hidden_partitions = look.powered_down = true;
  const auto nodes = client.call<protocol::QueryNodesReply>(look);
  if (!nodes) return report("sluice", nodes.error());
  protocol::QueryNodesRequest look_for_partitions;
  look_for_partitions.partitions_only = true;
  const auto partitions = client.call<protocol::QueryNodesReply>(look_for_partitions);
  if (!partitions) return report("sluice", partitions.error());
  UsageReport report =
      usage_report(user, config, *all, cluster_size(nodes->nodes), partitions->partitions);
  if (report.associations.empty())
    return fail(fmt::format("{} has no account on cluster {}: an administrator gives you one", user,
                            config.cluster_name));
  if (const Status done = read_jobs(client, report.jobs); !done) {
    const bool away = done.error().code == ErrorCode::kUnreachable;
    report.jobs.clear();
    report.history_missing = fmt::format(
        "The accounting daemon at {}:{} {}.", config.accounting_storage_host,
        config.accounting_storage_port,
        away ? "does not answer: jobs of the past are missing" : error_text(done.error()));
  }
  if (json) std::puts(to_json_text(usage_json(report)).c_str());
  else std::fputs(shown_text(usage_text(report)).c_str(), stdout);
  return report.history_missing.empty() ? 0 : 1;
}

}  // namespace

int usage_main(int argc, char** argv) {
  const std::string_view word = argc == 2 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && word != "--json")) {
    const bool asked = word == "--help" || word == "-h";
    std::fputs(kUsageLines, asked ? stdout : stderr);
    return asked ? 0 : 1;
  }
  Result<Client> client = Client::open();
  if (!client) return report("sluice", client.error());
  if (!has_accounting_daemon(client->config())) {
    const std::string& type = client->config().accounting_storage_type;
    return fail(
        fmt::format("this cluster has no accounting, so usage is not kept: "
                    "AccountingStorageType={}",
                    type.empty() ? "accounting_storage/none" : type));
  }
  client->keep_asking();
  return tell_usage(*client, word == "--json");
}

}  // namespace sluice::cli
