// What a node agent tells the controller, itself or through the tree: its registration, and which
// steps, prologs and jobs have ended. Each report is keyed by job, step and restart; one that comes
// again changes nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/history.hpp"
#include "common/model/node_hardware.hpp"
#include "common/protocol/empty.hpp"

namespace sluice::protocol {

struct StepKey {
  StepId id;
  uint32_t restart = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): no pointer is there
  friend auto operator<=>(const StepKey&, const StepKey&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &StepKey::id);
    field(2, "restart", &StepKey::restart);
  }
};

// A job's id among all that a cluster has ever given: ids begin anew behind MaxJobId, in the next
// round.
struct JobNumber {
  uint32_t round = 0;
  JobId job = kNoJob;
  friend auto operator<=>(const JobNumber&, const JobNumber&) = default;  // NOLINT(*-nullptr)
  template <class V>
  static void describe(V&& field) {
    field(1, "round", &JobNumber::round);
    field(2, "job", &JobNumber::job);
  }
};
// A node's refusal of a job that it had before: the controller's state is an old one, which has
// given the id again.
inline constexpr const char* kUsedJobId = "a job of this id ran on the node before";

inline constexpr Duration kRegistrationTime = std::chrono::seconds(20);
// A node's clock may differ so much from the controller's before anybody says it, and so much
// before the node is drained: what one of them signs would not hold at the other.
inline constexpr Duration kNotedClockDifference = std::chrono::seconds(5);
inline constexpr Duration kMostClockDifference = std::chrono::seconds(30);

struct RegisterNodeRequest {
  static constexpr std::string_view kMethod = "Controller/RegisterNode";
  using Reply = struct RegisterNodeReply;
  std::string name;
  std::string cluster_id;  // empty: never registered before
  NodeHardware hardware;
  std::vector<StepKey> running;  // live step daemons
  std::vector<StepKey> ended;    // ended, not acknowledged yet (reports follow)
  std::vector<JobId> jobs;       // whose prolog ran here and epilog did not
  // slurmd -Z: what the node is, where no file says it; else null
  std::shared_ptr<const NodeConfig> node_line;
  // the order (its `issued`) that was carried out last without a reboot, well or not
  Time features_changed = kNoTime;
  // "a,b", of those that its helpers manage; not set: there are no helpers
  std::optional<std::string> active_features;
  // slurmd -F: this host is to be that FUTURE node, if it is free or this host's already
  bool claims_future = false;
  // with it: this asks for the node alone; what is there, and runs there, is told later
  bool only_claims = false;
  JobNumber last_job;          // the highest that was to run here, finished jobs included
  std::string credential_key;  // public key of the cluster, as the node was told it; empty: not yet
  // by the node's clock; it is given up before kRegistrationTime is over
  Time sent = kNoTime;
  // by how much the node's clock is ahead of the controller's; below zero: behind; not set: not
  // known
  std::optional<Duration> clock_ahead;
  uint32_t protocol_version = 0;  // protocol_version.hpp
  // the order (its `issued`) to reboot whose RebootProgram failed, so that no reboot follows, and
  // how, as wait(2) gives it; -1: it could not be started
  Time reboot_failed = kNoTime;
  int reboot_status = 0;
  std::string config_digest;  // of this node's own slurm.conf; empty: it has none
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &RegisterNodeRequest::name);
    field(2, "cluster_id", &RegisterNodeRequest::cluster_id);
    field(3, "hardware", &RegisterNodeRequest::hardware);
    field(4, "running", &RegisterNodeRequest::running);
    field(5, "ended", &RegisterNodeRequest::ended);
    field(6, "jobs", &RegisterNodeRequest::jobs);
    field(360, "node_line", &RegisterNodeRequest::node_line);
    field(450, "active_features", &RegisterNodeRequest::active_features);
    field(451, "features_changed", &RegisterNodeRequest::features_changed);
    field(500, "claims_future", &RegisterNodeRequest::claims_future);
    field(501, "only_claims", &RegisterNodeRequest::only_claims);
    field(600, "last_job", &RegisterNodeRequest::last_job);
    field(601, "credential_key", &RegisterNodeRequest::credential_key);
    field(602, "sent", &RegisterNodeRequest::sent);
    field(603, "clock_ahead", &RegisterNodeRequest::clock_ahead);
    field(604, "protocol_version", &RegisterNodeRequest::protocol_version);
    field(605, "reboot_failed", &RegisterNodeRequest::reboot_failed);
    field(606, "reboot_status", &RegisterNodeRequest::reboot_status);
    field(607, "config_digest", &RegisterNodeRequest::config_digest);
  }
};
struct RegisterNodeReply {
  std::string cluster_id;
  std::string credential_key;  // public key that launch credentials are checked with
  ClusterConfig config;
  std::vector<StepKey> forget;      // unknown to the controller and surely orphaned: kill
  std::vector<JobId> clean;         // jobs that are over: run epilog, report
  std::string config_digest;        // of the files that FetchConfig sends; empty: it sends none
  Time controller_start = kNoTime;  // of the controller that answers: StepLaunch has the same
  // the cluster's key was changed on purpose: the node forgets the one that it knows
  bool new_key = false;
  // the cluster had this node and has it no more: `forget` and `clean` are all that it runs; no
  // key, no config
  bool removed = false;
  Time sent = kNoTime;  // by the controller's clock
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &RegisterNodeReply::cluster_id);
    field(2, "credential_key", &RegisterNodeReply::credential_key);
    field(3, "config", &RegisterNodeReply::config);
    field(4, "forget", &RegisterNodeReply::forget);
    field(5, "clean", &RegisterNodeReply::clean);
    field(6, "config_digest", &RegisterNodeReply::config_digest);
    field(530, "removed", &RegisterNodeReply::removed);
    field(600, "controller_start", &RegisterNodeReply::controller_start);
    field(601, "new_key", &RegisterNodeReply::new_key);
    field(602, "sent", &RegisterNodeReply::sent);
  }
};

// later - earlier, of times that whoever sends them may have said in any way.
[[nodiscard]] inline Duration difference(Time later, Time earlier) {
  Duration::rep since = 0;
  if (__builtin_sub_overflow(later.time_since_epoch().count(), earlier.time_since_epoch().count(),
                             &since))
    since = INT64_MAX;
  return Duration(since);
}

// "25 s ahead of the controller's"; empty where it is too little to be noted.
[[nodiscard]] inline std::string clock_difference_text(Duration ahead) {
  const Duration far = std::chrono::years(100);
  const Duration wide = std::chrono::abs(std::clamp(ahead, -far, far));
  if (wide <= kNotedClockDifference) return {};
  return std::to_string(std::chrono::round<std::chrono::seconds>(wide).count()) +
         (ahead > Duration(0) ? " s ahead of the controller's" : " s behind the controller's");
}

struct TaskExit {
  uint32_t task = 0;   // global id
  int32_t status = 0;  // as wait(2) gives it
  template <class V>
  static void describe(V&& field) {
    field(1, "task", &TaskExit::task);
    field(2, "status", &TaskExit::status);
  }
};
struct StepUsage {
  // of the step's tasks on one or more nodes: sums, and the highest of each maximum
  Duration user_cpu{0};
  Duration system_cpu{0};
  uint64_t max_rss_kib = 0;
  uint64_t max_vsize_kib = 0;
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
  // task by task: the most, the least, and of which; null: an earlier version, or nothing was read
  std::shared_ptr<const UsageHistory> measured = {};
  friend bool operator==(const StepUsage&, const StepUsage&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "user_cpu", &StepUsage::user_cpu);
    field(2, "system_cpu", &StepUsage::system_cpu);
    field(3, "max_rss_kib", &StepUsage::max_rss_kib);
    field(4, "max_vsize_kib", &StepUsage::max_vsize_kib);
    field(5, "read_bytes", &StepUsage::read_bytes);
    field(6, "write_bytes", &StepUsage::write_bytes);
    field(600, "measured", &StepUsage::measured);
  }
};

// The status, as wait(2) gives one, of tasks of which the kernel killed a process for want of
// memory, and of their steps and jobs: shown as 0:125.
inline constexpr int32_t kOutOfMemoryStatus = 125;
// The same of what could not be launched: 0:53, as in Slurm.
inline constexpr int32_t kLaunchFailedStatus = 53;

// Reports are repeated until they are acknowledged. What drains a node counts once all the same:
// the controller passes over what happened before the drain was taken away. Times are by the
// sender's clock; who takes a report makes them its own.
[[nodiscard]] inline Time by_own_clock(Time happened, Time sent, Time now) {
  if (happened == kNoTime || sent == kNoTime) return happened;
  return happened < sent ? now - difference(sent, happened) : now;
}

// One or more nodes of a step ended (gathered in the tree). The reply, which is sent when the
// report is durable, lets the agents delete their key files.
struct StepEnded {
  StepKey key;
  std::string nodes;        // host list
  int32_t exit_status = 0;  // highest task status, as wait(2) gives it
  bool out_of_memory = false;
  std::string failure;      // launch failed: why, in words for the user; empty: it ran
  bool drain_node = false;  // the node is to blame
  bool node_clean = false;  // nothing else of the job is left on these nodes, epilog (if any) done
  StepUsage usage;
  // a batch script's `failure` is due to what its user asked for: it would fail anywhere
  bool users_error = false;
  Time happened = kNoTime;  // the end, or what drains the node; kNoTime: now
  bool srun_ended = false;  // its srun ended before the tasks, which is why they did
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &StepEnded::key);
    field(2, "nodes", &StepEnded::nodes);
    field(3, "exit_status", &StepEnded::exit_status);
    field(4, "out_of_memory", &StepEnded::out_of_memory);
    field(5, "failure", &StepEnded::failure);
    field(6, "drain_node", &StepEnded::drain_node);
    field(7, "node_clean", &StepEnded::node_clean);
    field(8, "usage", &StepEnded::usage);
    field(9, "users_error", &StepEnded::users_error);
    field(520, "happened", &StepEnded::happened);
    field(530, "srun_ended", &StepEnded::srun_ended);
  }
};
struct ReportStepsRequest {
  static constexpr std::string_view kMethod = "Controller/ReportSteps";
  using Reply = struct Empty;
  std::string cluster_id;
  std::vector<StepEnded> ended;
  Time sent = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &ReportStepsRequest::cluster_id);
    field(2, "ended", &ReportStepsRequest::ended);
    field(520, "sent", &ReportStepsRequest::sent);
  }
};
// A job's processes are gone from these nodes and its epilog ran (gathered in the tree, too).
struct JobCleaned {
  JobId job = kNoJob;
  uint32_t restart = 0;
  std::string nodes;
  int32_t epilog_status = 0;  // not 0: drain
  bool kill_failed = false;   // UnkillableStepTimeout passed: drain with "Kill task failed"
  Time happened = kNoTime;    // as in StepEnded
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &JobCleaned::job);
    field(2, "restart", &JobCleaned::restart);
    field(3, "nodes", &JobCleaned::nodes);
    field(4, "epilog_status", &JobCleaned::epilog_status);
    field(5, "kill_failed", &JobCleaned::kill_failed);
    field(520, "happened", &JobCleaned::happened);
  }
};
struct ReportCleanedRequest {
  static constexpr std::string_view kMethod = "Controller/ReportCleaned";
  using Reply = struct Empty;
  std::string cluster_id;
  std::vector<JobCleaned> cleaned;
  Time sent = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &ReportCleanedRequest::cluster_id);
    field(2, "cleaned", &ReportCleanedRequest::cleaned);
    field(520, "sent", &ReportCleanedRequest::sent);
  }
};
// A job's prolog ran on these nodes (gathered in the tree, too).
struct PrologEnded {
  JobId job = kNoJob;
  uint32_t restart = 0;
  std::string nodes;
  int32_t status = 0;       // as wait(2) gives it
  Time happened = kNoTime;  // as in StepEnded
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &PrologEnded::job);
    field(2, "restart", &PrologEnded::restart);
    field(3, "nodes", &PrologEnded::nodes);
    field(4, "status", &PrologEnded::status);
    field(520, "happened", &PrologEnded::happened);
  }
};
struct ReportPrologsRequest {
  static constexpr std::string_view kMethod = "Controller/ReportPrologs";
  using Reply = struct Empty;
  std::string cluster_id;
  std::vector<PrologEnded> ended;
  Time sent = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &ReportPrologsRequest::cluster_id);
    field(2, "ended", &ReportPrologsRequest::ended);
    field(520, "sent", &ReportPrologsRequest::sent);
  }
};

}  // namespace sluice::protocol
