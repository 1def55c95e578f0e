// Network, clock, nodes and controller of the simulated cluster.
#include "world.hpp"

#include <algorithm>

#include "common/names/job_states.hpp"
#include "common/syntax/node_helpers.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/core/invariants.hpp"

namespace sluice::sim {

using namespace sluice::state;

namespace {

constexpr uint32_t kNodeCpus = 4;
constexpr uint64_t kNodeMemory = 1000;
constexpr const char* kNodeGres = "gpu:a:2,gpu:b:1,fan:3,shard:6";
constexpr uint64_t kLicenses = 3;
// Longer than an order may be under way.
constexpr Duration kKeyFilesStay = std::chrono::seconds(60);

constexpr uint32_t kSharers = 2;

// Some worlds have jobs share CPUs in turns.
bool shares_in(const WorldOptions& options) {
  return options.seed % 8 == 2 || options.seed % 16 == 7;
}

Limits limits_of(const WorldOptions& options) {
  return {kNodeMemory,
          kNodeCpus,
          {{"gpu:a", 2}, {"gpu:b", 1}, {"fan", 3}, {"shard", 6}},
          kLicenses,
          shares_in(options) ? kSharers : 1};
}

}  // namespace

World::World(const WorldOptions& options)
    : options_(options),
      random_(options.seed),
      controller_([this](const Effect& effect) { perform(effect); }),
      referee_(limits_of(options), options.real_scheduler) {
  controller_.on_event = [this](const ClusterState& state, const Event& event) {
    referee_.applied(state, event, now_);
  };
  for (int i = 1; i <= 6; ++i)
    nodes_.push_back(std::make_unique<FakeNode>("n" + std::to_string(i)));
  // in no configuration: it comes and goes by scontrol
  nodes_.push_back(std::make_unique<FakeNode>("d1"));
  config_ = make_config(0);
}

Duration World::between(int64_t from_ms, int64_t to_ms) {
  return std::chrono::milliseconds(
      from_ms + static_cast<int64_t>(random_() % static_cast<uint64_t>(to_ms - from_ms + 1)));
}

void World::at(Duration delay, Action action) {
  queue_.push({now_ + delay, order_++, std::make_shared<Action>(std::move(action))});
}

std::shared_ptr<const ClusterConfig> World::make_config(uint32_t variant) const {
  auto config = std::make_shared<ClusterConfig>();
  config->cluster_name = "sim";
  if (has_accounting()) {
    config->accounting_storage_type = "accounting_storage/slurmdbd";
    config->priority_calc_period = std::chrono::seconds(30);
    if (options_.seed % 8 == 2) config->accounting_storage_enforce = {"associations", "limits"};
  }
  config->return_to_service = options_.seed % 3 == 0 ? 2 : 1;
  config->min_job_age = std::chrono::seconds(30);
  config->requeue_exit = "7";
  config->scheduler_parameters = {"requeue_delay=2"};
  config->scron_parameters = {"enable"};
  config->requeue_exit_hold = "8";
  config->kill_wait = std::chrono::seconds(5);
  config->unkillable_step_timeout = std::chrono::seconds(20);
  config->max_job_count = 300;
  config->reboot_program = "/reboot";
  config->resume_timeout = std::chrono::seconds(60);
  if (options_.seed % 5 == 2) {
    config->suspend_program = "/suspend";
    config->resume_program = "/resume";
    config->suspend_timeout = std::chrono::seconds(20);
    config->suspend_time = std::chrono::seconds(60);
  }
  const bool preempts = options_.seed % 4 == 3;
  if (preempts) {
    config->preempt_type = "preempt/partition_prio";
    config->preempt_mode = options_.seed % 8 == 3    ? PreemptMode::kRequeue
                           : options_.seed % 16 == 7 ? PreemptMode::kSuspend
                                                     : PreemptMode::kCancel;
    if (options_.seed % 16 == 3)
      config->preempt_parameters = {"youngest_first", "send_user_signal"};
    if (options_.seed % 16 == 7) config->preempt_exempt_time = std::chrono::seconds(5);
  }
  config->node_features_plugins = {"node_features/helpers"};
  config->helpers.helpers = {{{}, {"nps1", "nps4"}, "/nps", false}, {{}, {"mig"}, "/mig", true}};
  config->helpers.boot_time = std::chrono::seconds(60);
  config->gres_types = {"gpu", "fan", "shard"};
  config->select_type_parameters = {"CR_CORE_MEMORY"};
  if (options_.seed % 2 == 0) config->values["ResvProlog"] = "/resv_prolog";
  config->licenses = "matlab:" + std::to_string(kLicenses);
  if (options_.seed % 4 == 1) {
    config->prolog = {"/prolog"};
    config->prolog_flags = {"Alloc"};
  }
  if (options_.seed % 3 == 1) config->prolog_flags.emplace_back("Contain");
  if (options_.seed % 8 == 5) config->prolog_flags.emplace_back("DeferBatch");
  if (options_.seed % 12 == 1) config->prolog_flags.emplace_back("NoHold");
  if (options_.seed % 8 == 1) config->prolog_slurmctld = {"/prolog"};
  PartitionConfig main;
  main.name = "main";
  main.is_default = true;
  main.default_time = 10;
  main.nodes_text = "ALL";
  main.node_sets = {"ALL"};
  config->max_node_count = 7;
  const size_t count = nodes_.size() - (variant % 2 == 0 ? 1 : 2);
  for (size_t i = 0; i < count; ++i) {
    NodeConfig node;
    node.name = node.hostname = nodes_[i]->name();
    node.cpus = node.cores_per_socket = kNodeCpus;
    node.real_memory_mib = kNodeMemory;
    if (i % 2 == 0) node.gres = kNodeGres;
    adopt_helpers(*config, node);
    config->nodes.push_back(node);
    main.nodes.push_back(node.name);
  }
  if (preempts && options_.seed % 3 != 0) main.grace_time_s = 10;
  if (shares_in(options_)) {  // SUSPEND,GANG where jobs are preempted
    config->preempt_gang = true;
    config->scheduler_time_slice = std::chrono::seconds(5);
    main.over_subscribe = OverSubscribe::kForce;
    main.over_subscribe_count = kSharers;
  }
  PartitionConfig small = main;
  if (preempts) small.priority_tier = 2;
  small.name = "small";
  small.is_default = false;
  small.nodes_text = "n[1-3]";
  small.node_sets.clear();
  small.nodes.resize(3);
  config->partitions = {main, small};
  return config;
}

FakeNode& World::node_of(NodeId id) {
  const std::string& name = controller_.state().nodes.at(id).name;
  for (auto& node : nodes_) {
    if (node->name() == name) return *node;
  }
  SLUICE_CHECK(false);
}

// --- network ------------------------------------------------------------------------------------

void World::to_controller(FakeNode& node, Command command, FakeController::OnReply on_reply) {
  if (!quiet_ && chance(20)) return count(Fault::kMessageLost);
  Duration delay = between(1, 40);
  if (!quiet_ && chance(25)) {
    delay = between(1'000, 30'000);
    count(Fault::kMessageDelayed);
  }
  const int copies = !quiet_ && chance(20) ? 2 : 1;
  if (copies == 2) count(Fault::kMessageRepeated);
  for (int copy = 0; copy < copies; ++copy) {
    at(delay + between(0, 20) * copy, [this, &node, command, on_reply] {
      if (node.cut_off || !controller_.handle(command, now_, on_reply)) return;
      flush_later();
    });
  }
}

// An order that does not reach its node, or whose answer does not come back.
void World::to_node(NodeId id, const NodeOrder& order, const Deliver& deliver) {
  Duration delay = between(1, 40);
  if (!quiet_ && chance(25)) {
    delay = between(500, 20'000);
    count(Fault::kMessageDelayed);
  }
  const uint64_t life = life_;
  const Time issued = now_;
  at(delay, [this, id, life, issued, order, deliver] {
    if (life != life_ || !controller_.up()) return;  // lost with the controller that sent it
    FakeNode& node = node_of(id);
    const bool lost = !quiet_ && chance(20);
    if (lost) count(Fault::kOrderLost);
    // a launch that was signed before its agent had registered is asked for again
    const auto takes = [this, issued, &node, launch = std::holds_alternative<LaunchStep>(order)] {
      return !node.cut_off && node.agent_up && (!launch || node.registered < issued);
    };
    if (lost || !takes()) return repeat(id, order, deliver);
    deliver(node);
    if (!quiet_ && chance(20)) {
      count(Fault::kMessageRepeated);
      at(between(1, 5'000), [this, life, takes, deliver, &node] {
        if (life == life_ && takes()) deliver(node);
      });
    }
  });
}

// As the controller does: while the newest state wants it, unless it dies meanwhile.
void World::repeat(NodeId id, const NodeOrder& order, const Deliver& deliver) {
  const uint64_t life = life_;
  at(between(300, 3'000), [this, id, life, order, deliver] {
    if (life != life_ || !controller_.up()) return;
    if (still_wanted(controller_.state(), order, {}).test(id)) to_node(id, order, deliver);
  });
}

// --- controller ----------------------------------------------------------------------------------

void World::flush_later() {
  if (flush_due_) return;
  flush_due_ = true;
  const uint64_t life = life_;
  at(between(1, 60), [this, life] {
    if (life != life_) return;
    flush_due_ = false;
    controller_.flush();
  });
}

void World::crash_controller() {
  if (!controller_.up()) return;
  count(Fault::kControllerCrashed);
  if (flush_due_) count(Fault::kUndurableLost);
  controller_.crash();
  ++life_;
  flush_due_ = false;
  at(between(100, 20'000), [this] {
    if (controller_.up()) return;  // the end of the faults was faster
    controller_.restart(now_, config_, chance(2));
    for (auto& node : nodes_) {
      if (!node->cut_off && chance(2)) register_node(*node);
    }
  });
}

void World::perform(const Effect& effect) {
  if (const auto* launch_step = std::get_if<LaunchStep>(&effect)) {
    nodes_of_order(controller_.state(), *launch_step).for_each([&](size_t id) {
      to_node(static_cast<NodeId>(id), *launch_step,
              [this, key = launch_step->key](FakeNode& node) { launch(node, key); });
    });
  } else if (const auto* end = std::get_if<TerminateJob>(&effect)) {
    end->nodes.for_each([&](size_t id) {
      to_node(
          static_cast<NodeId>(id), *end,
          [this, run = RunKey{end->job, end->restart}](FakeNode& node) { terminate(node, run); });
    });
  } else if (const auto* step_end = std::get_if<TerminateStep>(&effect)) {
    step_end->nodes.for_each([&](size_t id) {
      to_node(static_cast<NodeId>(id), *step_end, [this, key = step_end->key](FakeNode& node) {
        node.terminate_step(key);
        report(node);
      });
    });
  } else if (const auto* prolog = std::get_if<LaunchProlog>(&effect)) {
    prolog->nodes.for_each([&](size_t id) {
      to_node(static_cast<NodeId>(id), *prolog,
              [this, run = RunKey{prolog->job, prolog->restart}](FakeNode& node) {
                node.prepare(run);
                node.answer_prolog(run);
                report(node);
              });
    });
  } else if (const auto* own = std::get_if<RunControllerProlog>(&effect)) {
    at(between(1, 500), [this, order = *own] {
      controller_.handle(PrologDone{order.job, order.restart, {}, 0}, now_);
      flush_later();
    });
  } else if (const auto* order = std::get_if<RebootNow>(&effect)) {
    order->nodes.for_each([&](size_t id) {
      to_node(static_cast<NodeId>(id), *order,
              [this, reboot = *order](FakeNode& node) { obey(node, reboot); });
    });
  } else if (const auto* power = std::get_if<PowerNodes>(&effect)) {
    power->nodes.for_each([&](size_t id) {
      FakeNode& node = node_of(static_cast<NodeId>(id));
      at(between(1, 2'000),
         [this, &node, program = power->program] { change_power(node, program); });
    });
  } else if (const auto* configuration = std::get_if<ReconfigureNodes>(&effect)) {
    const Bitmap known = still_wanted(controller_.state(), *configuration, {});
    configuration->nodes.for_each([&](size_t id) {
      // it asks by itself now and then
      if (!known.test(id)) return register_node(node_of(static_cast<NodeId>(id)));
      to_node(static_cast<NodeId>(id), *configuration,
              [this](FakeNode& node) { register_node(node); });
    });
  } else if (std::holds_alternative<RunTick>(effect)) {
    at(between(1, 100), [this] {
      controller_.handle(Tick{}, now_);
      flush_later();
    });
  }
}

// --- nodes
// -----------------------------------------------------------------------------------------

void World::launch(FakeNode& node, const StepKey& key) {
  if (!quiet_ && chance(60)) {
    count(Fault::kLaunchFailed);
    node.fail_launch(key, chance(4));
    report(node);
    return;
  }
  static constexpr std::array<int32_t, 8> kStatuses{0, 0, 0, 0, 1 << 8, 7 << 8, 8 << 8, 11};
  if (key.id.step == kExternStep) {  // to the end of its job
    node.launch(key, {});
    return;
  }
  FakeStep step;
  step.batch = key.id.step == kBatchStep;
  step.ends = now_ + (chance(6) ? between(60'000, 900'000) : between(100, 40'000));
  step.status = quiet_ ? 0 : kStatuses[below(kStatuses.size())];
  if (!node.launch(key, step)) return;
  watch(node, key);
  at(step.ends - now_, [this, &node] {
    node.run_until(now_);
    report(node);
  });
  plant_in(node, key, step);
}

// A step has begun: never before, and soon alone on its cores. What a node still runs that it was
// told to forget is ended while it learns that.
void World::watch(FakeNode& node, const StepKey& key) {
  referee_.started(node.name(), key);
  at(std::chrono::milliseconds(500), [this, &node, key] {
    const ClusterState& state = controller_.state();
    const Job* job = state.jobs.find(key.id.job);
    const Node* known = find_node(state, node.name());
    if (referee_.is_unsure(node.name())) return;
    if (!node.runs(key) || job == nullptr || !job->allocation || known == nullptr) return;
    const auto part_of = [&](const Job& of) {
      const auto& parts = of.allocation->nodes;
      return std::ranges::find(parts, known->id, &NodeAllocation::node);
    };
    const auto mine = part_of(*job);
    if (mine == job->allocation->nodes.end() || job->restart_count != key.restart) return;
    for (const auto& [other, step] : node.running()) {
      const Job* beside = state.jobs.find(other.id.job);
      if (other.id.job == key.id.job || beside == nullptr || !beside->allocation) continue;
      // of a node that is DOWN and is resumed at once what is left of a lost job is known to run
      // until it has registered
      if (beside->state == JobState::kNodeFail) continue;
      const auto its = part_of(*beside);
      const bool same =
          its != beside->allocation->nodes.end() && its->cores.intersects(mine->cores);
      if (same && !referee_.may_overlap(key.id.job, other.id.job))
        referee_.found("jobs " + std::to_string(key.id.job) + " and " +
                       std::to_string(other.id.job) + " run on the same cores of " + node.name());
    }
  });
}

void World::terminate(FakeNode& node, RunKey run) {
  const bool stuck = !quiet_ && node.runs_any_of(run.first) && chance(100);
  if (stuck) count(Fault::kKillFailed);
  if (options_.plant == Plant::kStepStays) node.pretend_terminated(run);
  else node.terminate(run, stuck);
  report(node);
}

void World::report(FakeNode& node) {
  if (!node.agent_up || node.cut_off) return;
  for (const protocol::StepEnded& ended : node.unacknowledged_ends()) {
    to_controller(node, EndSteps{{ended}}, [this, &node, key = ended.key](const auto&) {
      at(between(1, 30), [&node, key] { node.forget_acknowledged(key); });
      at(kKeyFilesStay, [&node, key] { node.remove_key_file(key); });
    });
  }
  for (const protocol::JobCleaned& cleaned : node.unacknowledged_cleans()) {
    const RunKey run{cleaned.job, cleaned.restart};
    to_controller(node, JobsCleaned{{cleaned}}, [this, &node, run](const auto&) {
      at(between(1, 30), [&node, run] { node.forget_cleaned(run); });
      at(kKeyFilesStay, [&node, run] { node.remove_run(run); });
    });
  }
  for (const RunKey& run : node.unacknowledged_prologs()) {
    const bool failed = !quiet_ && chance(40);
    if (failed) count(Fault::kPrologFailed);
    to_controller(node, PrologDone{run.first, run.second, node.name(), failed ? 256 : 0},
                  [&node, run](const auto&) { node.forget_prepared(run); });
  }
}

void World::register_node(FakeNode& node) {
  if (!node.powered) return;
  const uint64_t starts = node.agent_starts;
  to_controller(node, RegisterNode{node.registration()}, [this, &node, starts](const auto& result) {
    if (!result || !std::holds_alternative<RegisteredReply>(*result)) return;
    const auto reply = std::get<RegisteredReply>(*result);
    at(between(1, 30), [this, &node, reply, starts, sent = now_] {
      if (node.agent_starts != starts) return;
      node.registered = sent;
      node.cluster_id = controller_.state().cluster_id;
      node.obey(reply.forget, reply.clean);
      referee_.cleaned(node.name());
    });
  });
}

// --- the run
// ---------------------------------------------------------------------------------------

bool World::all_schedulable() const {
  bool all = true;
  controller_.state().nodes.for_each(
      [&](const Node& node) { all = all && (node.removed || is_schedulable(node)); });
  return all;
}

// Faults and users stop; everything that is under way must come to its end.
void World::settle() {
  quiet_ = true;
  if (!controller_.up()) controller_.restart(now_, config_, true);
  for (auto& node : nodes_) {
    node->cut_off = false;
    node->powered = node->agent_up = true;
  }
  for (uint32_t uid = 1000; uid < 1003; ++uid) {  // else their jobs never end
    controller_.handle(ReplaceCrontab{{uid, 1000}, "", {}, {}}, now_);
  }
  // what is left of jobs on a node that is not there any more ends when it is back
  if (find_node(controller_.state(), dynamic_node().name()) == nullptr) create_dynamic_node();
  UpdateNode resume{{0, 0}, {}};
  resume.update.nodes = "ALL";
  resume.update.state = "RESUME";
  const Time end = now_ + std::chrono::minutes(180);  // jobs of one name wait for one another
  Time next = now_;
  while (now_ < end) {
    if (now_ >= next) {
      next = now_ + std::chrono::seconds(40);
      if (!all_schedulable()) controller_.handle(resume, now_);
      for (auto& node : nodes_) {
        const Node* known = find_node(controller_.state(), node->name());
        if (known != nullptr) controller_.handle(NodesResponding{{known->id}}, now_);
        node->run_until(now_);
        register_node(*node);
        report(*node);
      }
      controller_.handle(Tick{}, now_);
      schedule();
      controller_.flush();
    }
    if (queue_.empty() || queue_.top().when > next) {
      now_ = next;
      continue;
    }
    const Later later = queue_.top();
    queue_.pop();
    now_ = std::max(now_, later.when);
    (*later.action)();
  }
}

void World::finish_checks() {
  const ClusterState& state = controller_.state();
  const auto wrong = [&](const std::string& what) {
    outcome_.problems.push_back("at the end: " + what);
  };
  state.active.for_each([&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    // an allocation without a limit that nobody gives back may stay
    if (job.spec->batch || is_completing(job)) {
      wrong("job " + std::to_string(id) +
            " does not end: " + std::string(job_state_text(job.state, job.flags)) + ", " +
            std::to_string(job.steps.size()) + " steps, " + std::to_string(job.preparing.count()) +
            " prologs");
    }
  });
  // what runs is what was allocated
  for (const auto& node : nodes_) {
    const Node* known = find_node(state, node->name());
    for (const auto& [key, step] : node->running()) {
      const Job* job = state.jobs.find(key.id.job);
      const bool holds = known != nullptr && job != nullptr && state.active.contains(job->id) &&
                         std::ranges::count(known->jobs, job->id) == 1;
      if (!holds)
        wrong("step " + std::to_string(key.id.job) + "." + std::to_string(key.id.step) +
              " runs on " + node->name() + ", which its job does not hold");
    }
  }
  for (const JobId id : controller_.acknowledged) {
    if (!find_job(state, id)) wrong("job " + std::to_string(id) + " is lost");
  }
}

Outcome World::run() {
  controller_.handle(StartEpoch{"sim", 0, true}, now_);
  controller_.handle(ReplaceConfig{config_}, now_);
  controller_.flush();
  for (auto& node : nodes_) register_node(*node);
  while (controller_.events < options_.events && !has_problems()) {
    while (!queue_.empty() && queue_.top().when <= now_) {
      const Later later = queue_.top();
      queue_.pop();
      (*later.action)();
    }
    now_ += between(20, 400);
    const uint32_t dice = below(1000);
    if (dice < 500) user_acts();
    else if (dice < 620) schedule();
    else if (dice < 750) report(*nodes_[below(static_cast<uint32_t>(nodes_.size()))]);
    else if (dice < 850) controller_.handle(Tick{}, now_), flush_later();
    else if (dice < 900) disturb_node();
    else if (dice < 902) crash_controller();
    else if (dice < 903 && controller_.up()) controller_.verify_and_checkpoint();
    else if (dice >= 990) follow_accounting();
    else if (dice == 989) reset_usage();
    if (controller_.events > options_.events / 4) plant();
  }
  if (!has_problems()) {
    settle();
    controller_.verify_and_checkpoint();
    finish_checks();
  }
  outcome_.events = controller_.events;
  outcome_.event_counts = controller_.event_counts;
  outcome_.problems = controller_.problems;
  outcome_.problems.insert(outcome_.problems.end(), referee_.problems().begin(),
                           referee_.problems().end());
  return outcome_;
}

}  // namespace sluice::sim
