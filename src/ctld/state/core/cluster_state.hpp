// ClusterState: all that the controller knows and must not forget. apply() is the only mutator, a
// copy is a snapshot and costs microseconds. What is marked derived follows from the rest: it is
// kept up to date by apply() and made again by rebuild_derived() after a checkpoint was read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/index_set.hpp"
#include "common/base/time.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/crontab.hpp"
#include "common/model/job.hpp"
#include "common/model/node.hpp"
#include "common/model/reservation.hpp"
#include "common/model/trigger.hpp"
#include "common/model/user_groups.hpp"
#include "ctld/state/core/accounting.hpp"
#include "ctld/state/core/cow_id_map.hpp"
#include "ctld/state/core/cow_id_set.hpp"
#include "ctld/state/core/cow_table.hpp"
#include "ctld/state/core/found_job.hpp"
#include "ctld/state/core/heavy_texts.hpp"
#include "ctld/state/core/job_names.hpp"

namespace sluice::state {

// A partition as it is now: scontrol may have changed it since the configuration was read.
struct Partition {
  std::shared_ptr<const PartitionConfig> config;
  Bitmap nodes;  // NodeIds; removed nodes are not in it
  uint32_t total_cpus = 0;
  uint32_t max_node_cpus = 0;  // of its largest node, usable by jobs
  uint64_t max_node_memory_mib = 0;
};
using Partitions = std::vector<Partition>;  // in the order of their definition

using NodeNames = std::unordered_map<std::string, NodeId>;
using FeatureCounts = std::unordered_map<std::string, size_t>;  // how many nodes have a feature
// by trigger id, of those that name nodes
using TriggerNodes = std::map<uint32_t, Bitmap>;

// What folded tasks of an array have in common; only to save memory.
struct FoldPool {
  std::vector<CowPtr<Job>> models;
  std::unordered_multimap<size_t, std::shared_ptr<const Allocation>> allocations;  // by hash
};

// The records of one array beside the one that holds its pending tasks.
struct ArrayTasks {
  IndexSet jobs;             // ids of every record of the array, also of the one with pending tasks
  IndexSet folded;           // ids of ended tasks without a record (ClusterState::folded)
  CowIdMap by_task;          // ids by task, of both; the one with pending tasks has the array's own
  CowIdSet unfinished;       // of `jobs`, but for the array's own record
  uint32_t running = 0;      // tasks that hold an allocation, completing ones included
  uint32_t folded_bad = 0;   // of the folded ones: those that failed, or were cancelled
  Time oldest_end = kNever;  // no folded one ended before
  Time latest_start = kNoTime;  // no folded one started after
  CowPtr<FoldPool> pool;
  uint32_t uid = 0;
  size_t heavy_text = 0;  // bytes that all its records count in ClusterState::heavy_texts
};

// An array task that is over, kept for MinJobAge without a record of its own: what it does not
// share with the others of its array. unfolded() makes the record again.
struct FoldedTask {
  CowPtr<Job> model;  // the rest of the record; never changed
  std::shared_ptr<const Allocation> allocation;
  JobId id = kNoJob;
  uint32_t task = kNoTask;
  Time start = kNoTime;
  Time end = kNoTime;
};

// Submissions by request id, so that a repeated one finds its job.
struct RequestBucket {
  struct Entry {
    uint64_t request = 0;
    uint32_t uid = 0;
    JobId job = kNoJob;
  };
  std::vector<Entry> entries;
};

struct ClusterState {
  std::string cluster_id;
  uint64_t epoch = 0;  // grows with each start of a controller
  Time epoch_start = kNoTime;
  std::shared_ptr<const ClusterConfig> config = std::make_shared<ClusterConfig>();
  CowTable<Node> nodes;  // by NodeId; removed ones stay, marked
  NodeId next_node_id = 0;
  std::shared_ptr<const Partitions> partitions = std::make_shared<Partitions>();
  CowTable<Job> jobs;
  CowTable<FoldedTask> folded;  // ended array tasks, by their job ids; never also in `jobs`
  JobId next_job_id = 1;        // the next to try; wraps round from MaxJobId to FirstJobId
  uint32_t job_id_round = 0;    // how often it has
  // public, in hexadecimal digits, with which launches are signed; empty: not known
  std::string credential_key;
  // on purpose: nodes may know another one, which they are to forget
  bool credential_key_changed = false;
  CowPtr<Triggers> triggers = CowPtr<Triggers>::make();  // by id
  uint32_t next_trigger_id = 1;
  std::shared_ptr<const Crontabs> crontabs = std::make_shared<Crontabs>();  // by uid
  std::shared_ptr<const Reservations> reservations = std::make_shared<Reservations>();
  uint32_t next_reservation_id = 1;
  // of users who submitted jobs
  std::shared_ptr<const GroupsByUser> user_groups = std::make_shared<GroupsByUser>();
  Accounting accounting;

  // derived
  std::shared_ptr<const NodeNames> node_names = std::make_shared<NodeNames>();  // not removed ones
  std::shared_ptr<const FeatureCounts> features = std::make_shared<FeatureCounts>();  // likewise
  std::shared_ptr<const TriggerNodes> trigger_nodes = std::make_shared<TriggerNodes>();
  // nodes of each leaf switch or block, in the order of topology.conf
  std::shared_ptr<const std::vector<Bitmap>> leaf_groups = std::make_shared<std::vector<Bitmap>>();
  CowIdSet pending;      // records that wait to start (an array's pending tasks are one record)
  CowIdSet waiting;      // pending ones that Tick looks at: not eligible yet, or with a deadline
  CowIdSet age_limited;  // pending ones that gain no age yet
  CowIdSet active;       // records that hold nodes: running, suspended, completing
  CowIdSet group_alone;  // active ones with --exclusive=topo
  CowIdSet finished;     // records that ended for good, kept for MinJobAge
  JobNames names;        // of those that are not among these
  CowTable<ArrayTasks> arrays;       // by array job id
  CowTable<RequestBucket> requests;  // by hash
  uint64_t job_count = 0;            // against MaxJobCount: pending array tasks count one each
  std::shared_ptr<const HeavyTexts> heavy_texts = std::make_shared<HeavyTexts>();
};
using ClusterSnapshot = std::shared_ptr<const ClusterState>;

// --- looking things up ---------------------------------------------------------------------------

// Of an id that was given. Those from the next one on are of the round before.
[[nodiscard]] inline uint32_t round_of_job(const ClusterState& state, JobId id) {
  return id >= state.next_job_id && state.job_id_round > 0 ? state.job_id_round - 1
                                                           : state.job_id_round;
}

[[nodiscard]] const Partition* find_partition(const ClusterState& state, std::string_view name);
[[nodiscard]] const Partition* default_partition(const ClusterState& state);
// The configured (not removed) node of this name, or null.
[[nodiscard]] const Node* find_node(const ClusterState& state, std::string_view name);
// The NodeIds of a host list. kInvalidNodeName: one is not configured.
[[nodiscard]] Result<Bitmap> resolve_nodes(const ClusterState& state, std::string_view host_list);
// Names of the nodes in the order of their ids, folded.
[[nodiscard]] std::string node_list(const ClusterState& state, const Bitmap& nodes);
// Positions in the job's allocation of these nodes; nodes that are not the job's are left out.
[[nodiscard]] Bitmap allocation_positions(const Job& job, const Bitmap& nodes);
// Position of a node in an allocation (whose nodes are in the order of their ids); nullopt: not
// there.
[[nodiscard]] std::optional<size_t> allocation_position(const Allocation& allocation, NodeId node);
// Nodes of the job's allocation that it still holds.
[[nodiscard]] Bitmap held_nodes(const Job& job);

// Whether steps of the job may be made: its nodes have booted and prologs have ended, but for those
// of the nodes where PrologFlags=NoHold leaves the waiting to them.
[[nodiscard]] bool is_ready(const ClusterState& state, const Job& job);

// The record of an array task, split off or not; for kNoTask the job itself. Empty: there is none.
[[nodiscard]] FoundJob find_array_task(const ClusterState& state, JobId array_job, uint32_t task);
// Calls visit(const Job&) for each component of the heterogeneous job that is there (any more).
template <class Visit>
void for_components(const ClusterState& state, const HetInfo& het, Visit&& visit) {
  for (uint32_t offset = 0; offset < het.size; ++offset) {
    const Job* job = state.jobs.find(het.leader + offset);
    if (job != nullptr && job->het != nullptr && job->het->leader == het.leader) visit(*job);
  }
}
// 123+1; null: there is no such component.
[[nodiscard]] const Job* find_component(const ClusterState& state, JobId leader, uint32_t offset);
// The job that this user submitted with this request id; kNoJob: none (any more).
[[nodiscard]] JobId find_request(const ClusterState& state, uint32_t uid, uint64_t request);
// Names of the partitions a pending job may start in; the default one when none was asked for.
[[nodiscard]] std::vector<std::string> partitions_of(const ClusterState& state, const Job& job);
// Root, SlurmUser or an administrator of accounting.
[[nodiscard]] bool is_admin(const ClusterState& state, uint32_t uid);
// These, or an operator of accounting.
[[nodiscard]] bool is_operator(const ClusterState& state, uint32_t uid);
// Who may run programs as the job's user, give them input and read their output: that user, root
// and SlurmUser. Levels of accounting and coordinators give no right to it.
[[nodiscard]] bool may_act_as_owner(const ClusterState& state, const Job& job, uint32_t uid);
// Who may look into a job and change it: its owner, coordinators of its account, operators.
[[nodiscard]] bool is_owner_or_admin(const ClusterState& state, const Job& job, uint32_t uid);
// The live step, or null.
[[nodiscard]] const Step* find_step(const Job& job, StepNumber step);
// Not held, no dependency left, begin time reached: the scheduler may start it.
[[nodiscard]] bool is_eligible(const Job& job, Time now);

// --- nodes as they are shown and used ------------------------------------------------------------

// IDLE, MIXED or ALLOCATED for a node that is up, else its own base state.
[[nodiscard]] NodeBaseState shown_base(const Node& node);
// With the derived COMPLETING flag.
[[nodiscard]] NodeFlags shown_flags(const Node& node);
// Is an agent to be there: neither removed nor FUTURE nor powered down, nor on its way there or
// back?
[[nodiscard]] bool expects_agent(const Node& node);
// Powered down, or on its way up again: jobs have to wait for its boot.
[[nodiscard]] bool is_asleep(const Node& node);
// May jobs start on it: up, registered, answering, not drained, failing, rebooting or reserved?
[[nodiscard]] bool is_schedulable(const Node& node);
// The same of a node that is asleep, too, if there is a ResumeProgram that wakes it.
[[nodiscard]] bool may_serve(const ClusterState& state, const Node& node);
// Memory that jobs may use: configured less what is kept for the system.
[[nodiscard]] uint64_t usable_memory_mib(const NodeConfig& node);

// --- checkpoints ---------------------------------------------------------------------------------

// Folded tasks with one model, in the journal's checkpoint.
struct FoldedImage {
  struct Entry {
    JobId job = kNoJob;
    uint32_t task = kNoTask;
    uint32_t allocation = 0;  // position in `allocations` + 1; 0: none
    Time start = kNoTime;
    Duration run{0};  // from start to end
    template <class V>
    static void describe(V&& field) {
      field(1, "job", &Entry::job);
      field(2, "task", &Entry::task);
      field(3, "allocation", &Entry::allocation);
      field(4, "start", &Entry::start);
      field(5, "run", &Entry::run);
    }
  };
  std::shared_ptr<const Job> model;
  std::vector<std::shared_ptr<const Allocation>> allocations;
  std::vector<Entry> entries;
  template <class V>
  static void describe(V&& field) {
    field(1, "model", &FoldedImage::model);
    field(2, "allocations", &FoldedImage::allocations);
    field(3, "entries", &FoldedImage::entries);
  }
};

struct GoneUsageImage {
  std::string name;
  Usage usage;
  bool decays = true;
  std::string parent;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &GoneUsageImage::name);
    field(2, "usage", &GoneUsageImage::usage);
    field(3, "decays", &GoneUsageImage::decays);
    field(4, "parent", &GoneUsageImage::parent);
  }
};

// Of Accounting the durable part, in the journal's checkpoint.
struct AccountingImage {
  AccountingRecords records;          // without users
  std::vector<AccountingUser> users;  // by name
  std::vector<Usage> associations, qos;
  Time charged = kNoTime;
  Time reset = kNoTime;
  std::vector<GoneUsageImage> gone_associations, gone_qos;
  template <class V>
  static void describe(V&& field) {
    field(1, "records", &AccountingImage::records);
    field(2, "users", &AccountingImage::users);
    field(3, "associations", &AccountingImage::associations);
    field(4, "qos", &AccountingImage::qos);
    field(5, "charged", &AccountingImage::charged);
    field(6, "reset", &AccountingImage::reset);
    field(7, "gone_associations", &AccountingImage::gone_associations);
    field(8, "gone_qos", &AccountingImage::gone_qos);
  }
};

// The durable part as one described value for the journal's checkpoint.
struct StateImage {
  std::string cluster_id;
  uint64_t epoch = 0;
  Time epoch_start = kNoTime;
  std::shared_ptr<const ClusterConfig> config;
  std::vector<Node> nodes;
  NodeId next_node_id = 0;
  std::vector<std::shared_ptr<const PartitionConfig>> partitions;
  std::vector<Job> jobs;
  JobId next_job_id = 1;
  std::vector<FoldedImage> folded;
  Triggers triggers;
  uint32_t next_trigger_id = 1;
  std::vector<Crontab> crontabs;
  Reservations reservations;
  uint32_t next_reservation_id = 1;
  uint32_t job_id_round = 0;
  std::string credential_key;
  bool credential_key_changed = false;
  std::vector<UserGroups> user_groups;
  AccountingImage accounting;
  template <class V>
  static void describe(V&& field) {
    field(1, "cluster_id", &StateImage::cluster_id);
    field(2, "epoch", &StateImage::epoch);
    field(3, "epoch_start", &StateImage::epoch_start);
    field(4, "config", &StateImage::config);
    field(5, "nodes", &StateImage::nodes);
    field(6, "next_node_id", &StateImage::next_node_id);
    field(7, "partitions", &StateImage::partitions);
    field(8, "jobs", &StateImage::jobs);
    field(9, "next_job_id", &StateImage::next_job_id);
    field(20, "folded", &StateImage::folded);
    field(30, "triggers", &StateImage::triggers);
    field(31, "next_trigger_id", &StateImage::next_trigger_id);
    field(32, "crontabs", &StateImage::crontabs);
    field(300, "reservations", &StateImage::reservations);
    field(301, "next_reservation_id", &StateImage::next_reservation_id);
    field(600, "job_id_round", &StateImage::job_id_round);
    field(601, "credential_key", &StateImage::credential_key);
    field(602, "credential_key_changed", &StateImage::credential_key_changed);
    field(302, "user_groups", &StateImage::user_groups);
    field(660, "accounting", &StateImage::accounting);
  }
};
[[nodiscard]] AccountingImage make_accounting_image(const Accounting& accounting);
[[nodiscard]] StateImage make_image(const ClusterState& state);
[[nodiscard]] ClusterState from_image(const StateImage& image);

// Makes every derived part again from the durable one.
void rebuild_derived(ClusterState& state);

// Blobs (scripts, environments) that the state still refers to; with repeats.
[[nodiscard]] std::vector<std::string> live_blobs(const ClusterState& state);

}  // namespace sluice::state
