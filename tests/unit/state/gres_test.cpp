// Generic resources of jobs and steps: held, given back, dealt to steps, missing at registration.
#include "support/core_fixture.hpp"

#include "ctld/fit/place.hpp"
#include "ctld/state/rules/step/step_layout.hpp"

namespace sluice::state {
namespace {

class GresTest : public CoreTest {
 protected:
  GresTest() {
    auto config = std::make_shared<ClusterConfig>(*config_);
    config->gres_types = {"gpu", "fan"};
    for (NodeConfig& node : config->nodes) node.gres = "gpu:a:4,fan:3";
    config_ = config;
    EXPECT_TRUE(run(ReplaceConfig{config_}));
    for (const NodeConfig& node : config_->nodes) report(node.name, 4);
  }
  void report(const std::string& name, size_t gpus) {
    RegisterNode command;
    command.node.name = name;
    command.node.cluster_id = state_.cluster_id;
    command.node.hardware.boot_id = "boot";
    GresDevices found{.name = "gpu", .type = "a", .count = gpus};
    for (size_t i = 0; i < gpus; ++i) found.files.push_back("/dev/g" + std::to_string(i));
    command.node.hardware.devices = {found, {.name = "fan", .count = 3}};
    ASSERT_TRUE(run(command));
  }
  // Starts it where it fits; kNoJob: it does not.
  JobId start(const std::string& gres, std::string_view nodes = "n1", bool batch = true) {
    JobSpec spec = batch_spec();
    spec.batch = batch;
    spec.gres = gres;
    const JobId id = submit(spec);
    const auto needs =
        fit::needs_of(*job(id).spec, *find_partition(state_, "debug")->config, *config_);
    auto allocation = std::make_shared<Allocation>(*free_cores(std::string(nodes), 2));
    for (NodeAllocation& part : allocation->nodes) {
      const fit::Room room = fit::room_now(state_.nodes.at(part.node), fit::Unit::kCore);
      part.gres = fit::choose_gres(*needs, room, fit::gres_counts(*needs, 1, {}));
    }
    last_ = allocation;
    const auto reply = run(StartJobs{{{id, kNoTask, "debug", allocation}}});
    return reply && std::get<StartedReply>(*reply).started == 1 ? id : kNoJob;
  }
  std::string used(const std::string& name) {
    const Node& node = *find_node(state_, name);
    return node.used_gres == nullptr ? std::string() : gres_text(*node.used_gres, true);
  }
  std::string step_gres_text(JobId id, const StepSpec& spec) {
    const auto reply = run(CreateStep{kAnn, id, spec});
    if (!reply) return "error " + reply.error().text;
    std::string out;
    for (const StepNode& node :
         find_step(job(id), std::get<StepCreatedReply>(*reply).id.step)->layout->nodes) {
      out += (out.empty() ? "" : " ") + gres_text(node.gres, true);
    }
    return out;
  }
  static StepSpec step(std::string_view gres, bool exact = true) {
    StepSpec spec;
    spec.num_tasks = 1;
    spec.exact = exact;
    spec.gres = gres;
    return spec;
  }

  std::shared_ptr<const Allocation> last_;
};

TEST_F(GresTest, HeldWhileTheJobRuns) {
  const JobId first = start("gres/gpu:2,gres/fan:1");
  ASSERT_NE(first, kNoJob);
  EXPECT_EQ(used("n1"), "gpu:a:2(IDX:0-1),fan(CNT:1)");
  const JobId second = start("gres/gpu:1");
  ASSERT_NE(second, kNoJob);
  EXPECT_EQ(used("n1"), "gpu:a:3(IDX:0-2),fan(CNT:1)");
  ASSERT_TRUE(end_step(first, kBatchStep, "n1", 0, true));
  EXPECT_EQ(used("n1"), "gpu:a:1(IDX:2)");
  ASSERT_TRUE(end_step(second, kBatchStep, "n1", 0, true));
  EXPECT_EQ(find_node(state_, "n1")->used_gres, nullptr);
}

TEST_F(GresTest, TheSameUnitsStartNoSecondJob) {
  ASSERT_NE(start("gres/gpu:3"), kNoJob);
  const auto held = last_;
  JobSpec spec = batch_spec();
  spec.gres = "gres/gpu:1";
  const JobId other = submit(spec);
  auto stolen = std::make_shared<Allocation>(*free_cores("n1", 2));
  stolen->nodes[0].gres = held->nodes[0].gres;
  const auto reply = run(StartJobs{{{other, kNoTask, "debug", stolen}}});
  ASSERT_TRUE(reply);
  EXPECT_EQ(std::get<StartedReply>(*reply).started, 0u);
}

TEST_F(GresTest, SubmissionsThatNeverFitAreRefused) {
  const auto code = [&](std::string_view gres) {
    JobSpec spec = batch_spec();
    spec.uid = kAnn.uid;
    spec.gres = gres;
    return error_of(SubmitJob{kAnn, spec, {"users"}});
  };
  EXPECT_EQ(code("gres/gpu:5"), ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(code("gres/gpu:h:1"), ErrorCode::kNodesNotAvailable);
  EXPECT_EQ(code("gres/nope:1"), ErrorCode::kInvalidGres);
  EXPECT_EQ(code("gres/gpu:1,gres/gpu:a:1"), ErrorCode::kGresTypes);
  EXPECT_EQ(code("gres/gpu:4,gres/fan:3"), ErrorCode::kOk);
}

TEST_F(GresTest, TooFewAtRegistrationDrain) {
  report("n2", 3);
  const Node& node = *find_node(state_, "n2");
  EXPECT_NE(node.flags & kNodeInvalidReg, 0u);
  EXPECT_EQ(node.reason, "gres/gpu count reported lower than configured (3 < 4)");
  report("n2", 4);
  EXPECT_EQ(find_node(state_, "n2")->flags & (kNodeInvalidReg | kNodeDrain), 0u);
}

TEST_F(GresTest, ScontrolLeavesOutDevicesOrTakesThemAsTheyAre) {
  const auto change = [&](const std::string& gres) {
    UpdateNode command{kRoot, {}};
    command.update.nodes = "n1";
    command.update.gres = gres;
    const ErrorCode code = error_of(command);
    if (code == ErrorCode::kOk) return find_node(state_, "n1")->config->gres;
    return std::string(code == ErrorCode::kInvalidGres ? "refused" : "another error");
  };
  EXPECT_EQ(change("gpu:a:4,fan:9"), "gpu:a:4,fan:9");
  for (const char* more_or_fewer :
       {"gpu", "gpu:2", "gpu:a:1", "gpu:a:5", "fan:1,gpu:a:3", "gpu:a", "gpu:a:x", "gpu:a:-1"}) {
    EXPECT_EQ(change(more_or_fewer), "refused") << more_or_fewer;
  }
  EXPECT_EQ(change("gpu:4"), "gpu:a:4") << "of the type that they are of";
  EXPECT_EQ(change("gpu:b:4,fan"), "gpu:a:4,fan:1");
  EXPECT_EQ(change("gpu:a:1,gpu:a:3"), "gpu:a:4");
  EXPECT_EQ(change("fan:2,other:1"), "fan:2,other:1");
  EXPECT_EQ(change("gpu:a:4"), "refused") << "it has none now";
  EXPECT_EQ(change(""), "");
  ASSERT_TRUE(run(ReplaceConfig{.config = config_, .ordered = true}));
  EXPECT_EQ(find_node(state_, "n1")->config->gres, "gpu:a:4,fan:3");
}

// As Slurm 22.05 does: only a valid registration puts it right, and until then one sees what is
// wrong.
TEST_F(GresTest, ANodeWithTooFewIsNotResumed) {
  report("n2", 3);
  EXPECT_EQ(error_of(node_update("n2", "undrain")), ErrorCode::kInvalidState);
  EXPECT_EQ(error_of(node_update("n2", "idle")), ErrorCode::kInvalidState);
  EXPECT_EQ(error_of(node_update("n2", "resume")), ErrorCode::kOk);
  const Node& node = *find_node(state_, "n2");
  EXPECT_EQ(node.flags & (kNodeInvalidReg | kNodeDrain), kNodeInvalidReg | kNodeDrain);
  EXPECT_EQ(node.reason, "gres/gpu count reported lower than configured (3 < 4)");
  report("n2", 4);
  EXPECT_TRUE(is_schedulable(*find_node(state_, "n2")));
}

TEST_F(GresTest, StepsTakeParts) {
  const JobId id = start("gres/gpu:4,gres/fan:1", "n1", false);
  ASSERT_NE(id, kNoJob);
  StepSpec all = step("", false);
  all.overlap = OverlapKind::kOverlap;
  EXPECT_EQ(step_gres_text(id, all), "gpu:a:4(IDX:0-3),fan(CNT:1)");
  EXPECT_EQ(step_gres_text(id, step("gres/gpu:3")), "gpu:a:3(IDX:0-2)");
  EXPECT_EQ(error_of(CreateStep{kAnn, id, step("gres/gpu:2")}), ErrorCode::kStepsBusy);
  EXPECT_EQ(error_of(CreateStep{kAnn, id, step("")}), ErrorCode::kStepsBusy);  // all of the job's
  EXPECT_EQ(step_gres_text(id, step("gres/gpu:a:1")), "gpu:a:1(IDX:3)");
}

TEST_F(GresTest, StepsAskForNoMoreThanTheJobHas) {
  const JobId id = start("gres/gpu:2", "n[1-2]", false);
  ASSERT_NE(id, kNoJob);
  EXPECT_EQ(step_gres_text(id, step("gres/gpu:3")),
            "error Step requested gres_per_node=gpu:3 is more than the job's gres_per_node=gpu:2");
  EXPECT_EQ(step_gres_text(id, step("gres/fan:1")),
            "error Step requested GRES (fan) not found in the job");
  EXPECT_EQ(step_gres_text(id, step("none")), "");
  StepSpec dealt = step("");
  dealt.tres_per_step = "gres/gpu:3";
  dealt.num_tasks = dealt.min_nodes = 2;
  EXPECT_EQ(step_gres_text(id, dealt), "gpu:a:2(IDX:0-1) gpu:a:1(IDX:0)");
  dealt.tres_per_step = "gres/gpu:4";
  dealt.num_tasks = dealt.min_nodes = dealt.max_nodes = 1;
  dealt.overlap = OverlapKind::kOverlap;
  EXPECT_EQ(error_of(CreateStep{kAnn, id, dealt}), ErrorCode::kGresInsufficient);
  StepSpec tasks = step("");
  tasks.tres_per_task = "gres/gpu:1";
  tasks.overlap = OverlapKind::kOverlap;
  tasks.num_tasks = 4;
  EXPECT_EQ(step_gres_text(id, tasks), "gpu:a:2(IDX:0-1) gpu:a:2(IDX:0-1)");
}

// As Slurm 22.05 does: how many sockets the job has is not said by a step, so it has all that is
// free.
TEST_F(GresTest, AStepBySocketHasAllThatIsFree) {
  const JobId id = start("gres/gpu:3", "n1", false);
  ASSERT_NE(id, kNoJob);
  StepSpec sockets = step("");
  sockets.tres_per_socket = "gres/gpu:1";
  ASSERT_EQ(step_gres_text(id, step("gres/gpu:1")), "gpu:a:1(IDX:0)");
  EXPECT_EQ(step_gres_text(id, sockets), "gpu:a:2(IDX:1-2)");
  EXPECT_EQ(error_of(CreateStep{kAnn, id, sockets}), ErrorCode::kStepsBusy);
  sockets.overlap = OverlapKind::kOverlap;
  sockets.tres_per_socket = "gres/gpu:a:1";
  EXPECT_EQ(step_gres_text(id, sockets), "gpu:a:3(IDX:0-2)");
  sockets.tres_per_socket = "gres/gpu:4";
  EXPECT_EQ(error_of(CreateStep{kAnn, id, sockets}), ErrorCode::kInvalidGres);
}

}  // namespace
}  // namespace sluice::state
