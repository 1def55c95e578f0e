#include "cli/format/statistics_text.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "cli/shared/user_names.hpp"
#include "common/base/time_text.hpp"
#include "common/format/json_parts.hpp"

namespace sluice::cli {
namespace {

using protocol::CallCount;
using protocol::CycleCounts;
using protocol::QueryStatisticsReply;

// Slurm's message that is nearest to a call here.
struct MessageName {
  std::string_view method;
  std::string_view name;
  uint32_t id = 0;
};
constexpr MessageName kMessages[] = {
    {"RegisterNode", "MESSAGE_NODE_REGISTRATION_STATUS", 1002},
    {"Reconfigure", "REQUEST_RECONFIGURE", 1003},
    {"Shutdown", "REQUEST_SHUTDOWN", 1005},
    {"Ping", "REQUEST_PING", 1008},
    {"SetDebug", "REQUEST_SET_DEBUG_LEVEL", 1010},
    {"RebootNodes", "REQUEST_REBOOT_NODES", 1012},
    {"QueryLicenses", "REQUEST_LICENSE_INFO", 1021},
    {"QueryConfig", "REQUEST_BUILD_INFO", 2001},
    {"QueryJobs", "REQUEST_JOB_INFO", 2003},
    {"QueryNodes", "REQUEST_NODE_INFO", 2007},
    {"SetTrigger", "REQUEST_TRIGGER_SET", 2017},
    {"QueryTriggers", "REQUEST_TRIGGER_GET", 2018},
    {"ClearTriggers", "REQUEST_TRIGGER_CLEAR", 2019},
    {"QueryUsage", "REQUEST_SHARE_INFO", 2022},
    {"QueryReservations", "REQUEST_RESERVATION_INFO", 2024},
    {"QueryPriorities", "REQUEST_PRIORITY_FACTORS", 2026},
    {"QueryStatistics", "REQUEST_STATS_INFO", 2035},
    {"QueryAssocMgr", "REQUEST_ASSOC_MGR_INFO", 2043},
    {"BatchScript", "REQUEST_BATCH_SCRIPT", 2051},
    {"QueryCrontab", "REQUEST_CRONTAB", 2200},
    {"ReplaceCrontab", "REQUEST_UPDATE_CRONTAB", 2202},
    {"UpdateJob", "REQUEST_UPDATE_JOB", 3001},
    {"UpdateNode", "REQUEST_UPDATE_NODE", 3002},
    {"UpdatePartition", "REQUEST_UPDATE_PARTITION", 3005},
    {"ChangeReservation", "REQUEST_CREATE_RESERVATION", 3006},
    {"SubmitJob", "REQUEST_SUBMIT_BATCH_JOB", 4003},
    {"WatchJob", "REQUEST_JOB_READY", 4019},
    {"CreateStep", "REQUEST_JOB_STEP_CREATE", 5001},
    {"ReportSteps", "REQUEST_STEP_COMPLETE", 5016},
    {"EndAllocation", "REQUEST_COMPLETE_JOB_ALLOCATION", 5017},
    {"UpdateStep", "REQUEST_UPDATE_JOB_STEP", 5029},
    {"Signal", "REQUEST_KILL_JOB", 5032},
    {"CancelJobs", "REQUEST_KILL_JOBS", 5033},
    {"ReportCleaned", "MESSAGE_EPILOG_COMPLETE", 6012},
    {"ReportPrologs", "REQUEST_COMPLETE_PROLOG", 6018},
    // orders to nodes
    {"RebootNode", "REQUEST_REBOOT_NODES", 1012},
    {"ReconfigureNode", "REQUEST_RECONFIGURE", 1003},
    {"ShutdownNode", "REQUEST_SHUTDOWN", 1005},
    {"LaunchStep", "REQUEST_LAUNCH_TASKS", 6001},
    {"SignalStep", "REQUEST_SIGNAL_TASKS", 6004},
    {"TerminateStep", "REQUEST_TERMINATE_TASKS", 6006},
    {"TerminateJob", "REQUEST_TERMINATE_JOB", 6011},
    {"RunProlog", "REQUEST_LAUNCH_PROLOG", 6017},
};

// "JobAction" is REQUEST_JOB_ACTION where Slurm has no such message.
std::string call_name(std::string_view method) {
  std::string out = "REQUEST";
  for (const char c : method) {
    if (c >= 'A' && c <= 'Z') out += '_';
    out += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return out;
}

struct NamedMessage {
  std::string name;
  uint32_t id = 0;
};
NamedMessage message_of(std::string_view method) {
  const auto* known = std::ranges::find(kMessages, method, &MessageName::method);
  if (known == std::end(kMessages)) return {call_name(method), 0};
  return {std::string(known->name), known->id};
}

struct Call {
  std::string name;
  uint32_t id = 0;
  uint64_t count = 0, total_us = 0;
  [[nodiscard]] uint64_t average_us() const { return count == 0 ? 0 : total_us / count; }
};

std::vector<Call> calls_of(const QueryStatisticsReply& counts, CallOrder order) {
  std::vector<Call> out;
  for (const CallCount& call : counts.by_method) {
    NamedMessage message = message_of(call.method);
    out.push_back({std::move(message.name), message.id, call.count, call.total_us});
  }
  std::ranges::stable_sort(out, [order](const Call& a, const Call& b) {
    switch (order) {
      case CallOrder::kId: return a.id < b.id;
      case CallOrder::kTotal: return a.total_us > b.total_us;
      case CallOrder::kAverage: return a.average_us() > b.average_us();
      default: return a.count > b.count;
    }
  });
  return out;
}

uint64_t mean(uint64_t sum, const CycleCounts& cycles) {
  return cycles.cycles == 0 ? 0 : sum / cycles.cycles;
}

uint64_t minutes_covered(const QueryStatisticsReply& counts) {
  return static_cast<uint64_t>(std::max<int64_t>(0, to_seconds(counts.now - counts.since) / 60));
}

uint64_t per_minute(const QueryStatisticsReply& counts) {
  const uint64_t minutes = minutes_covered(counts);
  return minutes == 0 ? 0 : counts.cycles.cycles / minutes;
}

std::string head(const QueryStatisticsReply& c) {
  constexpr std::string_view kLine = "*******************************************************\n";
  std::string out;
  out += kLine;
  out += fmt::format("sdiag output at {}\nData since      {}\n", format_time_and_seconds(c.now),
                     format_time_and_seconds(c.since));
  out += kLine;
  out += fmt::format(
      "Server thread count:  {}\nRPC queue enabled:    0\nAgent queue size:     {}\nAgent count:          {}\n"
      "Agent thread count:   0\nDBD Agent queue size: {}\n\n",
      c.server_threads, c.messages_waiting, c.messages_sent, c.history_waiting);
  out += fmt::format(
      "Jobs submitted: {}\nJobs started:   {}\nJobs completed: {}\nJobs canceled:  {}\nJobs failed:    {}\n\n",
      c.jobs_submitted, c.jobs_started, c.jobs_completed, c.jobs_canceled, c.jobs_failed);
  out += fmt::format("Job states ts:  {}\nJobs pending:   {}\nJobs running:   {}\n\n",
                     format_time_and_seconds(c.states_time), c.jobs_pending, c.jobs_running);
  return out;
}

std::string main_part(const QueryStatisticsReply& c) {
  const CycleCounts& s = c.cycles;
  std::string out = "Main schedule statistics (microseconds):\n";
  out += fmt::format("\tLast cycle:   {}\n\tMax cycle:    {}\n\tTotal cycles: {}\n", s.last_us,
                     s.max_us, s.cycles);
  if (s.cycles > 0) {
    out += fmt::format("\tMean cycle:   {}\n\tMean depth cycle:  {}\n", mean(s.total_us, s),
                       mean(s.total_depth, s));
  }
  if (minutes_covered(c) > 0) out += fmt::format("\tCycles per minute: {}\n", per_minute(c));
  out += fmt::format("\tLast queue length: {}\n\n", s.last_queue);
  out += fmt::format(
      "Main scheduler exit:\n\tEnd of job queue:{:2}\n\tHit default_queue_depth:{:2}\n"
      "\tHit sched_max_job_start:{:2}\n\tBlocked on licenses:{:2}\n\tHit max_rpc_cnt:{:2}\n"
      "\tTimeout (max_sched_time):{:2}\n\n",
      s.ended_queue, s.ended_depth + s.ended_tests, s.ended_starts, s.ended_licenses, 0,
      s.ended_time);
  return out;
}

std::string backfill_part(const QueryStatisticsReply& c) {
  const CycleCounts& b = c.backfill;
  std::string out = "Backfilling stats";
  if (c.is_planning) out += " (WARNING: data obtained in the middle of backfilling execution.)";
  out += '\n';
  out += fmt::format(
      "\tTotal backfilled jobs (since last slurm start): {}\n"
      "\tTotal backfilled jobs (since last stats cycle start): {}\n"
      "\tTotal backfilled heterogeneous job components: {}\n\tTotal cycles: {}\n",
      c.backfilled_ever, c.backfilled, c.backfilled_components, b.cycles);
  out += fmt::format("\tLast cycle when: {}\n\tLast cycle: {}\n\tMax cycle:  {}\n",
                     b.cycles > 0 ? format_time_and_seconds(b.last) : "N/A", b.last_us, b.max_us);
  if (b.cycles > 0) out += fmt::format("\tMean cycle: {}\n", mean(b.total_us, b));
  out += fmt::format("\tLast depth cycle: {}\n\tLast depth cycle (try sched): {}\n", b.last_depth,
                     b.last_tried);
  if (b.cycles > 0) {
    out += fmt::format("\tDepth Mean: {}\n\tDepth Mean (try depth): {}\n", mean(b.total_depth, b),
                       mean(b.total_tried, b));
  }
  out += fmt::format("\tLast queue length: {}\n", b.last_queue);
  if (b.cycles > 0) out += fmt::format("\tQueue length mean: {}\n", mean(b.total_queue, b));
  out += fmt::format("\tLast table size: {}\n", b.last_table);
  if (b.cycles > 0) out += fmt::format("\tMean table size: {}\n", mean(b.total_table, b));
  out += fmt::format(
      "\nBackfill exit\n\tEnd of job queue:{:2}\n\tHit bf_max_job_start:{:2}\n\tHit bf_max_job_test:{:2}\n"
      "\tSystem state changed:{:2}\n\tHit table size limit (bf_node_space_size):{:2}\n\tTimeout (bf_max_time):{:2}\n\n",
      b.ended_queue, b.ended_starts, b.ended_depth + b.ended_tests, 0, 0, b.ended_time);
  return out;
}

uint64_t mean_of(uint64_t sum, uint64_t count) { return count == 0 ? 0 : sum / count; }

// Has no like in Slurm. Lines begin with a stage's name, so that what looks for Slurm's lines finds
// none here.
std::string stages_part(const QueryStatisticsReply& c) {
  if (c.passes.empty()) return {};
  std::string out = "Scheduling stages (microseconds)\n";
  const auto line = [&out](std::string_view name, uint64_t last, uint64_t max, uint64_t average,
                           uint64_t sum) {
    out += fmt::format("\t\t{:<11} last:{:<8} max:{:<8} ave:{:<8} sum:{}\n", name, last, max,
                       average, sum);
  };
  for (const protocol::PassKind& kind : c.passes) {
    out += fmt::format("\t{} passes: {}, jobs planned: {}, plans kept: {}\n", kind.name,
                       kind.passes, kind.planned, kind.kept);
    for (const protocol::StageCount& stage : kind.stages) {
      line(stage.name, stage.last_us, stage.max_us, mean_of(stage.total_us, kind.passes),
           stage.total_us);
    }
    line("whole", kind.last_us, kind.max_us, mean_of(kind.total_us, kind.passes), kind.total_us);
  }
  return out + '\n';
}

Json stages_json(const QueryStatisticsReply& c) {
  Json out = Json::array();
  for (const protocol::PassKind& kind : c.passes) {
    Json stages = Json::array();
    for (const protocol::StageCount& stage : kind.stages) {
      stages.push_back({{"name", stage.name},
                        {"last", stage.last_us},
                        {"max", stage.max_us},
                        {"mean", mean_of(stage.total_us, kind.passes)},
                        {"sum", stage.total_us}});
    }
    out.push_back({{"kind", kind.name},
                   {"passes", kind.passes},
                   {"last", kind.last_us},
                   {"max", kind.max_us},
                   {"mean", mean_of(kind.total_us, kind.passes)},
                   {"sum", kind.total_us},
                   {"when", json_time(kind.last)},
                   {"jobs_planned", kind.planned},
                   {"plans_kept", kind.kept},
                   {"stages", std::move(stages)}});
  }
  return out;
}

// Messages that wait, by their kind: of equal numbers in the order of the kinds.
std::vector<Call> waiting_kinds(const QueryStatisticsReply& c) {
  std::vector<Call> kinds;
  for (const protocol::WaitingOrder& order : c.waiting_orders) {
    NamedMessage message = message_of(order.method);
    auto at = std::ranges::find(kinds, message.name, &Call::name);
    if (at == kinds.end())
      at = kinds.insert(kinds.end(), {std::move(message.name), message.id, 0, 0});
    ++at->count;
  }
  return kinds;
}

std::string pending_part(const QueryStatisticsReply& c) {
  std::string out = "\nPending RPC statistics\n";
  if (c.waiting_orders.empty()) return out + "\tNo pending RPCs\n";
  for (const Call& kind : waiting_kinds(c))
    out += fmt::format("\t{:<40}({:5}) count:{:<6}\n", kind.name, kind.id, kind.count);
  out += "\nPending RPCs\n";
  size_t number = 0;
  for (const protocol::WaitingOrder& order : c.waiting_orders)
    out += fmt::format("\t{:2}: {:<36} {}\n", ++number, message_of(order.method).name, order.nodes);
  return out;
}

void add_pending_json(const QueryStatisticsReply& c, Json& out) {
  out["pending_rpcs"] = Json::array();
  for (const Call& kind : waiting_kinds(c)) {
    out["pending_rpcs"].push_back(
        {{"type_id", kind.id}, {"message_type", kind.name}, {"count", kind.count}});
  }
  out["pending_rpcs_by_hostlist"] = Json::array();
  for (const protocol::WaitingOrder& order : c.waiting_orders) {
    const NamedMessage message = message_of(order.method);
    out["pending_rpcs_by_hostlist"].push_back(
        {{"type_id", message.id}, {"message_type", message.name}, {"count", {order.nodes}}});
  }
}

Json mean_json(uint64_t value) { return {{"set", true}, {"infinite", false}, {"number", value}}; }

void add_main_json(const QueryStatisticsReply& c, Json& out) {
  const CycleCounts& s = c.cycles;
  out["schedule_cycle_max"] = s.max_us;
  out["schedule_cycle_last"] = s.last_us;
  out["schedule_cycle_sum"] = s.total_us;
  out["schedule_cycle_total"] = s.cycles;
  out["schedule_cycle_mean"] = mean(s.total_us, s);
  out["schedule_cycle_mean_depth"] = mean(s.total_depth, s);
  out["schedule_cycle_per_minute"] = per_minute(c);
  out["schedule_cycle_depth"] = s.total_depth;
  out["schedule_exit"] = {
      {"end_job_queue", s.ended_queue},  {"default_queue_depth", s.ended_depth + s.ended_tests},
      {"max_job_start", s.ended_starts}, {"max_rpc_cnt", 0},
      {"max_sched_time", s.ended_time},  {"licenses", s.ended_licenses}};
  out["schedule_queue_length"] = s.last_queue;
}

void add_backfill_json(const QueryStatisticsReply& c, Json& out) {
  const CycleCounts& b = c.backfill;
  out["bf_backfilled_jobs"] = c.backfilled_ever;
  out["bf_last_backfilled_jobs"] = c.backfilled;
  out["bf_backfilled_het_jobs"] = c.backfilled_components;
  out["bf_cycle_counter"] = b.cycles;
  out["bf_cycle_mean"] = mean(b.total_us, b);
  out["bf_depth_mean"] = mean(b.total_depth, b);
  out["bf_depth_mean_try"] = mean(b.total_tried, b);
  out["bf_cycle_sum"] = b.total_us;
  out["bf_cycle_last"] = b.last_us;
  out["bf_cycle_max"] = b.max_us;
  out["bf_exit"] = {{"end_job_queue", b.ended_queue},
                    {"bf_max_job_start", b.ended_starts},
                    {"bf_max_job_test", b.ended_depth + b.ended_tests},
                    {"bf_max_time", b.ended_time},
                    {"bf_node_space_size", 0},
                    {"state_changed", 0}};
  out["bf_last_depth"] = b.last_depth;
  out["bf_last_depth_try"] = b.last_tried;
  out["bf_depth_sum"] = b.total_depth;
  out["bf_depth_try_sum"] = b.total_tried;
  out["bf_queue_len"] = b.last_queue;
  out["bf_queue_len_mean"] = mean(b.total_queue, b);
  out["bf_queue_len_sum"] = b.total_queue;
  out["bf_table_size"] = b.last_table;
  out["bf_table_size_sum"] = b.total_table;
  out["bf_table_size_mean"] = mean(b.total_table, b);
  out["bf_when_last_cycle"] = json_time(b.last);
  out["bf_active"] = c.is_planning;
}

}  // namespace

std::string statistics_text(const QueryStatisticsReply& counts, CallOrder order) {
  std::string out = head(counts) + main_part(counts) + backfill_part(counts) + stages_part(counts);
  out +=
      fmt::format("Latency for 1000 calls to gettimeofday(): {} microseconds\n\n", counts.clock_us);
  out += "Remote Procedure Call statistics by message type\n";
  for (const Call& call : calls_of(counts, order)) {
    out += fmt::format("\t{:<40}({:5}) count:{:<6} ave_time:{:<6} total_time:{}\n", call.name,
                       call.id, call.count, call.average_us(), call.total_us);
  }
  out += "\nRemote Procedure Call statistics by user\n";
  std::vector<Call> users;
  for (const CallCount& user : counts.by_user)
    users.push_back({user_name(user.uid), user.uid, user.count, user.total_us});
  std::ranges::stable_sort(users, std::greater<>(), &Call::count);
  for (const Call& user : users) {
    out += fmt::format("\t{:<16}({:8}) count:{:<6} ave_time:{:<6} total_time:{}\n", user.name,
                       user.id, user.count, user.average_us(), user.total_us);
  }
  return out + pending_part(counts);
}

Json statistics_json(const QueryStatisticsReply& c) {
  Json out;
  out["parts_packed"] = 0;
  out["req_time"] = json_time(c.now);
  out["req_time_start"] = json_time(c.since);
  out["server_thread_count"] = c.server_threads;
  out["agent_queue_size"] = c.messages_waiting;
  out["agent_count"] = c.messages_sent;
  out["agent_thread_count"] = 0;
  out["dbd_agent_queue_size"] = c.history_waiting;
  out["gettimeofday_latency"] = c.clock_us;
  add_main_json(c, out);
  out["jobs_submitted"] = c.jobs_submitted;
  out["jobs_started"] = c.jobs_started;
  out["jobs_completed"] = c.jobs_completed;
  out["jobs_canceled"] = c.jobs_canceled;
  out["jobs_failed"] = c.jobs_failed;
  out["jobs_pending"] = c.jobs_pending;
  out["jobs_running"] = c.jobs_running;
  out["job_states_ts"] = json_time(c.states_time);
  add_backfill_json(c, out);
  out["rpcs_by_message_type"] = Json::array();
  for (const Call& call : calls_of(c, CallOrder::kCount)) {
    out["rpcs_by_message_type"].push_back({{"type_id", call.id},
                                           {"message_type", call.name},
                                           {"count", call.count},
                                           {"queued", 0},
                                           {"dropped", 0},
                                           {"cycle_last", 0},
                                           {"cycle_max", 0},
                                           {"total_time", call.total_us},
                                           {"average_time", mean_json(call.average_us())}});
  }
  out["rpcs_by_user"] = Json::array();
  for (const CallCount& user : c.by_user) {
    out["rpcs_by_user"].push_back(
        {{"user_id", user.uid},
         {"user", user_name(user.uid)},
         {"count", user.count},
         {"total_time", user.total_us},
         {"average_time", mean_json(user.count == 0 ? 0 : user.total_us / user.count)}});
  }
  add_pending_json(c, out);
  if (!c.passes.empty()) out["scheduler_passes"] = stages_json(c);
  return out;
}

}  // namespace sluice::cli
