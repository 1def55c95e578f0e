// sacctmgr show runawayjobs: jobs that have no end in the database, and are over.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "cli/sacct/current_jobs.hpp"
#include "cli/sacctmgr/history_list.hpp"
#include "cli/sacctmgr/session.hpp"
#include "common/base/time_text.hpp"
#include "common/model/cluster_config.hpp"
#include "common/names/errors.hpp"
#include "common/names/job_states.hpp"
#include "common/protocol/admin.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice::cli::sacctmgr {
namespace {

using protocol::QueryReportReply;
using protocol::RunawayRow;

// For so long records that are on their way to the daemon are waited for.
constexpr Duration kLongestWait = std::chrono::seconds(10);
constexpr Duration kBetween = std::chrono::milliseconds(200);

using RunKey = std::tuple<JobId, Time, uint32_t, uint32_t>;
RunKey key_of(const RunawayRow& row) { return {row.job, row.submit, row.restarts, row.part}; }
RunKey key_of(const JobHistory& job) { return {job.id, job.submit, job.restarts, job.part}; }

// What the controller knows of jobs that the database has no end of.
struct KnownRuns {
  std::set<JobId> jobs;
  std::map<RunKey, JobHistory> over;
  std::set<RunKey> alive;
};

Status ask_controller(Client& client, const std::vector<RunawayRow>& rows, KnownRuns& known) {
  std::set<JobId> wanted;
  for (const RunawayRow& row : rows) wanted.insert(row.job);
  protocol::QueryJobsRequest jobs;
  jobs.all_states = true;
  jobs.hidden_partitions = true;
  return client.query_jobs(jobs, [&](protocol::JobChunk&& chunk) {
    for (const protocol::JobRecord& record : chunk.jobs) {
      if (!wanted.contains(record.job.id)) continue;
      known.jobs.insert(record.job.id);
      JobHistory run = current_history(record);
      const RunKey key = key_of(run);
      if (run.end == kNoTime) known.alive.insert(key);
      else known.over.insert_or_assign(key, std::move(run));
    }
    return true;
  });
}

// Whether the daemon has all that the controller had to tell by now.
bool is_all_sent(Client& client) {
  const auto ask = [&] {
    return client.call<protocol::QueryStatisticsReply>(protocol::QueryStatisticsRequest{},
                                                       kPatience);
  };
  auto reply = ask();
  if (!reply) return false;
  const uint64_t wanted = reply->history_waiting + reply->history_sent;
  for (Duration waited{0};
       reply && reply->history_waiting > 0 && reply->history_sent < wanted && waited < kLongestWait;
       waited += kBetween) {
    std::this_thread::sleep_for(kBetween);
    reply = ask();
  }
  return reply && (reply->history_waiting == 0 || reply->history_sent >= wanted);
}

protocol::RunawayEnd end_of(uint64_t index, JobHistory&& run) {
  protocol::RunawayEnd out;
  out.index = index;
  out.state = run.state;
  out.flags = run.flags & ~(kJobCompleting | kJobConfiguring);
  out.exit_status = run.exit_status;
  out.derived_exit_status = run.derived_exit_status;
  out.ended_by = run.ended_by;
  out.eligible = run.eligible;
  out.start = run.start;
  out.end = run.end;
  out.nodes = std::move(run.nodes);
  out.node_count = run.node_count;
  out.cpus = run.cpus;
  out.allocated_tres = std::move(run.allocated_tres);
  return out;
}

// Those that are over, and what is to be said of each to end it.
struct Runaway {
  std::vector<TextLine> lines;
  protocol::EndRunawayJobsRequest fix;

  void add(const RunawayRow& row, const KnownRuns& known) {
    TextLine line{{"ID", std::to_string(row.job)},
                  {"Name", row.name},
                  {"Partition", row.partition},
                  {"Cluster", row.cluster},
                  {"State", row.state},
                  {"TimeSubmit", format_time(row.submit)},
                  {"TimeStart", end_text(row.start)},
                  {"TimeEnd", "Unknown"}};
    if (const auto run = known.over.find(key_of(row)); run != known.over.end()) {
      line["TimeStart"] = end_text(run->second.start);
      line["TimeEnd"] = end_text(run->second.end);
      fix.known.push_back(end_of(row.index, JobHistory(run->second)));
    } else {
      fix.indexes.push_back(row.index);
    }
    lines.push_back(std::move(line));
  }
};

// Jobs that the controller knows to be over are told when the daemon had what it had to tell, and
// still has no end of them: it was told, and has lost it.
bool find_runaway(Session& session, Client& client, const protocol::QueryReportRequest& request,
                  Runaway& out) {
  // the database first: what begins after it is no matter
  const auto first = session.ask<QueryReportReply>(request);
  if (!first) return false;
  KnownRuns known;
  if (const Status asked = ask_controller(client, first->runaway, known); !asked)
    return session.error("Slurmctld running on cluster " + request.clusters.front() +
                         " is not up, can't check running jobs: " + error_text(asked.error()));
  const auto is_unknown = [&](const RunawayRow& row) { return !known.jobs.contains(row.job); };
  const auto is_over = [&](const RunawayRow& row) {
    return !is_unknown(row) && !known.alive.contains(key_of(row));
  };
  std::set<uint64_t> still;  // without an end
  if (std::any_of(first->runaway.begin(), first->runaway.end(), is_over)) {
    if (is_all_sent(client)) {
      const auto again = session.ask<QueryReportReply>(request);
      if (!again) return false;
      for (const RunawayRow& row : again->runaway) still.insert(row.index);
    } else {
      std::fprintf(stderr,
                   "sacctmgr: warning: records wait in the controller: jobs that it knows to be "
                   "over are not looked at\n");
    }
  }
  for (const RunawayRow& row : first->runaway) {
    if (is_unknown(row) || (is_over(row) && still.contains(row.index))) out.add(row, known);
  }
  return true;
}

}  // namespace

void list_runaway_jobs(Session& session, const Words& words) {
  Words others;
  JobState state = JobState::kCompleted;
  for (const std::string& word : words) {
    const Option option = split_option(word);
    if (!option.has_value || !option.is("EndState", 4)) {
      others.push_back(word);
      continue;
    }
    const auto named = parse_job_state(option.value);
    if (!named || !named->state || !is_terminal(*named->state))
      return void(session.error(fmt::format("Invalid value for EndState ({})", option.value)));
    state = *named->state;
  }
  HistoryWords asked;
  Client* client = session.open();
  if (client == nullptr) return;
  const std::string cluster = client->config().cluster_name;
  asked.request.clusters = {cluster};
  if (!read_history_words(session, others, asked)) return;
  if (asked.request.clusters != std::vector<std::string>{cluster})
    return void(session.fail("Runaway Jobs: only those of cluster " + cluster +
                             " can be told here: its controller is asked"));
  std::vector<TextColumn> columns = {{"ID", "ID", -12},
                                     {"Name", "Name", 10},
                                     {"Partition", "Partition", 10},
                                     {"Cluster", "Cluster", 10},
                                     {"State", "State", 10},
                                     {"TimeSubmit", "TimeSubmit", 19},
                                     {"TimeStart", "TimeStart", 19},
                                     {"TimeEnd", "TimeEnd", 19}};
  if (!choose_columns(session, asked.fields, columns)) return;
  asked.request.report = protocol::UsageReport::kRunawayJobs;
  session.denial = "sacctmgr: error: You must have an AdminLevel>=Operator to fix runaway jobs";
  Runaway found;
  if (!find_runaway(session, *client, asked.request, found)) return;
  const TextTable table{"runaway_jobs", columns};
  if (session.form) return print_table(session, table, found.lines);
  if (found.lines.empty()) {
    std::printf("Runaway Jobs: No runaway jobs found on cluster %s\n", cluster.c_str());
    return;
  }
  std::printf(
      "NOTE: Runaway jobs are jobs that don't exist in the controller but have a start "
      "time and no end time in the database\n");
  print_table(session, table, found.lines);
  std::printf(
      "\nWould you like to fix these runaway jobs?\n"
      "(This will set the end time for each job to the latest out of the start, eligible, "
      "or submit times, and set the state to %s.\nOnce corrected, this will trigger "
      "the rollup to reroll usage from before the earliest submit time of all the runaway "
      "jobs.)\n",
      to_lower(job_state_text(state)).c_str());
  if (!found.fix.known.empty())
    std::printf("Jobs with a TimeEnd get the end and the state that the controller knows.\n");
  std::printf("\n");
  if (session.readonly) return;
  if (!confirmed(session, "")) return;
  found.fix.state = state;
  (void)session.ask<protocol::EndRunawayJobsReply>(found.fix);
}

}  // namespace sluice::cli::sacctmgr
