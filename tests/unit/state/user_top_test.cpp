// What scontrol top gave a user's job, once he makes it another one.
#include "unit/state/update_job_fixture.hpp"

namespace sluice::state {
namespace {

class UserTopTest : public UpdateJobTest {
 protected:
  UserTopTest() {
    configure([this](ClusterConfig& config) {
      config.scheduler_parameters = {"enable_user_top"};
      add_partition(config, "other");
    });
  }
  // One that went before another one of its user.
  JobId topped() {
    const JobId large = submit(batch_spec()), small = submit(batch_spec());
    EXPECT_TRUE(run(TopJob{kAnn, std::to_string(small), {{large, 900}, {small, 100}}}));
    EXPECT_LT(job(small).spec->nice, 0);
    return small;
  }
};

// The bug: it kept what it had taken, grew, and came before the jobs of others.
TEST_F(UserTopTest, ItsOwnPriorityIsThatOfAnotherJobThen) {
  const std::vector<std::function<void(JobUpdate&)>> changes{
      [](JobUpdate& u) { u.num_tasks = 2; }, [](JobUpdate& u) { u.min_nodes = 2; },
      [](JobUpdate& u) { u.partitions = "other"; }, [](JobUpdate& u) { u.memory_per_node_mib = 7; },
      [](JobUpdate& u) { u.time_limit = 1; }};
  for (const auto& change : changes) {
    const JobId id = topped();
    EXPECT_EQ(update(kAnn, id, change), ErrorCode::kOk);
    EXPECT_EQ(job(id).spec->nice, 0);
  }
}

TEST_F(UserTopTest, ItStaysBefore) {
  const JobId id = topped();
  const int32_t nice = job(id).spec->nice;
  const auto rename = [](JobUpdate& u) { u.name = "other"; };
  EXPECT_EQ(update(kAnn, id, rename), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->nice, nice) << "that is nothing to its priority";
  const auto grow = [](JobUpdate& u) { u.num_tasks = 2; };
  EXPECT_EQ(update(kRoot, id, grow), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->nice, nice) << "an administrator may";
  configure([](ClusterConfig& config) { config.scheduler_parameters = {}; });
  const auto shrink = [](JobUpdate& u) { u.num_tasks = 1; };
  EXPECT_EQ(update(kAnn, id, shrink), ErrorCode::kOk);
  EXPECT_EQ(job(id).spec->nice, nice) << "where users may not, it is an operator's";
}

}  // namespace
}  // namespace sluice::state
