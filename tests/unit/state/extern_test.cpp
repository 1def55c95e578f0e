// PrologFlags=Contain: the extern step of each job.
#include "support/core_fixture.hpp"

#include <algorithm>

#include "ctld/state/rules/step/extern_step.hpp"
#include "common/model/job_update.hpp"
#include "ctld/state/rules/step/launch_message.hpp"

namespace sluice::state {
namespace {

class ExternTest : public CoreTest {
 protected:
  ExternTest() {
    configure([](ClusterConfig& config) { config.prolog_flags = {"Alloc", "Contain"}; });
    names_.clear();
  }
  JobId started(const std::string& nodes, JobSpec spec = batch_spec(), uint32_t cpus = 2) {
    const JobId id = submit(std::move(spec));
    EXPECT_TRUE(start_job(id, nodes, cpus));
    return id;
  }
  const Step* extern_of(JobId id) { return find_step(job(id), kExternStep); }
  std::vector<StepNumber> launched(const Effects& effects) {
    std::vector<StepNumber> steps;
    for (const Effect& effect : effects) {
      if (const auto* launch = std::get_if<LaunchStep>(&effect))
        steps.push_back(launch->key.id.step);
    }
    return steps;
  }
  size_t count(std::string_view name) {
    return static_cast<size_t>(std::ranges::count(names_, name));
  }
};

using Steps = std::vector<StepNumber>;

TEST_F(ExternTest, ItIsOnEveryNodeFromTheStart) {
  const JobId id = started("n[1-3]");
  EXPECT_EQ(launched(effects_), (Steps{kExternStep, kBatchStep}));
  const Step* step = extern_of(id);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->layout->num_tasks, 3u);
  EXPECT_EQ(step->layout->node_list, "n[1-3]");
  EXPECT_EQ(step->layout->nodes[2].name, "n3");
  EXPECT_EQ(step->layout->nodes[2].cpus, 2u);
  EXPECT_EQ(step->start, job(id).start);
  const auto launch = make_step_launch(state_, {{id, kExternStep}, 0});
  ASSERT_TRUE(launch);
  EXPECT_NE(launch->step, nullptr) << "it is no batch script";
  StepSpec all;
  all.num_tasks = 6;
  EXPECT_TRUE(run(CreateStep{kAnn, id, all})) << "it holds no CPU";
  EXPECT_EQ(launched(effects_), Steps{0});
}

TEST_F(ExternTest, NothingWaitsForIt) {
  const JobId id = started("n1");
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0));
  EXPECT_EQ(job(id).state, JobState::kCompleted);
  EXPECT_EQ(effects<TerminateJob>().size(), 1u);
  ASSERT_TRUE(end_step(id, kExternStep, "n1", 9));
  EXPECT_NE(job(id).flags & kJobCompleting, 0u);
  ASSERT_TRUE(cleaned(id, "n1"));
  EXPECT_TRUE(is_finished(job(id)));
  EXPECT_EQ(job(id).exit_status, 0);
  EXPECT_EQ(job(id).derived_exit_status, 0);
  ASSERT_TRUE(end_step(id, kExternStep, "n1", 9)) << "it may be heard of late";
}

TEST_F(ExternTest, TheJobGoesOnWithoutIt) {
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId id = started("n[1-2]", spec);
  protocol::StepEnded report{
      .key = {{id, kExternStep}, 0}, .nodes = "n1", .failure = "no control groups"};
  ASSERT_TRUE(run(EndSteps{{report}}));
  EXPECT_EQ(extern_of(id)->nodes_left.to_text(), "1");
  report.nodes = "n2";
  ASSERT_TRUE(run(EndSteps{{report}}));
  EXPECT_EQ(extern_of(id), nullptr);
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(job(id).derived_exit_status, 0);
}

TEST_F(ExternTest, ItLeavesNodesWithItsJob) {
  JobSpec spec = batch_spec();
  spec.kill_on_node_fail = false;
  const JobId id = started("n[1-4]", spec);
  ASSERT_TRUE(run(NodesTimedOut{{3}}));
  EXPECT_EQ(extern_of(id)->nodes_left, Bitmap::first(3));
  JobUpdate fewer;
  fewer.min_nodes = fewer.max_nodes = 2;
  ASSERT_TRUE(run(UpdateJob{kAnn, std::to_string(id), fewer}));
  EXPECT_EQ(extern_of(id)->nodes_left, Bitmap::first(2));
  EXPECT_EQ(job(id).state, JobState::kRunning);
}

TEST_F(ExternTest, EachRunHasItsOwn) {
  const JobId id = started("n1");
  ASSERT_TRUE(run(ChangeJob{kRoot, std::to_string(id), protocol::JobAction::kRequeue, false}));
  ASSERT_TRUE(cleaned(id, "n1"));
  EXPECT_EQ(job(id).state, JobState::kPending);
  EXPECT_EQ(extern_of(id), nullptr);
  now_ += std::chrono::hours(1);
  ASSERT_TRUE(start_job(id, "n2"));
  ASSERT_NE(extern_of(id), nullptr);
  EXPECT_EQ(extern_of(id)->layout->node_list, "n2");
}

TEST_F(ExternTest, OrderedAgainWhenItMayBeLost) {
  const JobId id = started("n[1-2]");
  EXPECT_EQ(launched(resume(state_)), (Steps{kExternStep, kBatchStep}));
  register_node("n2");
  EXPECT_EQ(launched(effects_), Steps{kExternStep});
  register_node("n2", {{{id, kExternStep}, 0}});
  EXPECT_EQ(launched(effects_), Steps{});
}

// With the prologs of the nodes: each node holds it until its own has ended.
TEST_F(ExternTest, ItComesAfterTheControllersProlog) {
  configure([](ClusterConfig& config) { config.prolog = config.prolog_slurmctld = {"/prolog"}; });
  const JobId id = started("n[1-2]");
  EXPECT_EQ(launched(effects_), Steps{});
  ASSERT_TRUE(run(PrologDone{id, 0, "", 0}));
  EXPECT_EQ(launched(effects_), Steps{kExternStep});
  EXPECT_EQ(effects<LaunchProlog>().size(), 1u);
  ASSERT_TRUE(run(PrologDone{id, 0, "n1", 0}));
  EXPECT_EQ(launched(effects_), Steps{kBatchStep});
}

// PrologFlags=RunInJob: prologs wait for control groups that only extern steps make.
TEST_F(ExternTest, WhereScriptsHaveAGroup) {
  const Bitmap first_two = Bitmap::first(2);
  const JobId without = started("n[1-2]");
  EXPECT_FALSE(has_group_for_scripts(state_, job(without), first_two));
  configure([](ClusterConfig& config) { config.prolog_flags = {"Alloc", "Contain", "RunInJob"}; });
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId id = started("n[1-3]", spec);
  EXPECT_TRUE(has_group_for_scripts(state_, job(id), Bitmap::first(3)));
  const protocol::StepEnded report{
      .key = {{id, kExternStep}, 0}, .nodes = "n3", .failure = "no control groups"};
  ASSERT_TRUE(run(EndSteps{{report}}));
  EXPECT_FALSE(has_group_for_scripts(state_, job(id), Bitmap::first(3)));
  EXPECT_TRUE(has_group_for_scripts(state_, job(id), first_two));
}

TEST_F(ExternTest, TasksOfAnArrayStartInOneEvent) {
  JobSpec spec = batch_spec();
  spec.array = "1-3";
  const JobId array = submit(spec);
  StartJobs command;
  for (uint32_t task = 1; task <= 3; ++task) {
    command.starts.push_back({array, task, "debug", free_cores("n" + std::to_string(task), 1)});
  }
  ASSERT_TRUE(run(command));
  EXPECT_EQ(count("JobStarted"), 1u);
  EXPECT_EQ(count("StepCreated"), 3u);
  EXPECT_EQ(launched(effects_).size(), 6u);
}

TEST_F(ExternTest, ATimeLimitForAllStepsIsNotItsOwn) {
  const JobId id = started("n1");
  StepSpec step;
  step.num_tasks = 1;
  ASSERT_TRUE(run(CreateStep{kAnn, id, step}));
  ASSERT_TRUE(run(UpdateStep{kAnn, {.id = {id, 0}, .all_steps = true, .time_limit = 1}}));
  now_ += std::chrono::minutes(2);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_NE(find_step(job(id), 0)->end, kNoTime);
  EXPECT_EQ(extern_of(id)->end, kNoTime);
}

TEST_F(ExternTest, ItCanBeCancelledAlone) {
  const JobId id = started("n1");
  ASSERT_TRUE(run(SignalJob{kAnn, std::to_string(id) + ".extern", 0, protocol::kSignalCancel}));
  EXPECT_EQ(effects<TerminateStep>().size(), 1u);
  ASSERT_TRUE(end_step(id, kExternStep, "n1", 15));
  EXPECT_EQ(extern_of(id), nullptr);
  EXPECT_EQ(job(id).state, JobState::kRunning);
}

}  // namespace
}  // namespace sluice::state
