// Commands that are about many jobs, in a cluster of 5,000 nodes: what was found out for one of
// them serves the others, and what is different of each is not looked at for ever.
#include <functional>

#include <fmt/format.h>

#include "common/model/job_update.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "support/core_fixture.hpp"
#include "support/cpu_time.hpp"

namespace sluice::state {
namespace {

using std::chrono::microseconds;

class HostileCommandsTest : public CoreTest {
 protected:
  static constexpr int kNodes = 5000;

  HostileCommandsTest() {
    configure([](ClusterConfig& config) {
      config.max_array_size = 10'001;
      config.max_job_count = 100'000;
      config.scron_parameters = {"enable"};
      for (int i = 5; i <= kNodes; ++i) {
        NodeConfig node = config.nodes.front();
        node.name = node.hostname = "n" + std::to_string(i);
        config.nodes.push_back(node);
        config.partitions.front().nodes.push_back(node.name);
      }
      for (int i = 0; i < 20; ++i)
        config.licenses += (i == 0 ? "lic" : ",lic") + std::to_string(i) + ":2000";
    });
  }

  Result<Decision> expect_quick(const Command& command, size_t jobs, const std::string& what) {
    const microseconds before = cpu_time();
    auto decision = decide(state_, command, now_);
    const microseconds took = cpu_time() - before;
    RecordProperty(what, fmt::format("{} us", took.count()));
    EXPECT_LE(took, kSlack * microseconds(10'000 + 20 * jobs)) << what;
    return decision;
  }
  void take(const Result<Decision>& decision) {
    ASSERT_TRUE(decision);
    for (const Event& event : decision->events) sluice::state::apply(state_, event);
  }
  JobId quick_submit(JobSpec spec, std::vector<JobSpec> components = {}) {
    spec.uid = kAnn.uid;
    const auto decision =
        decide(state_, SubmitJob{kAnn, std::move(spec), {"users"}, std::move(components)}, now_);
    take(decision);
    return decision ? std::get<JobSubmittedReply>(decision->reply).job : kNoJob;
  }
  void register_nodes() {  // the first four have been
    RegisterNode command;
    command.node.cluster_id = state_.cluster_id;
    command.node.hardware.boot_id = "boot";
    for (int i = 5; i <= kNodes; ++i) {
      command.node.name = "n" + std::to_string(i);
      take(decide(state_, command, now_));
    }
  }
  static JobSpec wide(uint32_t nodes) {
    JobSpec spec = batch_spec();
    spec.min_nodes = spec.max_nodes = spec.num_tasks = nodes;
    return spec;
  }
  // Lines of which each asks for so many nodes.
  ReplaceCrontab crontab(const std::function<uint32_t(uint32_t)>& nodes) const {
    ReplaceCrontab made{kAnn, "x", {}, {"users"}};
    for (uint32_t line = 1; line <= 1000; ++line) {
      JobSpec spec = wide(nodes(line));
      spec.uid = kAnn.uid;
      spec.name = "line " + std::to_string(line);
      spec.cron = "0 0 1 1 *";
      spec.cron_line = line;
      made.jobs.push_back(std::move(spec));
    }
    return made;
  }
};

// The bug: each task was placed on all nodes, which took 33 s.
TEST_F(HostileCommandsTest, TasksOfOneArrayAskForTheSame) {
  JobSpec spec = wide(4000);
  spec.array = "0-9999";
  const std::string array = std::to_string(quick_submit(spec));
  UpdateJob update{kAnn, array + "_[0-4999]", {}};
  update.update.min_cpus_per_node = 2;
  const auto decision = expect_quick(update, 5000, "tasks");
  ASSERT_TRUE(decision);
  EXPECT_EQ(std::get<protocol::CountReply>(decision->reply).count, 5000U);
  take(decision);
  update.update.min_cpus_per_node = 3;
  take(expect_quick(update, 5000, "tasks_with_records"));
  take(decide(state_, ChangeJob{kAnn, array + "_[0-4999]", protocol::JobAction::kHold}, now_));
  update.update.min_cpus_per_node = 4;
  take(expect_quick(update, 5000, "held_tasks"));
  update.update.min_cpus_per_node = 99;
  const auto refused = expect_quick(update, 5000, "tasks_that_fit_no_node");
  ASSERT_TRUE(refused);
  EXPECT_EQ(std::get<protocol::CountReply>(refused->reply).count, 0U);
}

TEST_F(HostileCommandsTest, TasksThatAreAllDifferentAreTooMuchAtOnce) {
  JobSpec spec = wide(4000);
  spec.array = "0-199";
  const std::string array = std::to_string(quick_submit(spec));
  take(decide(state_, ChangeJob{kAnn, array + "_[0-198]", protocol::JobAction::kHold}, now_));
  UpdateJob update{kAnn, {}, {}};
  for (uint32_t task = 0; task < 199; ++task) {
    update.target = array + "_" + std::to_string(task);
    update.update.num_tasks = 4001 + task;
    take(decide(state_, update, now_));
  }
  update = {kAnn, array + "_[0-198]", {}};
  update.update.min_cpus_per_node = 2;
  const auto decision = expect_quick(update, 199, "different_tasks");
  ASSERT_TRUE(decision);
  const auto& reply = std::get<protocol::CountReply>(decision->reply);
  EXPECT_GT(reply.count, 5U);
  ASSERT_EQ(reply.errors.size(), 2U);
  EXPECT_NE(reply.errors.back().find("this asks for too many different sizes at once: name fewer"),
            std::string::npos)
      << reply.errors.back();
}

// The bug: each line was placed on all nodes, which took 6.6 s.
TEST_F(HostileCommandsTest, LinesOfACrontabOfOneSize) {
  const auto decision = expect_quick(crontab([](uint32_t) { return 4990; }), 1000, "lines");
  ASSERT_TRUE(decision);
  EXPECT_EQ(std::get<CrontabReply>(decision->reply).jobs.size(), 1000U);
}

TEST_F(HostileCommandsTest, LinesOfACrontabOfManySizes) {
  auto decision = expect_quick(crontab([](uint32_t line) { return 3990 + line; }), 1000, "sizes");
  ASSERT_TRUE(decision);
  auto reply = std::get<CrontabReply>(decision->reply);
  EXPECT_EQ(reply.error.text, "this asks for too many different sizes at once: name fewer");
  EXPECT_GT(reply.failed_line, 5U);
  EXPECT_TRUE(decision->events.empty());
  decision = expect_quick(crontab([](uint32_t line) { return 1 + line % 100; }), 1000, "small");
  ASSERT_TRUE(decision);
  reply = std::get<CrontabReply>(decision->reply);
  EXPECT_EQ(reply.jobs.size(), 1000U) << reply.error.text;
}

// The bug: times were read before anything asked how long they are: 48 MB, as much as a request may
// have, took 0.9 s.
TEST_F(HostileCommandsTest, LongTimesOfACrontab) {
  const auto numbers = [](int first, int last) {
    std::string out = std::to_string(first);
    for (int i = first + 1; i <= last; ++i) out += "," + std::to_string(i);
    return out;
  };
  ReplaceCrontab one = crontab([](uint32_t) { return 1; });
  one.jobs.resize(1);
  std::string months = "jan";
  for (int i = 0; i < 4'000'000; ++i) months += ",jan";
  one.jobs.front().cron = "0 0 1 " + months + " *";
  const auto refused = expect_quick(one, 1, "long_times");
  ASSERT_TRUE(refused);
  EXPECT_EQ(std::get<CrontabReply>(refused->reply).error.text, kTooLong);
  one.jobs.front().cron = numbers(0, 59) + " " + numbers(0, 23) + " " + numbers(1, 31) +
                          " jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec "
                          "sun,mon,tue,wed,thu,fri,sat";
  const auto taken = expect_quick(one, 1, "all_times");
  ASSERT_TRUE(taken);
  EXPECT_EQ(std::get<CrontabReply>(taken->reply).jobs.size(), 1U);
}

TEST_F(HostileCommandsTest, ComponentsOfManySizes) {
  SubmitJob submit{kAnn, wide(3000), {"users"}};
  submit.job.uid = kAnn.uid;
  for (uint32_t part = 1; part < 128; ++part) submit.components.push_back(wide(3000 + part));
  const auto decision = expect_quick(submit, 128, "components");
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, ErrorCode::kBadRequest);
}

// The bug: for each component all running jobs were looked at, which took 6.2 s.
TEST_F(HostileCommandsTest, ComponentsThatGiveTheirLicensesUp) {
  constexpr int kOthers = 1000;
  register_nodes();
  JobSpec spec = batch_spec();
  for (int i = 0; i < 20; ++i)
    spec.licenses = spec.licenses.str() + (i == 0 ? "lic" : ",lic") + std::to_string(i);
  protocol::ReservationValues values;
  values.add_flags = kReservationAnyNodes;
  values.users = protocol::NameList{"ann"};
  values.licenses = "lic0:1";
  values.duration = std::chrono::minutes(1);
  for (int i = 0; i < 10; ++i) {
    values.start = now_ + std::chrono::hours(i + 1);
    const protocol::ChangeReservationRequest request{protocol::ReservationAction::kCreate,
                                                     "r" + std::to_string(i), values};
    take(decide(state_, ChangeReservation{kRoot, request, {{"ann", {kAnn.uid}}}}, now_));
  }
  StartJobs start;
  const auto place = [&](JobId id) {
    const std::string node = "n" + std::to_string(start.starts.size() + 1);
    start.starts.push_back({id, kNoTask, "debug", free_cores(node, 1)});
  };
  for (int i = 0; i < kOthers; ++i) place(quick_submit(spec));
  const JobId leader = quick_submit(spec, std::vector<JobSpec>(127, spec));
  for (uint32_t part = 0; part < 128; ++part) place(leader + part);
  take(decide(state_, start, now_));
  ASSERT_EQ(state_.jobs.at(leader + 127).state, JobState::kRunning);
  UpdateJob update{kAnn, std::to_string(leader), {}};
  update.update.licenses = "";
  const auto decision = expect_quick(update, 128, "licenses");
  ASSERT_TRUE(decision);
  EXPECT_EQ(std::get<protocol::CountReply>(decision->reply).count, 128U);
  update.who = kRoot;
  update.update.licenses = "lic0:2";
  take(decide(state_, update, now_));
  EXPECT_EQ(state_.jobs.at(leader + 127).spec->licenses, "lic0:2");
}

// The bug: each name was looked for among all that came before.
TEST_F(HostileCommandsTest, TasksOfAStepByName) {
  register_nodes();
  JobSpec spec = batch_spec();
  spec.batch = false;
  const JobId id = quick_submit(spec);
  take(decide(state_, StartJobs{{{id, kNoTask, "debug", free_cores("n[1-5000]", 1)}}}, now_));
  CreateStep create{kAnn, id, {}};
  create.step.distribution = "arbitrary";
  std::string list = "n[1-5000]";
  for (int i = 1; i < 7; ++i) list += ",n[1-5000]";
  create.step.node_list = list;
  create.step.overcommit = true;
  create.step.num_tasks = 35'000;
  const auto decision = expect_quick(create, 0, "step");
  ASSERT_TRUE(decision) << decision.error().text << static_cast<int>(decision.error().code);
}

}  // namespace
}  // namespace sluice::state
