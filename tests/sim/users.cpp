// What users and administrators do in the simulation.
#include "common/names/step_names.hpp"
#include "common/model/job_update.hpp"
#include "ctld/state/rules/reservations.hpp"
#include "world.hpp"

namespace sluice::sim {

using namespace sluice::state;

namespace {
constexpr Identity kRoot{0, 0};
Identity user(uint32_t number) { return {1000 + number, 1000}; }
}  // namespace

void World::ask(Command command) {
  controller_.handle(command, now_);
  flush_later();
}

JobId World::any_job() {
  const ClusterState& state = controller_.state();
  if (state.jobs.empty()) return kNoJob;
  const uint32_t first = state.jobs.next_id(0);
  const uint32_t span = state.next_job_id > first ? state.next_job_id - first : 1;
  const uint32_t id = state.jobs.next_id(first + below(span));
  return id == CowTable<Job>::kNone ? first : id;
}

void World::want_gres(JobSpec& spec) {
  static constexpr std::array<const char*, 6> kOnNode{
      "gres/gpu:1",   "gres/gpu:a:2", "gres/gpu:b:1,gres/fan:2",
      "gres/shard:2", "gres/fan:3",   "gres/gpu:2"};
  switch (below(4)) {
    case 0: spec.tres_per_job = chance(2) ? "gres/gpu:3" : "gres/gpu:4"; break;
    case 1:
      spec.num_tasks = 1 + below(3);
      spec.tres_per_task = "gres/gpu:1";
      break;
    default: spec.gres = kOnNode[below(kOnNode.size())]; break;
  }
  if (chance(4)) spec.gres_flags = "enforce-binding";
  if (chance(5)) spec.cpus_per_gpu = "1";
}

// An administrator forgets what was used.
void World::reset_usage() {
  if (!has_accounting()) return;
  ResetUsage command{kRoot, {}};
  if (chance(3)) command.request.qos = {"normal"};
  else command.request.accounts = {chance(2) ? "a" : "b"};
  if (chance(2) && !command.request.accounts.empty())
    command.request.users = {command.request.accounts[0] == "a" ? "u0" : "u2"};
  controller_.handle(command, now_);
  flush_later();
}

// What an accounting daemon says changes: limits come and go.
void World::follow_accounting() {
  if (!has_accounting()) return;
  FollowAccounting command;
  AccountingRecords& site = command.records;
  site.version = ++accounting_version_;
  site.tres = {{kTresCpu, "cpu", ""}, {kTresMem, "mem", ""}, {kTresNode, "node", ""}};
  for (const char* name : {"a", "b", "root"}) site.accounts.push_back({name, "", "", {}});
  const auto add = [&](AssociationId parent, const std::string& account, const std::string& of) {
    AssociationRecord& one = site.associations.emplace_back();
    one.id = static_cast<AssociationId>(site.associations.size());
    one.parent = parent;
    one.cluster = "sim";
    one.account = account;
    one.user = of;
    one.is_default = !of.empty();
    one.qos = {1};
    if (chance(3)) one.group.jobs = 1 + below(6);
    if (chance(4)) one.member.jobs = 1 + below(4);
    if (chance(5)) one.group.submit = 20 + below(20);
  };
  add(0, "root", "");
  add(1, "a", "");
  add(1, "b", "");
  for (uint32_t n = 0; n < 3; ++n) {
    const std::string name = "u" + std::to_string(n);
    site.users.push_back({name, n == 0 ? AdminLevel::kOperator : AdminLevel::kNone, ""});
    command.uids[name] = user(n).uid;
    add(n < 2 ? 2 : 3, n < 2 ? "a" : "b", name);
  }
  QosRecord& normal = site.qos.emplace_back();
  normal.id = 1;
  normal.name = "normal";
  if (chance(3)) normal.user.jobs = 1 + below(6);
  controller_.handle(command, now_);
  flush_later();
}

void World::submit() {
  SubmitJob command{user(below(3)), {}, {"users"}};
  JobSpec& spec = command.job;
  spec.uid = command.who.uid;
  spec.name = chance(2) ? "a" : "b";
  spec.batch = !chance(5);
  spec.cpus_per_task = 1 + below(3);
  spec.min_nodes = chance(3) ? 1 + below(3) : 1;
  spec.max_nodes = spec.min_nodes;
  spec.memory_kind = MemoryKind::kPerNode;
  spec.memory_mib = 100;
  spec.time_limit = 1 + below(10);
  spec.hold = chance(25);
  if (chance(3)) want_gres(spec);
  if (chance(10)) spec.partitions = "small";
  if (chance(12)) spec.begin = now_ + between(1'000, 60'000);
  if (chance(30)) spec.deadline = now_ + between(5'000, 200'000);
  if (chance(15)) spec.kill_on_node_fail = false;
  if (chance(10)) spec.mail_type = "TIME_LIMIT_50,TIME_LIMIT_90,END";
  if (chance(6)) spec.requeue = Toggle::kNo;
  if (chance(10)) {
    static constexpr std::array<const char*, 4> kWishes{"nps4", "mig", "nps1|mig", "nps1&mig"};
    spec.constraint = kWishes[below(4)];
  }
  if (chance(60)) {  // only an administrator may
    spec.reboot = true;
    spec.uid = command.who.uid = 0;
  }
  if (chance(10)) {
    spec.signal = 10;
    spec.signal_seconds = 30;
    spec.signal_reservation = chance(2);
  }
  if (spec.batch && chance(6)) spec.array = chance(2) ? "0-7%2" : "1,3,5-6";
  if (chance(8) && any_job() != kNoJob) {
    static constexpr std::array<const char*, 5> kKinds{
        "after:", "afterany:", "afterok:", "afternotok:", "aftercorr:"};
    spec.dependency = kKinds[below(5)] + std::to_string(any_job());
    if (chance(4)) spec.kill_on_invalid_dependency = Toggle::kYes;
  } else if (chance(25)) {
    spec.dependency = "singleton";
  }
  if (chance(40)) spec.reservation = chance(3) ? "r1,r2" : "r1";
  if (chance(10)) spec.licenses = "matlab:" + std::to_string(1 + below(2));
  spec.request_id = ++request_id_;
  if (spec.array.empty() && chance(6)) {  // heterogeneous
    for (uint32_t more = 1 + below(2); more > 0; --more) {
      JobSpec& component = command.components.emplace_back(spec);
      component.cpus_per_task = 1 + below(4);
      component.min_nodes = component.max_nodes = 1 + below(2);
      component.memory_mib = 50;
      if (chance(5)) component.time_limit = 1 + below(10);
      if (chance(5)) component.partitions = "small";
    }
  }
  std::vector<JobSpec> asked{spec};
  asked.insert(asked.end(), command.components.begin(), command.components.end());
  referee_.asked(spec.request_id, std::move(asked));
  if (chance(20)) {  // its reply is lost: the client asks again
    const SubmitJob again = command;
    at(between(10, 3'000), [this, again] {
      controller_.handle(again, now_);
      flush_later();
    });
  }
  ask(std::move(command));
}

void World::create_step() {
  const JobId id = any_job();
  const Job* job = controller_.state().jobs.find(id);
  if (job == nullptr) return;
  const Identity owner{job->spec->uid, 0};
  CreateStep command{owner, id, {}};
  command.step.num_tasks = 1 + below(4);
  command.step.exact = chance(2);
  command.step.request_id = ++request_id_;
  if (chance(4)) command.step.overlap = OverlapKind::kOverlap;
  if (chance(4)) command.step.min_nodes = 1 + below(3);
  if (chance(6)) command.step.time_limit = 1;
  if (chance(3)) command.step.gres = chance(3) ? "none" : "gres/gpu:1";
  if (chance(6)) command.step.tres_per_step = "gres/gpu:2";
  if (chance(10)) command.step.distribution = "cyclic";
  ask(std::move(command));
  if (chance(8))
    ask(UpdateStep{owner, {.id = {id, 0}, .all_steps = chance(2), .time_limit = 1 + below(3)}});
}

void World::update_a_job(JobId id, Identity who) {
  referee_.updated(id);
  JobUpdate update;
  switch (below(6)) {
    case 0: update.time_limit = 1 + below(20); break;
    case 1: update.comment = "changed"; break;
    case 2: update.begin = now_ + between(-5'000, 30'000); break;
    case 3: update.priority = below(2) * 100; break;
    case 4: update.dependency = "afterany:" + std::to_string(any_job()); break;
    default: update.min_nodes = 1 + below(3); break;
  }
  ask(UpdateJob{who, std::to_string(id), update});
}

void World::act_on_job() {
  using protocol::JobAction;
  const JobId id = any_job();
  const Job* job = controller_.state().jobs.find(id);
  if (job == nullptr) return;
  const Identity owner{job->spec->uid, 0};
  const Identity who = chance(6) ? kRoot : owner;
  std::string target = std::to_string(id);
  if (job->het != nullptr) {
    target = std::to_string(job->het->leader);
    if (chance(3)) target += '+' + std::to_string(job->het->offset);
  }
  if (job->array != nullptr && chance(2)) {
    target = std::to_string(job->array->array_job) + (chance(2) ? "_[1-3]" : "_5");
  }
  static constexpr std::array<JobAction, 5> kActions{JobAction::kHold, JobAction::kUserHold,
                                                     JobAction::kRequeue, JobAction::kRequeueHold,
                                                     JobAction::kRelease};
  switch (below(13)) {
    case 0:
    case 1: ask(SignalJob{who, target, 0, protocol::kSignalCancel}); break;
    case 2: ask(SignalJob{who, target, 10, chance(2) ? protocol::kSignalFull : 0}); break;
    case 3:
      if (!job->steps.empty()) {
        const StepId step = job->steps[below(static_cast<uint32_t>(job->steps.size()))]->id;
        ask(SignalJob{who, step_id_text(step), 0, protocol::kSignalCancel});
      }
      break;
    case 4:
    case 5: ask(ChangeJob{who, target, kActions[below(4)], chance(5)}); break;
    case 6:
    case 7: ask(ChangeJob{kRoot, target, JobAction::kRelease, false}); break;
    case 8: update_a_job(id, who); break;
    case 9: ask(NotifyJob{who, std::to_string(id), "hello"}); break;
    case 10:
      ask(ChangeJob{kRoot, target, chance(2) ? JobAction::kSuspend : JobAction::kResume, false});
      break;
    default:
      if (!job->spec->batch) ask(EndAllocation{who, id, chance(4) ? 1 << 8 : 0});
      break;
  }
}

void World::change_triggers() {
  if (controller_.state().triggers->size() > 8 || chance(5))
    return ask(ClearTriggers{kRoot, {.uid = 0}});
  Trigger trigger;
  trigger.program = "/bin/true";
  trigger.permanent = chance(3);
  trigger.offset_seconds = chance(2) ? 0 : 5;
  if (chance(2)) {
    static constexpr std::array<TriggerEvents, 4> kEvents{kTriggerDown, kTriggerUp, kTriggerDrained,
                                                          kTriggerIdle};
    trigger.events = kEvents[below(4)];
  } else {
    trigger.resource = TriggerResource::kJob;
    trigger.events = chance(2) ? kTriggerFini : kTriggerTime;
    trigger.job = any_job();
  }
  ask(SetTrigger{kRoot, trigger});
}

// Of one user: a job or two at each minute, or none any more.
void World::change_crontab() {
  ReplaceCrontab command{user(below(3)), "", {}, {"users"}};
  for (uint32_t line = below(3); line > 0; --line) {
    JobSpec& spec = command.jobs.emplace_back();
    spec.uid = command.who.uid;
    spec.name = "cron";
    spec.batch = true;
    spec.num_tasks = spec.cpus_per_task = spec.min_nodes = spec.max_nodes = 1;
    spec.memory_kind = MemoryKind::kPerNode;
    spec.memory_mib = 10;
    spec.time_limit = 1;
    spec.cron = "* * * * *";
    spec.cron_line = line;
    command.text += "* * * * * true\n";
  }
  ask(std::move(command));
}

// By scontrol, or by an agent that brings its line along.
void World::create_dynamic_node() {
  FakeNode& node = dynamic_node();
  NodeConfig line;
  line.name = line.hostname = node.name();
  line.cpus = line.cores_per_socket = 4;
  line.real_memory_mib = 1000;
  if (chance(3)) {
    line.dynamic = DynamicNode::kRegistered;
    RegisterNode command{node.registration()};
    command.node.node_line = std::make_shared<NodeConfig>(line);
    ask(std::move(command));
  } else {
    line.dynamic = DynamicNode::kCreated;
    line.state = chance(2) ? ConfiguredNodeState::kCloud : ConfiguredNodeState::kFuture;
    ask(CreateNodes{kRoot, {line}});
    UpdateNode resume{kRoot, {}};
    resume.update.nodes = line.name;
    resume.update.state = "RESUME";
    if (line.state == ConfiguredNodeState::kFuture) ask(resume);
  }
  register_node(node);
}

// Short ones, that come and go while jobs run.
void World::change_reservations() {
  using protocol::ReservationAction;
  ChangeReservation command{kRoot, {}, {}};
  for (uint32_t n = 0; n < 3; ++n) command.users["u" + std::to_string(n)] = {user(n).uid};
  protocol::ReservationValues& values = command.request.values;
  command.request.name = chance(2) ? "r1" : "r2";
  const bool there = find_reservation(controller_.state(), command.request.name) != nullptr;
  if (there && chance(2)) {
    command.request.action = ReservationAction::kDelete;
    return ask(std::move(command));
  }
  if (!there) command.request.action = ReservationAction::kCreate;
  values.users = protocol::NameList{"u0,u1"};
  values.start = now_ + between(0, 30'000);
  values.duration = std::chrono::seconds(10 + below(200));
  if (there) values.start.reset();
  static constexpr std::array<ReservationFlags, 8> kFlags{0,
                                                          0,
                                                          kReservationMaint,
                                                          kReservationFlex,
                                                          kReservationMagnetic,
                                                          kReservationPurge,
                                                          kReservationHourly,
                                                          kReservationNoHold};
  values.add_flags = kFlags[below(kFlags.size())] | kReservationIgnoreJobs;
  if ((values.add_flags & kReservationPurge) != 0) values.purge_after = std::chrono::seconds(20);
  if (chance(3)) values.max_start_delay = std::chrono::minutes(1);
  if (chance(3)) values.licenses = "matlab:" + std::to_string(below(4));
  choose_reserved(values);
  ask(std::move(command));
}

// Nodes, cores or generic resources of nodes, or licenses alone.
void World::choose_reserved(protocol::ReservationValues& values) {
  const std::string named = nodes_[below(static_cast<uint32_t>(nodes_.size()))]->name();
  switch (below(10)) {
    case 8: values.gres = chance(2) ? "gpu:2" : "gpu:a:1,fan:1"; break;
    case 9:
      values.gres_per_node = chance(2) ? "fan:2" : "gpu:1";
      if (chance(2)) values.core_counts = {1 + below(2)};
      break;
    case 0: values.core_counts = {1 + below(6)}; break;
    case 1:
      values.core_counts = {1 + below(3)};
      values.nodes = named;
      break;
    case 2:
      values.core_counts = {2 + below(4)};
      values.node_count = 1 + below(2);
      break;
    case 3:
      values.licenses = "matlab:" + std::to_string(1 + below(3));
      values.add_flags |= kReservationAnyNodes;
      break;
    case 4:
    case 5:
      values.node_count = 1 + below(2);
      if (chance(2)) values.add_flags |= chance(2) ? kReservationReplace : kReservationReplaceDown;
      break;
    default: values.nodes = named;
  }
}

void World::change_cluster() {
  UpdateNode node{kRoot, {}};
  node.update.nodes = nodes_[below(static_cast<uint32_t>(nodes_.size()))]->name();
  switch (below(10)) {
    case 9:
      if (find_node(controller_.state(), dynamic_node().name()) == nullptr) create_dynamic_node();
      else ask(DeleteNodes{kRoot, chance(4) ? "ALL" : dynamic_node().name()});
      break;
    case 0:
      node.update.state = "DRAIN";
      node.update.reason = "simulated";
      if (chance(2)) node.update.resume_after_seconds = 5;
      ask(node);
      break;
    case 1:
      node.update.state = "DOWN";
      node.update.reason = "simulated";
      if (chance(4)) ask(node);
      break;
    case 2:
      node.update.weight = below(5);
      ask(node);
      break;
    case 3: {
      if (!chance(4)) break;
      count(Fault::kConfigReplaced);
      config_ = make_config(++config_variant_);
      ask(ReplaceConfig{config_});
      break;
    }
    case 4: {
      const bool there = find_partition(controller_.state(), "night") != nullptr;
      UpdatePartition command{
          kRoot,
          there ? protocol::PartitionAction::kDelete : protocol::PartitionAction::kCreate,
          "night",
          {}};
      command.config.nodes = {"n1"};
      ask(command);
      break;
    }
    case 5:
      if (!config_->suspend_program.empty() && chance(2)) {
        static constexpr std::array<const char*, 5> kPower{
            "POWER_DOWN", "POWER_DOWN_ASAP", "POWER_DOWN_FORCE", "POWER_UP", "POWER_UP"};
        node.update.state = kPower[below(5)];
        ask(node);
      } else if (chance(3)) {
        node.update.state = "CANCEL_REBOOT";
        ask(node);
      } else {
        static constexpr std::array<AfterReboot, 3> kAfter{
            AfterReboot::kAsBefore, AfterReboot::kResume, AfterReboot::kDown};
        ask(RebootNodes{
            kRoot, {.nodes = node.update.nodes, .asap = chance(2), .after = kAfter[below(3)]}});
      }
      break;
    default:
      node.update.nodes = "ALL";
      node.update.state = "RESUME";
      ask(node);
      for (auto& each : nodes_) register_node(*each);
      break;
  }
}

void World::user_acts() {
  if (!controller_.up()) return;
  const size_t waiting = controller_.state().pending.size();
  const uint32_t dice = below(100);
  if (dice < 40) {
    if (waiting < 60) submit();
  } else if (dice < 55) {
    create_step();
  } else if (dice < 95) {
    act_on_job();
  } else if (chance(4)) {
    change_triggers();
  } else if (chance(8)) {
    change_crontab();
  } else if (chance(6)) {
    change_reservations();
  } else {
    change_cluster();
  }
}

}  // namespace sluice::sim
