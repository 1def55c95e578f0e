// Steps: layout, sharing of a job's CPUs, ends.
#include "support/core_fixture.hpp"

#include "common/names/step_names.hpp"
#include "ctld/state/rules/step/launch_message.hpp"
#include "ctld/state/rules/step/step_layout.hpp"

namespace sluice::state {
namespace {

class StepTest : public CoreTest {
 protected:
  StepTest() {
    JobSpec spec = batch_spec();
    spec.batch = false;
    job_ = submit(spec);
    EXPECT_TRUE(start_job(job_, "n[1-3]", 4));
  }
  static StepSpec tasks(uint32_t count, uint32_t nodes = 0) {
    StepSpec spec;
    spec.num_tasks = count;
    spec.min_nodes = nodes;
    return spec;
  }
  Result<StepId> create(const StepSpec& spec) {
    const auto reply = run(CreateStep{kAnn, job_, spec});
    if (!reply) return tl::unexpected(reply.error());
    return std::get<StepCreatedReply>(*reply).id;
  }
  static EndSteps srun_ended(StepId step, const std::string& nodes) {
    protocol::StepEnded ended;
    ended.key = {step, 0};
    ended.nodes = nodes;
    ended.exit_status = 9;
    ended.srun_ended = true;
    return {{ended}};
  }
  ErrorCode refused(const StepSpec& spec) {
    const auto made = create(spec);
    return made ? ErrorCode::kOk : made.error().code;
  }
  const StepLayout& layout(StepId id) { return *find_step(job(job_), id.step)->layout; }

  JobId job_ = kNoJob;
};

// One task of a node was all that was started.
TEST_F(StepTest, CpusPerTaskWithoutTasksFillTheNodes) {
  StepSpec spec;
  spec.cpus_per_task = 2;
  const auto all = create(spec);
  ASSERT_TRUE(all);
  EXPECT_EQ(layout(*all).num_tasks, 6u) << "four CPUs of each of three nodes";
  spec.overlap = OverlapKind::kOverlap;
  spec.min_nodes = spec.max_nodes = 1;
  EXPECT_EQ(layout(*create(spec)).num_tasks, 2u);
  spec.cpus_per_task = 3;
  EXPECT_EQ(layout(*create(spec)).num_tasks, 1u);
  spec.ntasks_per_node = 1;
  spec.cpus_per_task = 2;
  EXPECT_EQ(layout(*create(spec)).num_tasks, 1u) << "that many were asked for";
  spec.cpus_per_task = 5;
  spec.ntasks_per_node = 0;
  EXPECT_EQ(refused(spec), ErrorCode::kTooManyCpus);
}

// As in Slurm 22.05. The bug: srun -c2 -n2 was refused in a job of three CPUs and of one.
TEST_F(StepTest, ATaskMayHaveFewerCpusWhereTheJobHasEnough) {
  const auto tasks_of = [&](uint32_t count, uint32_t cpus, uint32_t nodes) {
    StepSpec spec = tasks(count, nodes);
    spec.cpus_per_task = cpus;
    spec.overlap = OverlapKind::kOverlap;
    const auto made = create(spec);
    std::vector<size_t> out;
    if (!made) return out;
    for (const StepNode& node : layout(*made).nodes) out.push_back(node.tasks.size());
    return out;
  };
  using Sizes = std::vector<size_t>;
  EXPECT_EQ(tasks_of(4, 3, 3), (Sizes{2, 1, 1}));
  EXPECT_EQ(tasks_of(4, 3, 0), (Sizes{2, 1, 1}));
  EXPECT_EQ(tasks_of(3, 3, 0), (Sizes{1, 1, 1})) << "each fits";
  EXPECT_EQ(tasks_of(5, 3, 0), Sizes{}) << "fifteen of twelve";
  EXPECT_EQ(tasks_of(1, 5, 3), Sizes{}) << "one task has one node";
  EXPECT_EQ(tasks_of(2, 5, 3), Sizes{});
}

// srun --uid of another user: the bug was that the job's owner ran it, and nothing was said.
TEST_F(StepTest, AStepIsOfItsJobsOwner) {
  StepSpec spec = tasks(1);
  spec.uid = kBob.uid;
  EXPECT_EQ(refused(spec), ErrorCode::kAccessDenied);
  spec.uid = kAnn.uid;
  EXPECT_EQ(refused(spec), ErrorCode::kOk);
}

// srun ./a : ./b in an allocation: refused as if it were one of a heterogeneous job.
TEST_F(StepTest, PartsOfAStepShareTheNodesOfItsJob) {
  CreateHetStep command{kAnn, {{job_, tasks(1)}, {job_, tasks(2)}}};
  command.parts[0].step.request_id = 5;
  command.parts[1].step.request_id = 6;
  const auto reply = run(command);
  ASSERT_TRUE(reply) << reply.error().text;
  const auto ids = std::get<HetStepCreatedReply>(*reply).parts;
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(step_id_text(ids[0]), std::to_string(job_) + ".0+0");
  EXPECT_EQ(step_id_text(ids[1]), std::to_string(job_) + ".0+1");
  EXPECT_EQ(layout(ids[0]).node_list, "n1");
  EXPECT_EQ(layout(ids[1]).node_list, "n2");
  EXPECT_EQ(layout(ids[1]).nodes[0].tasks, (std::vector<uint32_t>{1, 2}));
  const auto launch = make_step_launch(state_, {ids[1], 0});
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->first_node, 1u);
  EXPECT_EQ(whole_layout(*launch).num_tasks, 3u);
  EXPECT_EQ(step_id_text(whole_id(*launch)), std::to_string(job_) + ".0");
  EXPECT_EQ(job(job_).next_step, 1u);
  EXPECT_EQ(std::get<HetStepCreatedReply>(*run(command)).parts, ids) << "asked again";
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(job_) + ".0", 0, protocol::kSignalCancel}));
  EXPECT_EQ(effects<TerminateStep>().size(), 2u);
}

// The bug: 40,000 parts of one job were all looked at for each of them, and the engine stood still
// for seconds.
TEST_F(StepTest, TooManyPartsAreRefusedBeforeTheyAreLookedAt) {
  CreateHetStep command{kAnn, {}};
  command.parts.assign(129, {job_, tasks(1)});
  const auto reply = run(command);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kBadRequest);
  EXPECT_EQ(reply.error().text, "A step has at most 128 parts");
  command.parts.resize(113);
  EXPECT_EQ(error_of(command), ErrorCode::kInvalidStepId) << "of one job there are fewer";
}

TEST_F(StepTest, PartsOfAStepNeedNodesOfTheirOwn) {
  CreateHetStep command{kAnn, {{job_, tasks(2, 2)}, {job_, tasks(2, 2)}}};
  const auto failed = run(command);
  ASSERT_FALSE(failed);
  EXPECT_EQ(
      failed.error().text,
      "Allocation failure of 2 nodes: job size of 3, already allocated 2 nodes to previous components.");
  EXPECT_EQ(job(job_).steps.size(), 0u);
  command.parts[1].step = tasks(1, 1);
  command.parts[1].step.node_list = "n2";
  EXPECT_EQ(run(command).error().text,
            "Requested nodelist n2 overlaps with excluded n2.\nJob not submitted.");
  command.parts[1].step.node_list = "n3";
  EXPECT_TRUE(run(command));
}

TEST_F(StepTest, ACancelledStepIsKilledAtOnceUnlessTermIsAskedFor) {
  for (const uint32_t signal : {0u, 9u, 15u}) {
    const auto step = create(tasks(1));
    ASSERT_TRUE(step);
    const std::string name = std::to_string(job_) + "." + std::to_string(step->step);
    ASSERT_TRUE(run(SignalJob{kAnn, name, signal, protocol::kSignalCancel}));
    ASSERT_EQ(effects<TerminateStep>().size(), 1u);
    EXPECT_EQ(effects<TerminateStep>()[0].at_once, signal != 15) << signal;
  }
}

// The bug: sacct said "CANCELLED by UID" of a step that its own srun had ended (-K), as of one that
// a user cancels.
TEST_F(StepTest, AnSrunThatEndsItsStepIsNobodyWhoCancels) {
  const std::string of = std::to_string(job_) + ".";
  for (const auto& [signal, by] : {std::pair(15U, UINT32_MAX), std::pair(9U, kAnn.uid)}) {
    const auto step = create(tasks(1));
    ASSERT_TRUE(step);
    ASSERT_TRUE(
        run(SignalJob{kAnn, of + std::to_string(step->step), signal, protocol::kSignalCancel}));
    const Step* ended = find_step(job(job_), step->step);
    ASSERT_NE(ended, nullptr);
    EXPECT_EQ(ended->state, StepState::kCancelled);
    EXPECT_EQ(ended->cancelled_by, by);
  }
}

// The bug: an srun in a batch script got TERM when its job was cancelled, and had its tasks killed
// before KillWait.
TEST_F(StepTest, NobodyEndsAStepWhileItsJobGivesItTime) {
  const auto step = create(tasks(1));
  ASSERT_TRUE(step);
  const std::string name = std::to_string(job_) + ".0";
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(job_), 0, protocol::kSignalCancel}));
  ASSERT_TRUE(is_completing(job(job_)));
  for (const uint32_t signal : {0, 9, 15}) {
    EXPECT_EQ(error_of(SignalJob{kAnn, name, signal, protocol::kSignalCancel}),
              ErrorCode::kInvalidJobId)
        << signal;
  }
  ASSERT_TRUE(run(SignalJob{kAnn, name, 9, 0})) << "who sends a signal means it";
  EXPECT_EQ(effects<SignalSteps>().size(), 1u);
}

// The bug: the step's user was told that it had been cancelled, not why.
TEST_F(StepTest, WhoIsOverTheLimitIsToldSo) {
  StepSpec spec = tasks(1);
  const auto cancelled = create(spec);
  ASSERT_TRUE(cancelled);
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(job_) + "." + std::to_string(cancelled->step), 0,
                            protocol::kSignalCancel}));
  ASSERT_EQ(effects<TerminateStep>().size(), 1u);
  EXPECT_EQ(make_terminate_step(state_, effects<TerminateStep>()[0]).message, "");
  EXPECT_TRUE(make_terminate_step(state_, effects<TerminateStep>()[0]).at_once);
  spec.time_limit = 1;
  const auto late = create(spec);
  ASSERT_TRUE(late);
  now_ += std::chrono::minutes(1);
  ASSERT_TRUE(run(Tick{}));
  ASSERT_EQ(effects<TerminateStep>().size(), 1u);
  EXPECT_EQ(make_terminate_step(state_, effects<TerminateStep>()[0]).message,
            "CANCELLED DUE TO TIME LIMIT");
}

// The bug: the job of an srun that was killed stayed until its client was given up.
TEST_F(StepTest, AnSrunsOwnJobEndsWithIt) {
  const auto inside = create(tasks(3, 3));
  ASSERT_TRUE(inside);
  ASSERT_TRUE(run(srun_ended(*inside, "n2")));
  EXPECT_EQ(job(job_).state, JobState::kRunning) << "it is for more than this step";
  StepSpec spec = tasks(3, 3);
  spec.overlap = OverlapKind::kOverlap;
  spec.own_job = true;
  const auto own = create(spec);
  ASSERT_TRUE(own);
  ASSERT_TRUE(run(srun_ended(*own, "n2")));
  EXPECT_EQ(job(job_).state, JobState::kCancelled);
  EXPECT_EQ(effects<TerminateJob>().size(), 1u) << "its tasks on other nodes are not waited for";
}

// --no-kill: the srun goes on without a node to which its connection broke.
TEST_F(StepTest, AnSrunThatDoesWithoutNodesEndsWithAllOfThem) {
  StepSpec spec = tasks(3, 3);
  spec.own_job = spec.no_kill = true;
  const auto own = create(spec);
  ASSERT_TRUE(own);
  ASSERT_TRUE(run(srun_ended(*own, "n2")));
  EXPECT_EQ(job(job_).state, JobState::kRunning);
  ASSERT_TRUE(run(srun_ended(*own, "n[1,3]")));
  EXPECT_EQ(job(job_).state, JobState::kCancelled);
}

// As a job's. The bug: sruns with texts of some MB each were more than the controller's memory.
TEST_F(StepTest, TextsHaveBounds) {
  const auto error = [&](const std::function<void(StepSpec&)>& change) {
    StepSpec spec = tasks(1);
    spec.overlap = OverlapKind::kOverlap;
    change(spec);
    return refused(spec);
  };
  const std::string bound(1024, 'x'), longer(1025, 'x'), path(4097, 'x'),
      word((128U << 10) + 1, 'x');
  EXPECT_EQ(error([&](StepSpec& spec) { spec.name = spec.network = bound; }), ErrorCode::kOk);
  EXPECT_EQ(error([&](StepSpec& spec) { spec.std_out = longer; }), ErrorCode::kOk);
  EXPECT_EQ(error([&](StepSpec& spec) { spec.submit_line = spec.multi_prog = word; }),
            ErrorCode::kOk);
  EXPECT_EQ(error([&](StepSpec& spec) { spec.name = longer; }), ErrorCode::kError);
  EXPECT_EQ(error([&](StepSpec& spec) { spec.work_dir = path; }), ErrorCode::kError);
  EXPECT_EQ(error([&](StepSpec& spec) { spec.std_err = path; }), ErrorCode::kError);
  EXPECT_EQ(error([&](StepSpec& spec) { spec.task_prolog = word; }), ErrorCode::kError);
  EXPECT_EQ(error([&](StepSpec& spec) { spec.multi_prog = std::string((4U << 20) + 1, 'x'); }),
            ErrorCode::kError);
  EXPECT_EQ(error([&](StepSpec& spec) { spec.arguments.assign(20, word); }), ErrorCode::kError);
  EXPECT_EQ(error([&](StepSpec& spec) { spec.io.host = longer; }), ErrorCode::kError);
}

// What the agents report travels in the events; those of a node that said nothing say nothing.
TEST_F(StepTest, EndsSayWhatTheStepUsed) {
  const auto step = create(tasks(3, 3));
  ASSERT_TRUE(step);
  const auto report = [&](const std::string& nodes, protocol::StepUsage usage) {
    protocol::StepEnded ended;
    ended.key = {*step, 0};
    ended.nodes = nodes;
    ended.usage = usage;
    return ended;
  };
  const protocol::StepUsage small{Duration(1), Duration(2), 3, 4, 5, 6},
      large{Duration(10), Duration(20), 30, 40, 50, 60};
  const auto decision =
      decide(state_, EndSteps{{report("n1", small), report("n2", {}), report("n3", large)}}, now_);
  ASSERT_TRUE(decision);
  const auto frame = wire::decode<EventFrame>(wire::encode(EventFrame{decision->events}));
  ASSERT_TRUE(frame);
  ASSERT_EQ(frame->events.size(), 3u);
  EXPECT_EQ(std::get<StepNodesEnded>(frame->events[0]).usage, small);
  EXPECT_EQ(std::get<StepNodesEnded>(frame->events[1]).usage, std::nullopt);
  EXPECT_EQ(std::get<StepEnded>(frame->events[2]).usage, large);
}

// However long it runs: a storm of steps is no storm of events in between.
TEST_F(StepTest, NothingButItsBeginningAndItsEndIsAnEvent) {
  names_.clear();
  const auto step = create(tasks(3, 3));
  ASSERT_TRUE(step);
  for (int second = 0; second < 30; ++second) {
    now_ += std::chrono::seconds(1);
    ASSERT_TRUE(run(Tick{}));
  }
  ASSERT_TRUE(end_step(job_, step->step, "n[1-3]", 0));
  EXPECT_EQ(names_, (std::vector<std::string>{"StepCreated", "StepEnded"}));
}

TEST_F(StepTest, OneEventEndsAllNodesThatReportTogether) {
  const auto step = create(tasks(3, 3));
  ASSERT_TRUE(step);
  names_.clear();
  ASSERT_TRUE(end_step(job_, step->step, "n[1-3]", 0));
  EXPECT_EQ(names_, std::vector<std::string>{"StepEnded"});
  EXPECT_EQ(find_step(job(job_), step->step), nullptr);
}

TEST_F(StepTest, TasksAreSpreadInBlocks) {
  const auto step = create(tasks(7, 3));
  ASSERT_TRUE(step);
  ASSERT_EQ(layout(*step).nodes.size(), 3u);
  EXPECT_EQ(layout(*step).nodes[0].tasks, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(layout(*step).nodes[1].tasks, (std::vector<uint32_t>{3, 4}));
  EXPECT_EQ(layout(*step).nodes[2].tasks, (std::vector<uint32_t>{5, 6}));
  EXPECT_EQ(layout(*step).node_list, "n[1-3]");
}

// The least of a range was all that it got.
TEST_F(StepTest, OfARangeItTakesTheMostNodesThatHaveRoom) {
  const auto counts = [&](uint32_t count, uint32_t least, uint32_t most) {
    StepSpec spec = tasks(count, least);
    spec.max_nodes = most;
    spec.exact = true;
    std::vector<size_t> out;
    const auto step = create(spec);
    EXPECT_TRUE(step);
    if (!step) return out;
    for (const StepNode& part : layout(*step).nodes) out.push_back(part.tasks.size());
    EXPECT_TRUE(run(srun_ended(*step, layout(*step).node_list)));
    return out;
  };
  EXPECT_EQ(counts(2, 1, 2), (std::vector<size_t>{1, 1}));
  EXPECT_EQ(counts(3, 1, 2), (std::vector<size_t>{2, 1}));
  EXPECT_EQ(counts(2, 1, 3), (std::vector<size_t>{1, 1})) << "no node without a task";
  EXPECT_EQ(counts(4, 2, 9), (std::vector<size_t>{2, 1, 1}));
  EXPECT_EQ(counts(3, 1, 1), (std::vector<size_t>{3}));
  StepSpec busy = tasks(4, 1);
  busy.exact = true;
  busy.node_list = "n2";
  ASSERT_TRUE(create(busy));
  EXPECT_EQ(counts(4, 1, 3), (std::vector<size_t>{2, 2})) << "n2 has no room";
}

// Pack and NoPack, and what the site packs unless it is told not to; of other orders than blocks
// neither says anything.
TEST_F(StepTest, BlocksMayFillANodeBeforeTheNext) {
  const auto counts = [&](std::string_view distribution) {
    StepSpec spec = tasks(7, 3);
    spec.overlap = OverlapKind::kOverlap;
    spec.distribution = std::string(distribution);
    const auto step = create(spec);
    EXPECT_TRUE(step) << distribution;
    std::vector<size_t> out;
    for (const StepNode& part : layout(*step).nodes) out.push_back(part.tasks.size());
    return out;
  };
  const std::vector<size_t> spread = {3, 2, 2}, packed = {4, 2, 1};
  EXPECT_EQ(counts("block"), spread);
  EXPECT_EQ(counts("block,NoPack"), spread);
  EXPECT_EQ(counts("block:cyclic,Pack"), packed);
  EXPECT_EQ(counts("cyclic,Pack"), spread);
  configure([](ClusterConfig& config) {
    config.select_type_parameters = {"CR_CORE_MEMORY", "CR_PACK_NODES"};
  });
  EXPECT_EQ(counts(""), packed);
  EXPECT_EQ(counts("block,NoPack"), spread);
  EXPECT_EQ(counts("cyclic"), spread);
}

// A request for thousands of millions would end the controller.
TEST_F(StepTest, TasksOfANodeAreLimited) {
  StepSpec spec = tasks(UINT32_MAX);
  spec.overcommit = true;
  EXPECT_EQ(refused(spec), ErrorCode::kInvalidTaskCount);
  spec.num_tasks = 0;
  spec.ntasks_per_node = UINT32_MAX;
  EXPECT_EQ(refused(spec), ErrorCode::kInvalidTaskCount);
  spec.ntasks_per_node = 0;
  spec.num_tasks = 3 * state_.config->max_tasks_per_node;
  EXPECT_EQ(refused(spec), ErrorCode::kOk);
}

TEST_F(StepTest, CyclicPlaneAndArbitrary) {
  StepSpec spec = tasks(5, 2);
  spec.overlap = OverlapKind::kOverlap;
  spec.distribution = "cyclic:block";
  EXPECT_EQ(layout(*create(spec)).nodes[0].tasks, (std::vector<uint32_t>{0, 2, 4}));
  spec.distribution = "plane=2";
  EXPECT_EQ(layout(*create(spec)).nodes[0].tasks, (std::vector<uint32_t>{0, 1, 4}));
  spec.distribution = "arbitrary";
  spec.node_list = "n2,n1,n2";
  const auto step = create(spec);
  ASSERT_TRUE(step);
  EXPECT_EQ(layout(*step).node_list, "n[1-2]") << "in the order of the job's nodes";
  EXPECT_EQ(layout(*step).nodes[0].name, "n1");
  EXPECT_EQ(layout(*step).nodes[0].tasks, (std::vector<uint32_t>{1}));
  EXPECT_EQ(layout(*step).nodes[1].tasks, (std::vector<uint32_t>{0, 2}));
}

TEST_F(StepTest, ExactStepsShareAJobAndOthersWait) {
  StepSpec spec = tasks(2, 1);
  spec.exact = true;
  const auto first = create(spec);
  ASSERT_TRUE(first);
  const auto second = create(spec);
  ASSERT_TRUE(second);
  EXPECT_EQ(layout(*first).nodes[0].cores, "0-1");
  EXPECT_EQ(layout(*second).nodes[0].cores, "2-3");
  EXPECT_EQ(layout(*second).nodes[0].name, "n1");
  EXPECT_EQ(refused(tasks(12)), ErrorCode::kStepsBusy);
  EXPECT_EQ(refused(tasks(99)), ErrorCode::kTooManyCpus);
  spec.overlap = OverlapKind::kOverlap;
  EXPECT_EQ(refused(spec), ErrorCode::kOk);
  ASSERT_TRUE(end_step(job_, first->step, "n1", 0));
  ASSERT_TRUE(end_step(job_, second->step, "n1", 0));
  EXPECT_EQ(refused(tasks(12)), ErrorCode::kOk);
}

TEST_F(StepTest, NodesAreChosenAsAsked) {
  StepSpec spec = tasks(1);
  spec.relative = 1;
  EXPECT_EQ(layout(*create(spec)).node_list, "n2");
  spec = tasks(1);
  spec.node_list = "n3";
  EXPECT_EQ(layout(*create(spec)).node_list, "n3");
  spec.node_list = "n4";
  EXPECT_EQ(refused(spec), ErrorCode::kNodesNotAvailable);
  StepSpec many = tasks(9, 1);
  EXPECT_EQ(refused(many), ErrorCode::kTooManyCpus);
  many.node_list = "n1";
  EXPECT_EQ(refused(many), ErrorCode::kNodesNotAvailable) << "no other node may be added";
  spec.node_list = {};
  EXPECT_EQ(layout(*create(spec)).node_list, "n1") << "the one that is free";
  EXPECT_EQ(refused(spec), ErrorCode::kStepsBusy);
}

TEST_F(StepTest, AStepEndsNodeByNode) {
  const auto step = create(tasks(3, 3));
  ASSERT_TRUE(step);
  ASSERT_TRUE(end_step(job_, step->step, "n[1,3]", 2 << 8));
  ASSERT_NE(find_step(job(job_), step->step), nullptr);
  EXPECT_EQ(effects<StepRoomFreed>().size(), 1U) << "others may use those nodes now";
  ASSERT_TRUE(end_step(job_, step->step, "n3", 0));
  ASSERT_TRUE(end_step(job_, step->step, "n2", 0));
  EXPECT_EQ(find_step(job(job_), step->step), nullptr);
  EXPECT_EQ(job(job_).derived_exit_status, 2 << 8);
  EXPECT_EQ(job(job_).state, JobState::kRunning);
}

// The bug: 128 and the signal were held against exit codes; in Slurm the status is taken as it is.
TEST_F(StepTest, ExitCodesOfNodesAndStepsCountMoreThanSignals) {
  const auto step = create(tasks(3, 3));
  ASSERT_TRUE(step);
  ASSERT_TRUE(end_step(job_, step->step, "n1", 5 << 8));
  ASSERT_TRUE(end_step(job_, step->step, "n[2-3]", 9));
  EXPECT_EQ(job(job_).derived_exit_status, 5 << 8);
  for (const int32_t status : {15, 3 << 8, 7 << 8, 11}) {
    const auto next = create(tasks(1));
    ASSERT_TRUE(next);
    ASSERT_TRUE(end_step(job_, next->step, layout(*next).node_list, status));
    EXPECT_EQ(job(job_).derived_exit_status, status == 7 << 8 || status == 11 ? 7 << 8 : 5 << 8)
        << status;
  }
}

TEST_F(StepTest, StepsAreCancelledAlone) {
  const auto step = create(tasks(3, 3));
  const std::string name = std::to_string(job_) + ".0";
  EXPECT_EQ(error_of(SignalJob{kBob, name, 0, protocol::kSignalCancel}), ErrorCode::kAccessDenied);
  ASSERT_TRUE(run(SignalJob{kAnn, name, 0, protocol::kSignalCancel}));
  ASSERT_EQ(effects<TerminateStep>().size(), 1u);
  EXPECT_EQ(effects<TerminateStep>()[0].nodes.count(), 3u);
  ASSERT_TRUE(run(SignalJob{kAnn, name, 10, 0}));
  EXPECT_EQ(effects<SignalSteps>().size(), 1u);
  EXPECT_EQ(error_of(SignalJob{kAnn, std::to_string(job_) + ".7", 0, protocol::kSignalCancel}),
            ErrorCode::kInvalidStepId);
  EXPECT_EQ(error_of(SignalJob{kAnn, std::to_string(job_ + 7) + ".0", 0, protocol::kSignalCancel}),
            ErrorCode::kInvalidJobId);
  const JobId waiting = submit(batch_spec());
  EXPECT_EQ(error_of(SignalJob{kAnn, std::to_string(waiting) + ".0", 0, protocol::kSignalCancel}),
            ErrorCode::kJobPending);
  ASSERT_TRUE(step);
}

TEST_F(StepTest, ARepeatedRequestIsTheSameStep) {
  StepSpec spec = tasks(1);
  spec.request_id = 5;
  const auto step = create(spec);
  ASSERT_TRUE(step);
  EXPECT_EQ(*create(spec), *step);
}

// The answer was lost, and the step was over before its srun asked again: it has run.
TEST_F(StepTest, ARepeatedRequestOfAStepThatIsOverMakesNoOther) {
  StepSpec spec = tasks(1);
  spec.request_id = 5;
  const auto step = create(spec);
  ASSERT_TRUE(step);
  ASSERT_TRUE(end_step(job_, step->step, layout(*step).node_list, 0));
  EXPECT_EQ(refused(spec), ErrorCode::kInvalidStepId);
  EXPECT_TRUE(job(job_).steps.empty());
  spec.request_id = 6;
  EXPECT_TRUE(create(spec)) << "another srun asks";
  const auto image = wire::decode<StateImage>(wire::encode(make_image(state_)));
  ASSERT_TRUE(image);
  state_ = from_image(*image);
  spec.request_id = 5;
  EXPECT_EQ(refused(spec), ErrorCode::kInvalidStepId)
      << "the controller was started again meanwhile";
  ASSERT_TRUE(run(EndAllocation{kAnn, job_, 0}));
  EXPECT_TRUE(job(job_).ended_requests.empty()) << "nobody asks any more";
}

// A job that has all of a node of 2 sockets with 2 cores of 2 threads, of which it uses `threads`.
// CpuBind of nodes and partitions.
class UsualBindingTest : public StepTest {
 protected:
  UsualBindingTest() {
    configure([](ClusterConfig& config) {
      config.task_plugin = {"task/affinity"};
      config.partitions[0].cpu_bind = "threads";
    });
  }
  void use_params(std::vector<std::string> params, const std::string& of_partition) {
    configure([&](ClusterConfig& config) {
      config.task_plugin_param = std::move(params);
      config.partitions[0].cpu_bind = of_partition;
    });
  }
  void bind(const std::string& nodes, const std::string& word) {
    UpdateNode command{kRoot, {}};
    command.update.nodes = nodes;
    command.update.cpu_bind = word;
    ASSERT_TRUE(run(command)) << word;
  }
  std::string chosen(const std::string& asked) {
    StepSpec spec = tasks(1);
    spec.overlap = OverlapKind::kOverlap;
    spec.cpu_bind = asked;
    const auto step = create(spec);
    return step ? find_step(job(job_), step->step)->spec->cpu_bind.str() : "refused";
  }
};

TEST_F(UsualBindingTest, OfTheNodesOrElseOfThePartition) {
  EXPECT_EQ(chosen(""), "threads");
  bind("n[1-2]", "core");
  EXPECT_EQ(chosen(""), "threads") << "n3 says nothing";
  bind("n3", "cores");
  EXPECT_EQ(chosen(""), "cores");
  EXPECT_EQ(chosen("verbose"), "verbose,cores");
  EXPECT_EQ(chosen("none"), "none");
  EXPECT_EQ(chosen("v,map_cpu:0"), "v,map_cpu:0");
  bind("n[1-3]", "off");
  EXPECT_EQ(chosen("q"), "q,threads");
  UpdateNode wrong{kRoot, {}};
  wrong.update.nodes = "n1";
  wrong.update.cpu_bind = "rank";
  EXPECT_EQ(error_of(wrong), ErrorCode::kInvalidUpdate);
}

TEST_F(UsualBindingTest, OfTaskPluginParamAtLast) {
  use_params({"Cores"}, "threads");
  EXPECT_EQ(chosen(""), "threads") << "the partition's comes first";
  use_params({"Cores", "Sockets"}, "");
  EXPECT_EQ(chosen(""), "sockets");
  EXPECT_EQ(chosen("v"), "v,sockets");
  EXPECT_EQ(chosen("rank"), "rank");
  use_params({"None"}, "");
  EXPECT_EQ(chosen(""), "none");
  use_params({"Verbose"}, "");
  EXPECT_EQ(chosen(""), "verbose");
  EXPECT_EQ(chosen("q"), "q");
  EXPECT_EQ(chosen("map_cpu:0"), "verbose,map_cpu:0");
  use_params({}, "");
  EXPECT_EQ(chosen(""), "");
}

}  // namespace
}  // namespace sluice::state
