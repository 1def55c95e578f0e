// What a controller tells the accounting daemon: records that are complete by themselves. A newer
// record of the same thing replaces the one before it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/model/job_state.hpp"

namespace sluice {

enum class Sharing : uint8_t;  // of common/model/job_spec.hpp

// An amount of a trackable resource by its name: "cpu", "mem" (MB), "node", "billing",
// "gres/gpu:a100", "license/matlab".
struct NamedTres {
  std::string name;
  uint64_t count = 0;
  bool operator==(const NamedTres&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &NamedTres::name);
    field(2, "count", &NamedTres::count);
  }
};
using NamedTresList = std::vector<NamedTres>;  // in the order in which they are shown

// One run of a job, from its submission or requeueing to its end. Its key is (cluster, id, submit,
// restarts, part).
struct JobHistory {
  JobId id = kNoJob;
  uint32_t restarts = 0;
  Time submit = kNoTime;          // or when it was requeued
  JobId array_job = kNoJob;       // kNoJob: no array
  uint32_t array_task = kNoTask;  // kNoTask: stands for the tasks of `array_tasks`
  std::string array_tasks;        // "1-10%2": that are still one record
  uint32_t array_limit = 0;
  JobId het_job = kNoJob;  // kNoJob: not heterogeneous
  uint32_t het_offset = 0;
  uint32_t uid = 0, gid = 0;
  std::string user, group;
  std::string name, account, partition, qos, wckey;
  std::string comment, admin_comment, system_comment, extra, mcs_label;
  std::string constraint, container, licenses, reservation, submit_line, work_dir;
  std::string std_in, std_out, std_err;       // as given, with patterns
  std::string script_blob, environment_blob;  // keys of BlobHistory
  JobState state = JobState::kPending;
  JobFlags flags = 0;
  std::string reason;                                // "None", "Resources"
  int32_t exit_status = 0, derived_exit_status = 0;  // as wait(2) gives them
  uint32_t ended_by = UINT32_MAX;                    // uid of who cancelled it
  std::string failed_node;
  Time eligible = kNoTime, start = kNoTime, end = kNoTime;  // kNoTime: not yet
  Duration suspended{0};
  Time suspended_since = kNoTime;  // kNoTime: it is not
  Minutes time_limit = 0;          // 0: the partition's; kInfiniteMinutes: none
  uint32_t priority = 0;
  uint32_t requested_cpus = 0, requested_nodes = 0, requested_tasks = 0;
  uint64_t requested_memory_mib = 0;  // in all; shown as ReqMem
  NamedTresList requested_tres, allocated_tres;
  std::string nodes;  // folded; empty: it never had any
  uint32_t node_count = 0, cpus = 0;
  bool batch = false, backfilled = false;
  std::string qos_asked, cpu_freq;
  // in the key, too: 0, or of array tasks that ended without a job id of their own the task + 1
  uint32_t part = 0;
  uint64_t requested_memory_per_cpu_mib = 0;  // 0: none was asked for, nor is the partition's so
  std::string requested_reservations;         // as given
  uint32_t reservation_id = 0;                // of `reservation`; 0: of none, or of several
  Sharing sharing{};                          // as given
  bool operator==(const JobHistory&) const = default;
  template <class V>
  static void describe(V&& field) {  // NOLINT(readability-function-size): a list
    field(1, "id", &JobHistory::id);
    field(2, "restarts", &JobHistory::restarts);
    field(3, "submit", &JobHistory::submit);
    field(4, "array_job", &JobHistory::array_job);
    field(5, "array_task", &JobHistory::array_task);
    field(6, "array_tasks", &JobHistory::array_tasks);
    field(7, "array_limit", &JobHistory::array_limit);
    field(8, "het_job", &JobHistory::het_job);
    field(9, "het_offset", &JobHistory::het_offset);
    field(10, "uid", &JobHistory::uid);
    field(11, "gid", &JobHistory::gid);
    field(12, "user", &JobHistory::user);
    field(13, "group", &JobHistory::group);
    field(14, "name", &JobHistory::name);
    field(15, "account", &JobHistory::account);
    field(16, "partition", &JobHistory::partition);
    field(17, "qos", &JobHistory::qos);
    field(18, "wckey", &JobHistory::wckey);
    field(19, "comment", &JobHistory::comment);
    field(20, "admin_comment", &JobHistory::admin_comment);
    field(21, "system_comment", &JobHistory::system_comment);
    field(22, "extra", &JobHistory::extra);
    field(23, "mcs_label", &JobHistory::mcs_label);
    field(24, "constraint", &JobHistory::constraint);
    field(25, "container", &JobHistory::container);
    field(26, "licenses", &JobHistory::licenses);
    field(27, "reservation", &JobHistory::reservation);
    field(28, "submit_line", &JobHistory::submit_line);
    field(29, "work_dir", &JobHistory::work_dir);
    field(30, "std_in", &JobHistory::std_in);
    field(31, "std_out", &JobHistory::std_out);
    field(32, "std_err", &JobHistory::std_err);
    field(33, "script_blob", &JobHistory::script_blob);
    field(34, "environment_blob", &JobHistory::environment_blob);
    field(35, "state", &JobHistory::state);
    field(36, "flags", &JobHistory::flags);
    field(37, "reason", &JobHistory::reason);
    field(38, "exit_status", &JobHistory::exit_status);
    field(39, "derived_exit_status", &JobHistory::derived_exit_status);
    field(40, "ended_by", &JobHistory::ended_by);
    field(41, "failed_node", &JobHistory::failed_node);
    field(42, "eligible", &JobHistory::eligible);
    field(43, "start", &JobHistory::start);
    field(44, "end", &JobHistory::end);
    field(45, "suspended", &JobHistory::suspended);
    field(46, "suspended_since", &JobHistory::suspended_since);
    field(47, "time_limit", &JobHistory::time_limit);
    field(48, "priority", &JobHistory::priority);
    field(49, "requested_cpus", &JobHistory::requested_cpus);
    field(50, "requested_nodes", &JobHistory::requested_nodes);
    field(51, "requested_tasks", &JobHistory::requested_tasks);
    field(52, "requested_memory_mib", &JobHistory::requested_memory_mib);
    field(53, "requested_tres", &JobHistory::requested_tres);
    field(54, "allocated_tres", &JobHistory::allocated_tres);
    field(55, "nodes", &JobHistory::nodes);
    field(56, "node_count", &JobHistory::node_count);
    field(57, "cpus", &JobHistory::cpus);
    field(58, "batch", &JobHistory::batch);
    field(59, "backfilled", &JobHistory::backfilled);
    field(60, "qos_asked", &JobHistory::qos_asked);
    field(61, "cpu_freq", &JobHistory::cpu_freq);
    field(62, "part", &JobHistory::part);
    field(63, "requested_memory_per_cpu_mib", &JobHistory::requested_memory_per_cpu_mib);
    field(64, "requested_reservations", &JobHistory::requested_reservations);
    field(65, "reservation_id", &JobHistory::reservation_id);
    field(66, "sharing", &JobHistory::sharing);
  }
};

// What the tasks of a step used of one kind: the highest and lowest of a task, and where that was.
struct UsageExtent {
  uint64_t max = 0, min = 0, total = 0;
  std::string max_node, min_node;
  uint32_t max_task = 0, min_task = 0;
  bool operator==(const UsageExtent&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "max", &UsageExtent::max);
    field(2, "min", &UsageExtent::min);
    field(3, "total", &UsageExtent::total);
    field(4, "max_node", &UsageExtent::max_node);
    field(5, "min_node", &UsageExtent::min_node);
    field(6, "max_task", &UsageExtent::max_task);
    field(7, "min_task", &UsageExtent::min_task);
  }
};

// Of some or all nodes of a step: bytes, but cpu, which is in microseconds.
struct UsageHistory {
  uint32_t tasks = 0;  // that were measured; 0: none was
  Duration user_cpu{0}, system_cpu{0};
  UsageExtent cpu, memory, virtual_memory, read, written, pages;
  bool operator==(const UsageHistory&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "tasks", &UsageHistory::tasks);
    field(2, "user_cpu", &UsageHistory::user_cpu);
    field(3, "system_cpu", &UsageHistory::system_cpu);
    field(4, "cpu", &UsageHistory::cpu);
    field(5, "memory", &UsageHistory::memory);
    field(6, "virtual_memory", &UsageHistory::virtual_memory);
    field(7, "read", &UsageHistory::read);
    field(8, "written", &UsageHistory::written);
    field(9, "pages", &UsageHistory::pages);
  }
};

// What both parts of a step used together.
[[nodiscard]] UsageHistory sum_of(const UsageHistory& a, const UsageHistory& b);

// A step of a run. `usage` is of what ended with this record: the receiver adds it to what it has.
struct StepHistory {
  StepId id;
  Time job_submit = kNoTime;  // with job_restarts: which run of the job
  uint32_t job_restarts = 0;
  std::string name, nodes, submit_line, work_dir, container, layout, cpu_freq;
  std::string std_in, std_out, std_err;
  uint32_t node_count = 0, tasks = 0, cpus = 0;
  NamedTresList allocated_tres;
  StepState state = StepState::kRunning;
  Time start = kNoTime, end = kNoTime;
  Duration suspended{0};
  int32_t exit_status = 0;
  uint32_t ended_by = UINT32_MAX;
  Minutes time_limit = 0;
  UsageHistory usage;
  bool operator==(const StepHistory&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &StepHistory::id);
    field(2, "job_submit", &StepHistory::job_submit);
    field(3, "job_restarts", &StepHistory::job_restarts);
    field(4, "name", &StepHistory::name);
    field(5, "nodes", &StepHistory::nodes);
    field(6, "submit_line", &StepHistory::submit_line);
    field(7, "work_dir", &StepHistory::work_dir);
    field(8, "container", &StepHistory::container);
    field(9, "layout", &StepHistory::layout);
    field(10, "cpu_freq", &StepHistory::cpu_freq);
    field(11, "std_in", &StepHistory::std_in);
    field(12, "std_out", &StepHistory::std_out);
    field(13, "std_err", &StepHistory::std_err);
    field(14, "node_count", &StepHistory::node_count);
    field(15, "tasks", &StepHistory::tasks);
    field(16, "cpus", &StepHistory::cpus);
    field(17, "allocated_tres", &StepHistory::allocated_tres);
    field(18, "state", &StepHistory::state);
    field(19, "start", &StepHistory::start);
    field(20, "end", &StepHistory::end);
    field(21, "suspended", &StepHistory::suspended);
    field(22, "exit_status", &StepHistory::exit_status);
    field(23, "ended_by", &StepHistory::ended_by);
    field(24, "time_limit", &StepHistory::time_limit);
    field(25, "usage", &StepHistory::usage);
  }
};

// A time in which a node could not be used (down or drained). `end` ends the one that is open.
struct NodeHistory {
  std::string node;
  Time start = kNoTime, end = kNoTime;
  std::string state;  // "DOWN", "IDLE+DRAIN"
  std::string reason;
  uint32_t reason_uid = 0;
  NamedTresList tres;
  bool operator==(const NodeHistory&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &NodeHistory::node);
    field(2, "start", &NodeHistory::start);
    field(3, "end", &NodeHistory::end);
    field(4, "state", &NodeHistory::state);
    field(5, "reason", &NodeHistory::reason);
    field(6, "reason_uid", &NodeHistory::reason_uid);
    field(7, "tres", &NodeHistory::tres);
  }
};

// What a cluster has from `time` on, until the next such record.
struct ClusterHistory {
  Time time = kNoTime;
  std::string nodes;
  NamedTresList tres;
  bool operator==(const ClusterHistory&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "time", &ClusterHistory::time);
    field(2, "nodes", &ClusterHistory::nodes);
    field(3, "tres", &ClusterHistory::tres);
  }
};

// A reservation as it is from `start` on. Key: (name, start).
struct ReservationHistory {
  std::string name, nodes, accounts, users, flags;
  Time start = kNoTime, end = kNoTime;
  NamedTresList tres;
  uint32_t id = 0;  // 0: of before this was kept
  bool operator==(const ReservationHistory&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &ReservationHistory::name);
    field(2, "nodes", &ReservationHistory::nodes);
    field(3, "accounts", &ReservationHistory::accounts);
    field(4, "users", &ReservationHistory::users);
    field(5, "flags", &ReservationHistory::flags);
    field(6, "start", &ReservationHistory::start);
    field(7, "end", &ReservationHistory::end);
    field(8, "tres", &ReservationHistory::tres);
    field(9, "id", &ReservationHistory::id);
  }
};

// A script or an environment (AccountingStoreFlags), by the hash of its content.
struct BlobHistory {
  std::string key, bytes;
  bool operator==(const BlobHistory&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &BlobHistory::key);
    field(2, "bytes", &BlobHistory::bytes);
  }
};

// One of them: those that are not there are null.
struct HistoryRecord {
  std::shared_ptr<const JobHistory> job;
  std::shared_ptr<const StepHistory> step;
  std::shared_ptr<const NodeHistory> node;
  std::shared_ptr<const ClusterHistory> cluster;
  std::shared_ptr<const ReservationHistory> reservation;
  std::shared_ptr<const BlobHistory> blob;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &HistoryRecord::job);
    field(2, "step", &HistoryRecord::step);
    field(3, "node", &HistoryRecord::node);
    field(4, "cluster", &HistoryRecord::cluster);
    field(5, "reservation", &HistoryRecord::reservation);
    field(6, "blob", &HistoryRecord::blob);
  }
};

}  // namespace sluice
