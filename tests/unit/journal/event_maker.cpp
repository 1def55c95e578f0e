// The maker's events, one function for each kind of happening.
#include "unit/journal/event_maker.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "ctld/journal/blob_key.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/core/invariants.hpp"

namespace sluice::test {

using namespace state;  // NOLINT(google-build-using-namespace)

namespace {

constexpr uint32_t kNodes = 4;
constexpr uint32_t kCores = 8;
const protocol::StepUsage kUsage{Duration(70), Duration(8), 900, 1000, 11, 12};

std::shared_ptr<const ClusterConfig> make_config() {
  auto config = std::make_shared<ClusterConfig>();
  config->cluster_name = "corpus";
  for (uint32_t i = 1; i <= kNodes; ++i) {
    NodeConfig node;
    node.name = fmt::format("n{}", i);
    node.cpus = node.cores_per_socket = kCores;
    node.real_memory_mib = 4096;
    node.features = {"fast", "old"};
    config->nodes.push_back(node);
  }
  for (const char* name : {"main", "debug"}) {
    PartitionConfig partition;
    partition.name = name;
    partition.nodes_text = "n[1-4]";
    partition.nodes = {"n1", "n2", "n3", "n4"};
    partition.is_default = partition.name == "main";
    config->partitions.push_back(partition);
  }
  return config;
}

}  // namespace

void EventMaker::make(Events& events, Event event) {
  for (const std::string& wrong : check_transition(state_, event)) {
    throw std::logic_error(fmt::format("{}: {}", name_of(event), wrong));
  }
  state::apply(state_, event);  // not std::apply, which a variant brings along
  events.push_back(std::move(event));
}

std::vector<JobId> EventMaker::ids(const CowIdSet& set) const {
  std::vector<JobId> found;
  set.for_each([&](uint32_t id) { found.push_back(id); });
  return found;
}

std::string EventMaker::blob(std::string bytes) {
  std::string key = journal::blob_key(bytes);
  blobs_.push_back({key, std::move(bytes)});
  return key;
}

Events EventMaker::next() {
  Events events;
  now_ += Duration(static_cast<int64_t>(random_() % 3'000'000));
  if (state_.epoch == 0) start_cluster(events);
  while (events.empty()) {
    const size_t dice = pick(100);
    if (dice < 25) submit(events);
    else if (dice < 30) hold_or_release(events);
    else if (dice < 35) change_waiting(events);
    else if (dice < 55) start(events);
    else if (dice < 64) step(events);
    else if (dice < 67) suspend_or_resume(events);
    else if (dice < 78) complete(events);
    else if (dice < 90) clean(events);
    else if (dice < 93) cancel_pending(events);
    else if (dice < 95) change_node(events);
    else if (dice < 96) change_accounting(events);
    else if (dice < 98) change_partition(events);
    else purge(events);
  }
  return events;
}

void EventMaker::start_cluster(Events& events) {
  make(events, StateForgotten{now_, true});  // it would leave nothing to look at anywhere else
  for (const char key : {'a', 'b'}) {        // another credential.key than before
    make(events, EpochStarted{"00000000-0000-4000-8000-000000000001", 1, now_,
                              key == 'a' ? 5 : kNoJob, std::string(64, key)});
  }
  make(events, ConfigReplaced{make_config(), now_});
  for (NodeId id = 0; id < kNodes; ++id) {
    auto hardware = std::make_shared<NodeHardware>();
    hardware->host_name = fmt::format("host{}", id + 1);
    hardware->cpus = hardware->cores_per_socket = kCores;
    hardware->boot_time = now_ - std::chrono::hours(1);
    NodeRegistered registered{
        id, hardware, now_, pick(4) == 0 ? state_.next_job_id + 2 : kNoJob, {}};
    // its ids began anew
    if (id == 0) registered.strange_job = state_.next_job_id, registered.strange_round = 1;
    make(events, registered);
    NodeStateChanged up;
    up.node = id;
    up.base = NodeBaseState::kIdle;
    up.time = now_;
    make(events, up);
  }
}

void EventMaker::submit(Events& events) {
  auto spec = std::make_shared<JobSpec>();
  spec->uid = 1000;
  spec->attended = pick(2) == 0;
  spec->name = fmt::format("job \xc3\xa4 {}", pick(5));
  spec->batch = true;
  spec->arguments = {SharedText("a"), SharedText("b c")};
  spec->script_blob = blob(fmt::format("#!/bin/sh\n# {}\n", pick(3)));
  spec->environment_blob = blob(fmt::format("SUBMIT={}", state_.next_job_id));
  spec->limits = {1, 2, UINT64_MAX, 4};
  Job job;
  job.id = state_.next_job_id;
  job.spec = spec;
  job.time_limit = static_cast<Minutes>(pick(60) + 1);
  job.partition = "main";
  job.submit = now_;
  if (pick(3) != 0) {
    const auto association = static_cast<AssociationId>(pick(4) + 1);
    job.account = std::make_shared<JobAccount>(
        JobAccount{association, static_cast<QosId>(pick(2) + 1), static_cast<QosId>(pick(3))});
  }
  if (pick(4) == 0) {
    auto array = std::make_shared<ArrayInfo>();
    array->array_job = job.id;
    array->pending.insert(1, 6);
    array->task_count = array->task_max = 6;
    array->task_min = 1;
    job.array = array;
  }
  if (job.array == nullptr && pick(8) == 0) {
    for (uint32_t offset = 0; offset < 2; ++offset) {
      Job component = job;
      component.id = job.id + offset;
      component.het = std::make_shared<HetInfo>(HetInfo{job.id, offset, 2});
      make(events, JobSubmitted{component});
    }
    return;
  }
  make(events, JobSubmitted{job});
  if (pick(2) == 0) make(events, JobBecameEligible{job.id, now_, pick(2) == 0});
}

void EventMaker::hold_or_release(Events& events) {
  const std::vector<JobId> pending = ids(state_.pending);
  if (pending.empty()) return;
  const JobId job = pending[pick(pending.size())];
  if (state_.jobs.at(job).hold == HoldKind::kNone) {
    make(events, JobHeld{job, HoldKind::kAdmin, JobReason::kJobHeldAdmin, "maintenance", 0, now_});
  } else {
    make(events, JobReleased{job, now_});
  }
}

void EventMaker::change_waiting(Events& events) {
  const std::vector<JobId> pending = ids(state_.pending);
  if (pending.empty()) return;
  const Job job = state_.jobs.at(pending[pick(pending.size())]);
  if (pick(2) == 0) {
    make(events, JobDependencyChanged{job.id, "afterok:1", JobReason::kDependency});
    make(events, JobDependencyChanged{job.id, {}, JobReason::kNone});
    return;
  }
  auto spec = std::make_shared<JobSpec>(*job.spec);
  spec->comment = "changed";
  JobUpdated changed;
  changed.job = job.id;
  changed.spec = spec;
  changed.array = job.array;
  changed.time_limit = job.time_limit + 5;
  changed.partition = "debug";
  changed.eligible = job.eligible;
  changed.accrue = job.accrue;
  changed.time = now_;
  make(events, changed);
}

std::shared_ptr<const Allocation> EventMaker::allocate() {
  auto allocation = std::make_shared<Allocation>();
  const size_t wanted = pick(2) + 1;
  const size_t cores = pick(3) + 1;
  for (NodeId id = 0; id < kNodes && allocation->nodes.size() < wanted; ++id) {
    NodeAllocation part;
    part.node = id;
    part.cores = Bitmap::first(kCores).and_not(state_.nodes.at(id).used_cores).take_first(cores);
    if (part.cores.count() < cores) continue;
    part.cpus = static_cast<uint32_t>(cores);
    part.memory_mib = 10;
    allocation->cpus += part.cpus;
    allocation->node_list += (allocation->nodes.empty() ? "" : ",") + state_.nodes.at(id).name;
    allocation->nodes.push_back(part);
  }
  if (allocation->nodes.size() < wanted) return nullptr;
  return allocation;
}

void EventMaker::start(Events& events) {
  const std::vector<JobId> pending = ids(state_.pending);
  const std::shared_ptr<const Allocation> allocation = allocate();
  if (pending.empty() || !allocation) return;
  const Job job = state_.jobs.at(pending[pick(pending.size())]);
  // components would have to start together
  if (job.hold != HoldKind::kNone || job.het != nullptr) return;
  JobStarted started;
  started.record = job.id;
  started.partition = "main";
  started.time_limit = job.time_limit;
  started.time = now_;
  started.end = now_ + std::chrono::minutes(job.time_limit);
  started.prolog = pick(2) == 0;
  started.early_script = started.prolog;
  JobStarted::Start one;
  one.job = job.id;
  one.allocation = allocation;
  if (pick(6) == 0) one.booting.set(0);
  if (job.account != nullptr) {
    one.charge = std::make_shared<JobCharge>(
        JobCharge{{{kTresCpu, pick(9)}, {kTresNode, 1}}, pick(5) * kMicro / 3, kMicro / 2});
    if (pick(4) == 0) {
      auto account = std::make_shared<JobAccount>(*job.account);
      account->partition_qos = 0;
      account->own_qos = "normal";
      started.account = std::move(account);
      started.soft_qos = "soft";
    }
  }
  if (job.array && job.array->task == kNoTask) {
    job.array->pending.for_each([&](uint32_t task) {
      if (one.task == kNoTask) one.task = task;
    });
    // the last task keeps the record's id
    IndexSet rest = job.array->pending;
    rest.erase(one.task);
    if (!rest.empty()) one.job = state_.next_job_id;
  }
  started.starts = {one};
  make(events, started);
  if (one.booting.any()) {
    Bitmap booted;
    booted.set(boot_position(state_.jobs.at(one.job), 0));
    make(events, JobPrepared{one.job, booted, false});
  }
  if (started.prolog) {
    make(events, JobPrepared{one.job, Bitmap::first(allocation->nodes.size()), false});
  }
}

void EventMaker::step(Events& events) {
  const std::vector<JobId> active = ids(state_.active);
  if (active.empty()) return;
  const Job job = state_.jobs.at(active[pick(active.size())]);
  if (job.state != JobState::kRunning || is_completing(job)) return;
  const auto& parts = job.allocation->nodes;
  if (parts.size() > 1 && job.preparing.none() && job.released.none() && pick(3) == 0) {
    auto fewer = std::make_shared<Allocation>(*job.allocation);
    Bitmap dropped;
    dropped.set(parts.back().node);
    fewer->cpus -= parts.back().cpus;
    fewer->nodes.pop_back();
    make(events, JobShrunk{job.id, fewer, dropped, now_});
    return;
  }
  if (job.steps.size() > 1) {
    const StepId id = job.steps.back()->id;
    auto longer = std::make_shared<StepSpec>();
    longer->time_limit = 7;
    make(events, StepUpdated{id, longer});
    make(events, StepEndOrdered{id, 1000, now_});
    make(events, StepNodesEnded{id, Bitmap::first(1), -3, false, now_, kUsage});
    make(events, StepEnded{id, StepState::kCancelled, 9, now_, {}});
    return;
  }
  auto made = std::make_shared<Step>();
  auto layout = std::make_shared<StepLayout>();
  layout->num_tasks = 2;
  for (const NodeAllocation& part : job.allocation->nodes) {
    layout->nodes.push_back({part.node, state_.nodes.at(part.node).name, {0, 1}, 1, "0-1", 5});
  }
  made->id = {job.id, job.next_step};
  made->spec = std::make_shared<StepSpec>();
  made->layout = layout;
  made->state = StepState::kRunning;
  made->start = now_;
  made->nodes_left = Bitmap::first(layout->nodes.size());
  make(events, StepCreated{made});
}

void EventMaker::suspend_or_resume(Events& events) {
  const std::vector<JobId> active = ids(state_.active);
  if (active.empty()) return;
  const Job job = state_.jobs.at(active[pick(active.size())]);
  if (is_completing(job) || !job.preparing.none()) return;
  if (job.state == JobState::kSuspended)
    make(events, JobResumed{job.id, job.end + std::chrono::minutes(1), now_});
  else if (job.state == JobState::kRunning) make(events, JobSuspended{job.id, now_});
}

void EventMaker::complete(Events& events) {
  const std::vector<JobId> active = ids(state_.active);
  if (active.empty()) return;
  const Job& job = state_.jobs.at(active[pick(active.size())]);
  if (job.state != JobState::kRunning) return;
  if (pick(4) == 0) make(events, JobLimitNear{job.id, 80});
  if (pick(4) == 0) {
    make(events, JobSignaled{job.id, UINT32_MAX, 10, 0, true, "soon over", now_});
  }
  if (pick(4) == 0 && job.grace_end == kNoTime) {
    make(events, JobPreempted{job.id, state_.next_job_id, now_ + std::chrono::seconds(30), now_});
  }
  JobCompleting over;
  if (pick(4) == 0) over.failed_node = "n2";
  over.job = job.id;
  over.time = now_;
  if (pick(3) == 0) {
    over.state = JobState::kFailed;
    over.reason = JobReason::kNonZeroExitCode;
    over.exit_status = 256;
    over.flags = pick(2) == 0 ? kJobRequeued : 0;
    if (over.flags != 0) over.start = now_;
  } else if (pick(4) == 0) {
    over.state = JobState::kPreempted;
    over.flags = pick(2) == 0 ? kJobRequeued : 0;
  }
  make(events, over);
  if ((over.flags & kJobRequeued) != 0 && pick(4) == 0)
    make(events, JobRequeueCancelled{over.job, 1000});
  if (pick(4) == 0) make(events, JobTerminateResent{over.job, now_});
}

void EventMaker::clean(Events& events) {
  const std::vector<JobId> active = ids(state_.active);
  if (active.empty()) return;
  const Job job = state_.jobs.at(active[pick(active.size())]);
  if (!is_completing(job)) return;
  for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
    if (job.released.test(at)) continue;
    Bitmap position;
    position.set(at);
    make(events, JobNodesReleased{job.id, position, now_});
    if (at + 1 < job.allocation->nodes.size() && pick(2) == 0) return;
  }
  for (const auto& live : job.steps) {
    make(events, StepEnded{live->id, StepState::kCompleted, 0, now_, kUsage});
  }
  make(events, JobEnded{job.id, job.state, job.reason, UINT32_MAX, now_});
  if ((job.flags & kJobRequeued) == 0) return;
  JobRequeued again;
  again.job = job.id;
  again.restart_count = job.restart_count + 1;
  again.begin = now_ + std::chrono::minutes(2);
  again.time = now_;
  again.exit_status = job.exit_status;
  again.derived_exit_status = job.derived_exit_status;
  make(events, again);
}

void EventMaker::cancel_pending(Events& events) {
  const std::vector<JobId> pending = ids(state_.pending);
  if (pending.empty()) return;
  const Job& job = state_.jobs.at(pending[pick(pending.size())]);
  if (job.array && job.array->task == kNoTask && pick(2) == 0) {
    ArrayTasksSplit split;
    split.array_job = job.id;
    const IndexSet tasks = job.array->pending;
    const JobId record = job.id;
    JobId fresh = state_.next_job_id;
    tasks.for_each([&](uint32_t task) { split.tasks.push_back({task, fresh++}); });
    split.tasks.back().job = record;
    make(events, split);
    return;
  }
  if (job.array && job.array->task == kNoTask) {
    ArrayTasksCancelled some;
    some.array_job = job.id;
    some.cancelled_by = 1000;
    some.time = now_;
    IndexSet rest = job.array->pending;
    rest.for_each([&](uint32_t task) {
      if (some.tasks.empty()) some.tasks.insert(task);
    });
    if (rest != some.tasks) {
      make(events, some);
      return;
    }
  }
  make(events, JobEnded{job.id, JobState::kCancelled, JobReason::kNone, 1000, now_});
}

void EventMaker::change_node(Events& events) {
  const auto id = static_cast<NodeId>(pick(kNodes));
  const Node& node = state_.nodes.at(id);
  NodeStateChanged changed;
  changed.node = id;
  changed.base = node.base;
  changed.flags = node.flags ^ kNodeDrain;
  if ((changed.flags & kNodeDrain) != 0) {
    changed.reason = "a fan is loud";
    changed.reason_time = now_;
    changed.reason_uid = 1000;
  }
  changed.time = now_;
  changed.after_reboot = pick(2) == 0 ? AfterReboot::kDown : AfterReboot::kAsBefore;
  changed.reboot_issued = pick(2) == 0 ? now_ : kNoTime;
  if (pick(3) == 0) changed.boot_features = "nps4,mig";
  changed.boot_if_needed = pick(4) == 0;
  make(events, changed);
  change_trigger(events);
  NodeUpdated updated;
  updated.node = id;
  updated.weight = static_cast<uint32_t>(pick(9) + 1);
  updated.active_features = "fast";
  updated.features_reported = pick(2) == 0;
  updated.features_chosen = pick(2) == 0;
  updated.comment = "looked at";
  make(events, updated);
}

// A tree of accounts, whose parts move and go.
void EventMaker::change_accounting(Events& events) {
  AccountingChanged changed;
  changed.version = state_.accounting.version + 1;
  changed.time = now_;
  for (AssociationId id = 1; id <= 4; ++id) {
    AssociationRecord record;
    record.id = id;
    record.parent = id == 1 ? 0 : static_cast<AssociationId>(1 + pick(id - 1));
    record.account = fmt::format("a{}", id);
    if (id == 4) record.user = "ann";
    record.shares = static_cast<uint32_t>(1 + pick(5));
    if (id == 4 && pick(4) == 0) changed.gone_associations.push_back(id);
    else changed.associations.push_back(record);
  }
  for (QosId id = 1; id <= 2; ++id) {
    QosRecord record;
    record.id = id;
    record.name = fmt::format("q{}", id);
    record.flags = pick(2) == 0 ? kQosNoDecay : 0;
    changed.qos.push_back(record);
  }
  changed.tres = {{kTresCpu, "cpu", ""}, {kFirstDynamicTres, "gres", "gpu"}};
  changed.accounts = {{"a1", "first", "site", {"bob"}}};
  changed.users = {{{"ann", AdminLevel::kOperator, "key"}, 1000}};
  changed.wckeys = {{1, "cluster", "ann", "key", true}};
  make(events, std::move(changed));
  make(events, UsageDecayed{now_, pick(9) == 0 ? 0.0 : 0.5});
  if (pick(3) == 0) make(events, UsageReset{{2}, {1}, {}, {}});
}

void EventMaker::change_trigger(Events& events) {
  if (state_.triggers->size() > 3) {
    const Trigger oldest = state_.triggers->front();
    if (pick(2) == 0) make(events, TriggerFired{oldest, "n[1-2]"});
    else make(events, TriggersCleared{{oldest.id}});
    return;
  }
  Trigger trigger;
  trigger.id = state_.next_trigger_id;
  trigger.events = pick(2) == 0 ? kTriggerDown | kTriggerDrained : kTriggerFini;
  trigger.offset_seconds = -5;
  trigger.permanent = pick(2) == 0;
  trigger.uid = trigger.gid = 1000;
  trigger.user_name = "ann";
  trigger.program = "/bin/true";
  make(events, TriggerSet{trigger});
  Crontab crontab;
  crontab.uid = static_cast<uint32_t>(1000 + pick(2));
  if (pick(3) != 0) crontab.text = "@daily true\n";
  if (!crontab.text.empty()) crontab.jobs = {1, 2};
  make(events, CrontabReplaced{crontab});
  make(events, UserGroupsFound{{1000, pick(2) == 0 ? "users" : "users,staff"}});
  if (state_.reservations->size() > 2) {
    make(events, ReservationDeleted{state_.reservations->front().id});
    return;
  }
  Reservation reservation;
  reservation.id = state_.next_reservation_id;
  reservation.name = "r" + std::to_string(reservation.id);
  reservation.start = reservation.idle_since = now_;
  reservation.end = now_ + std::chrono::hours(1);
  reservation.flags = kReservationDaily | kReservationSpecNodes;
  reservation.nodes = Bitmap::first(1 + pick(2));
  reservation.users = "ann,bob";
  reservation.uids = {1000, 1001};
  reservation.partition = "debug";
  reservation.licenses = "foo:2";
  if (pick(2) == 0) reservation.cores = {{0, Bitmap::first(2)}};
  if (pick(2) == 0) reservation.gres = {{0, {{"gpu", "a", 2, Bitmap::first(2), {}}}}};
  make(events, ReservationChanged{reservation});
  make(events, ReservationTurned{reservation.id, pick(2) == 0, reservation.name});
}

void EventMaker::change_dynamic_node(Events& events) {
  const Node* known = find_node(state_, "d1");
  if (known != nullptr && known->jobs.empty()) {
    make(events, NodesDeleted{{"d1"}});
    return;
  }
  if (known != nullptr) return;
  NodeConfig line;
  line.name = line.hostname = "d1";
  line.state = ConfiguredNodeState::kCloud;
  line.dynamic = DynamicNode::kCreated;
  make(events, NodesCreated{{line}, now_});
}

void EventMaker::change_partition(Events& events) {
  change_dynamic_node(events);
  if (find_partition(state_, "extra") != nullptr) {
    make(events, PartitionDeleted{"extra"});
    return;
  }
  auto config = std::make_shared<PartitionConfig>();
  config->name = "extra";
  config->nodes_text = "n[1-2]";
  config->nodes = {"n1", "n2"};
  config->max_time = 600;
  config->default_time = 60;
  make(events, PartitionChanged{config});
}

void EventMaker::purge(Events& events) {
  ArrayTasksFolded folded;
  for (const JobId id : ids(state_.finished)) {
    if (may_fold(state_.jobs.at(id))) folded.jobs.insert(id);
  }
  if (!folded.jobs.empty() && pick(2) == 0) {
    make(events, folded);
    return;
  }
  const std::vector<JobId> finished = ids(state_.finished);
  if (finished.size() < 5) return;
  make(events, JobsPurged{{finished.begin(), finished.begin() + 3}, {}});
}

}  // namespace sluice::test
