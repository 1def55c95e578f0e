// What administrators' commands say to the controller beside ctld.hpp: reboots, steps, triggers,
// crontabs, statistics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/job_spec.hpp"
#include "common/model/node.hpp"
#include "common/model/step.hpp"
#include "common/model/trigger.hpp"

namespace sluice::protocol {

// --- nodes and steps ----------------------------------------------------------------------------

struct RebootNodesRequest {
  static constexpr std::string_view kMethod = "Controller/RebootNodes";
  using Reply = struct Empty;
  std::string nodes;  // host list; "ALL": every node
  bool asap = false;  // no new jobs meanwhile
  AfterReboot after = AfterReboot::kAsBefore;
  std::string reason;
  bool force = false;  // at once: jobs lose the nodes
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &RebootNodesRequest::nodes);
    field(2, "asap", &RebootNodesRequest::asap);
    field(3, "after", &RebootNodesRequest::after);
    field(4, "reason", &RebootNodesRequest::reason);
    field(5, "force", &RebootNodesRequest::force);
  }
};
// To the agent of a node. One that was issued before the node's last boot is dropped.
struct RebootNodeRequest {
  static constexpr std::string_view kMethod = "NodeAgent/RebootNode";
  using Reply = struct Empty;
  Time issued = kNoTime;
  std::string reason;
  std::string features;    // "a,b": to be active then; empty: as they are
  bool if_needed = false;  // no reboot where the features can be had without
  template <class V>
  static void describe(V&& field) {
    field(1, "issued", &RebootNodeRequest::issued);
    field(2, "reason", &RebootNodeRequest::reason);
    field(3, "features", &RebootNodeRequest::features);
    field(4, "if_needed", &RebootNodeRequest::if_needed);
  }
};
struct UpdateStepRequest {
  static constexpr std::string_view kMethod = "Controller/UpdateStep";
  using Reply = struct Empty;
  StepId id;
  bool all_steps = false;  // of the job
  Minutes time_limit = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &UpdateStepRequest::id);
    field(2, "all_steps", &UpdateStepRequest::all_steps);
    field(3, "time_limit", &UpdateStepRequest::time_limit);
  }
};
// Values that hold until the controller is started again.
struct SetRuntimeRequest {
  static constexpr std::string_view kMethod = "Controller/SetRuntime";
  using Reply = struct Empty;
  std::optional<uint32_t> fair_share_dampening;
  std::optional<uint32_t> schedule_log_level;
  template <class V>
  static void describe(V&& field) {
    field(1, "fair_share_dampening", &SetRuntimeRequest::fair_share_dampening);
    field(2, "schedule_log_level", &SetRuntimeRequest::schedule_log_level);
  }
};

// --- triggers -----------------------------------------------------------------------------------

struct SetTriggerRequest {
  static constexpr std::string_view kMethod = "Controller/SetTrigger";
  using Reply = struct Empty;
  Trigger trigger;
  template <class V>
  static void describe(V&& field) {
    field(1, "trigger", &SetTriggerRequest::trigger);
  }
};
// Which triggers; all that is given has to be true.
struct TriggerFilter {
  std::optional<uint32_t> id;
  std::optional<JobId> job;
  std::optional<uint32_t> uid;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &TriggerFilter::id);
    field(2, "job", &TriggerFilter::job);
    field(3, "uid", &TriggerFilter::uid);
  }
};
struct ClearTriggersRequest {
  static constexpr std::string_view kMethod = "Controller/ClearTriggers";
  using Reply = struct Empty;
  TriggerFilter filter;
  template <class V>
  static void describe(V&& field) {
    field(1, "filter", &ClearTriggersRequest::filter);
  }
};
struct QueryTriggersRequest {
  static constexpr std::string_view kMethod = "Controller/QueryTriggers";
  using Reply = struct QueryTriggersReply;
  template <class V>
  static void describe(V&&) {}
};
struct QueryTriggersReply {
  Triggers triggers;
  template <class V>
  static void describe(V&& field) {
    field(1, "triggers", &QueryTriggersReply::triggers);
  }
};

// --- crontabs -----------------------------------------------------------------------------------

// One line of a crontab: the job, and what sbatch would send with it.
struct CronEntry {
  JobSpec spec;
  std::string script;
  std::string environment;
  template <class V>
  static void describe(V&& field) {
    field(1, "spec", &CronEntry::spec);
    field(2, "script", &CronEntry::script);
    field(3, "environment", &CronEntry::environment);
  }
};
struct ReplaceCrontabRequest {
  static constexpr std::string_view kMethod = "Controller/ReplaceCrontab";
  using Reply = struct ReplaceCrontabReply;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string text;  // empty: take it away
  std::vector<CronEntry> entries;
  template <class V>
  static void describe(V&& field) {
    field(1, "uid", &ReplaceCrontabRequest::uid);
    field(2, "gid", &ReplaceCrontabRequest::gid);
    field(3, "text", &ReplaceCrontabRequest::text);
    field(4, "entries", &ReplaceCrontabRequest::entries);
  }
};
struct ReplaceCrontabReply {
  std::vector<JobId> jobs;            // in the order of the entries
  uint32_t failed_line = 0;           // of the crontab; 0: none, all is as asked for
  std::string error;                  // of that line
  std::vector<std::string> messages;  // for the user's stderr
  template <class V>
  static void describe(V&& field) {
    field(1, "jobs", &ReplaceCrontabReply::jobs);
    field(2, "failed_line", &ReplaceCrontabReply::failed_line);
    field(3, "error", &ReplaceCrontabReply::error);
    field(4, "messages", &ReplaceCrontabReply::messages);
  }
};
struct QueryCrontabRequest {
  static constexpr std::string_view kMethod = "Controller/QueryCrontab";
  using Reply = struct QueryCrontabReply;
  uint32_t uid = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "uid", &QueryCrontabRequest::uid);
  }
};
struct QueryCrontabReply {
  bool present = false;
  std::string text;
  std::vector<JobId> jobs;
  template <class V>
  static void describe(V&& field) {
    field(1, "present", &QueryCrontabReply::present);
    field(2, "text", &QueryCrontabReply::text);
    field(3, "jobs", &QueryCrontabReply::jobs);
  }
};

// --- statistics ---------------------------------------------------------------------------------

struct QueryStatisticsRequest {
  static constexpr std::string_view kMethod = "Controller/QueryStatistics";
  using Reply = struct QueryStatisticsReply;
  bool reset = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "reset", &QueryStatisticsRequest::reset);
  }
};
struct CallCount {  // of one method, or of one user
  std::string method;
  uint32_t uid = 0;
  uint64_t count = 0;
  uint64_t total_us = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "method", &CallCount::method);
    field(2, "uid", &CallCount::uid);
    field(3, "count", &CallCount::count);
    field(4, "total_us", &CallCount::total_us);
  }
};
// Passes of the scheduler of one kind; durations in microseconds.
struct CycleCounts {
  uint64_t cycles = 0;
  uint64_t last_us = 0, max_us = 0, total_us = 0;
  uint64_t last_depth = 0, total_depth = 0;  // jobs looked at
  uint64_t last_tried = 0, total_tried = 0;  // placements tried
  uint64_t last_queue = 0, total_queue = 0;  // jobs that waited
  uint64_t last_table = 0, total_table = 0;  // entries of the table of future use
  uint64_t ended_queue = 0;                  // ended with all jobs looked at …
  uint64_t ended_starts = 0;                 // … with as many starts as one pass may have
  uint64_t ended_tests = 0;                  // … with as many tests
  uint64_t ended_licenses = 0;               // jobs that wait for licenses
  uint64_t ended_time = 0;                   // … with the time over that it may take
  uint64_t ended_depth = 0;                  // … with as many jobs looked at
  Time last = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "cycles", &CycleCounts::cycles);
    field(2, "last_us", &CycleCounts::last_us);
    field(3, "max_us", &CycleCounts::max_us);
    field(4, "total_us", &CycleCounts::total_us);
    field(5, "last_depth", &CycleCounts::last_depth);
    field(6, "total_depth", &CycleCounts::total_depth);
    field(7, "last_tried", &CycleCounts::last_tried);
    field(8, "total_tried", &CycleCounts::total_tried);
    field(9, "last_queue", &CycleCounts::last_queue);
    field(10, "total_queue", &CycleCounts::total_queue);
    field(11, "last_table", &CycleCounts::last_table);
    field(12, "total_table", &CycleCounts::total_table);
    field(13, "ended_queue", &CycleCounts::ended_queue);
    field(14, "ended_starts", &CycleCounts::ended_starts);
    field(15, "ended_tests", &CycleCounts::ended_tests);
    field(16, "ended_licenses", &CycleCounts::ended_licenses);
    field(17, "last", &CycleCounts::last);
    field(610, "ended_time", &CycleCounts::ended_time);
    field(611, "ended_depth", &CycleCounts::ended_depth);
  }
};
struct StageCount {  // one stage of passes; microseconds
  std::string name;
  uint64_t last_us = 0, max_us = 0, total_us = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &StageCount::name);
    field(2, "last_us", &StageCount::last_us);
    field(3, "max_us", &StageCount::max_us);
    field(4, "total_us", &StageCount::total_us);
  }
};
struct PassKind {  // passes that planned all anew ("full"), or repaired a plan ("incremental")
  std::string name;
  uint64_t passes = 0;
  uint64_t last_us = 0, max_us = 0, total_us = 0;
  uint64_t planned = 0;  // jobs that kept nodes for later, in all passes
  uint64_t kept = 0;     // of these: as an earlier pass had planned them
  Time last = kNoTime;
  std::vector<StageCount> stages;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &PassKind::name);
    field(2, "passes", &PassKind::passes);
    field(3, "last_us", &PassKind::last_us);
    field(4, "max_us", &PassKind::max_us);
    field(5, "total_us", &PassKind::total_us);
    field(6, "planned", &PassKind::planned);
    field(7, "kept", &PassKind::kept);
    field(8, "last", &PassKind::last);
    field(9, "stages", &PassKind::stages);
  }
};
struct WaitingOrder {  // to nodes that it did not reach; it is repeated
  std::string method;
  std::string nodes;
  template <class V>
  static void describe(V&& field) {
    field(1, "method", &WaitingOrder::method);
    field(2, "nodes", &WaitingOrder::nodes);
  }
};
struct QueryStatisticsReply {
  Time now = kNoTime;
  Time since = kNoTime;
  uint32_t server_threads = 0;
  uint64_t messages_waiting = 0;  // orders to nodes that are to be repeated
  uint64_t jobs_submitted = 0, jobs_started = 0, jobs_completed = 0, jobs_canceled = 0,
           jobs_failed = 0;
  uint64_t jobs_pending = 0, jobs_running = 0;
  Time states_time = kNoTime;
  CycleCounts cycles;            // every pass
  CycleCounts backfill;          // those in which a job had to wait for nodes
  uint64_t backfilled = 0;       // started while a job of higher priority waited; since the reset
  uint64_t backfilled_ever = 0;  // since the start
  uint64_t clock_us = 0;         // 1000 looks at the clock
  std::vector<CallCount> by_method, by_user;
  uint64_t history_waiting = 0;  // records for the accounting daemon that it does not have yet
  Time history_waiting_since = kNoTime;  // when it took none any more; kNoTime: it takes them
  uint64_t history_sent = 0;             // records that it has, since this controller's start
  uint64_t messages_sent = 0;            // orders to nodes that are not answered yet
  uint64_t backfilled_components = 0;    // of heterogeneous jobs; since the start
  bool is_planning = false;              // a pass over the whole queue is under way
  std::vector<PassKind> passes;
  std::vector<WaitingOrder> waiting_orders;  // the first of them
  template <class V>
  static void describe(V&& field) {
    field(1, "now", &QueryStatisticsReply::now);
    field(2, "since", &QueryStatisticsReply::since);
    field(3, "server_threads", &QueryStatisticsReply::server_threads);
    field(4, "messages_waiting", &QueryStatisticsReply::messages_waiting);
    field(5, "jobs_submitted", &QueryStatisticsReply::jobs_submitted);
    field(6, "jobs_started", &QueryStatisticsReply::jobs_started);
    field(7, "jobs_completed", &QueryStatisticsReply::jobs_completed);
    field(8, "jobs_canceled", &QueryStatisticsReply::jobs_canceled);
    field(9, "jobs_failed", &QueryStatisticsReply::jobs_failed);
    field(10, "jobs_pending", &QueryStatisticsReply::jobs_pending);
    field(11, "jobs_running", &QueryStatisticsReply::jobs_running);
    field(12, "states_time", &QueryStatisticsReply::states_time);
    field(13, "cycles", &QueryStatisticsReply::cycles);
    field(19, "backfill", &QueryStatisticsReply::backfill);
    field(14, "backfilled", &QueryStatisticsReply::backfilled);
    field(15, "backfilled_ever", &QueryStatisticsReply::backfilled_ever);
    field(16, "clock_us", &QueryStatisticsReply::clock_us);
    field(17, "by_method", &QueryStatisticsReply::by_method);
    field(18, "by_user", &QueryStatisticsReply::by_user);
    field(600, "history_waiting", &QueryStatisticsReply::history_waiting);
    field(601, "history_waiting_since", &QueryStatisticsReply::history_waiting_since);
    field(602, "history_sent", &QueryStatisticsReply::history_sent);
    field(610, "messages_sent", &QueryStatisticsReply::messages_sent);
    field(611, "backfilled_components", &QueryStatisticsReply::backfilled_components);
    field(612, "is_planning", &QueryStatisticsReply::is_planning);
    field(613, "passes", &QueryStatisticsReply::passes);
    field(614, "waiting_orders", &QueryStatisticsReply::waiting_orders);
  }
};

}  // namespace sluice::protocol
