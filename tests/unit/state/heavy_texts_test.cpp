// A user filled the controller's memory with jobs of megabytes of arguments: what long texts take
// is bounded for each user and for all, and given back when a job is forgotten.
#include "support/core_fixture.hpp"

#include "common/names/errors.hpp"
#include "common/model/job_update.hpp"
#include "ctld/state/core/heavy_texts.hpp"

namespace sluice::state {
namespace {

constexpr size_t kLine = size_t{2} << 20;

class HeavyTextsTest : public CoreTest {
 protected:
  HeavyTextsTest() {
    configure([](ClusterConfig& config) { config.min_job_age = std::chrono::seconds(10); });
  }
  static JobSpec long_job(size_t bytes = kLine - 1) {
    JobSpec spec = batch_spec();
    spec.submit_line = std::string(bytes, 'x');
    return spec;
  }
  Result<Reply> try_submit(JobSpec spec, Identity who = kAnn) {
    spec.uid = who.uid;
    return run(SubmitJob{who, std::move(spec), {"users"}});
  }
  // How many of them the controller takes.
  size_t fill(const Identity& who, const JobSpec& spec) {
    size_t taken = 0;
    while (taken < 1000 && try_submit(spec, who)) ++taken;
    return taken;
  }
  [[nodiscard]] uint64_t held() const { return state_.heavy_texts->all; }
  void end_and_forget(JobId id) {
    ASSERT_TRUE(start_job(id, "n1"));
    ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
    now_ += std::chrono::minutes(1);
    ASSERT_TRUE(run(Tick{}));
    ASSERT_FALSE(state_.jobs.contains(id));
  }
};

TEST_F(HeavyTextsTest, OfOneUserAreBounded) {
  const JobId first = submit(long_job());
  const size_t most = HeavyTexts::kMostOfUser / (held() + 1);
  EXPECT_EQ(1 + fill(kAnn, long_job()), most);
  const auto refused = try_submit(long_job());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooManyJobs);
  EXPECT_NE(refused.error().text.find("jobs of user 1001 hold"), std::string::npos)
      << refused.error().text;
  EXPECT_TRUE(try_submit(batch_spec())) << "short ones are taken";
  EXPECT_TRUE(try_submit(long_job(), kBob)) << "another user has his own";
  end_and_forget(first);
  EXPECT_TRUE(try_submit(long_job())) << "a job that is forgotten gives its part back";
  EXPECT_FALSE(try_submit(long_job()));
}

// The bug: 8,000 arguments of one letter are 16 KB of text, and 380 KB of memory.
TEST_F(HeavyTextsTest, ShortArgumentsCountForWhatTheyTake) {
  constexpr size_t kArguments = 8000, kLeast = 8 + 16 + 16;  // of a place, counts and a block
  JobSpec spec = batch_spec();
  spec.arguments.assign(kArguments, "a");
  const JobId id = submit(spec);
  EXPECT_GE(held(), kArguments * kLeast);
  end_and_forget(id);
  EXPECT_EQ(held(), 0U);
}

TEST_F(HeavyTextsTest, OfAllUsersAreBounded) {
  for (uint32_t uid = 2001; uid <= 2003; ++uid) EXPECT_GT(fill({uid, uid}, long_job()), 60U);
  EXPECT_LT(fill(kBob, long_job()), 10U);
  const auto refused = try_submit(long_job(), kBob);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("jobs hold 38"), std::string::npos) << refused.error().text;
}

TEST_F(HeavyTextsTest, OfAnArrayCountOnceUntilItsLastTaskIsForgotten) {
  JobSpec spec = long_job();
  spec.array = "0-3";
  const JobId array = submit(spec);
  const uint64_t once = held();
  for (uint32_t task = 0; task < 4; ++task) ASSERT_TRUE(start_job(array, "n1", 1, task));
  EXPECT_EQ(held(), once);
  EXPECT_EQ(from_image(make_image(state_)).heavy_texts->all, once);
  for (uint32_t task = 0; task < 4; ++task) {
    ASSERT_TRUE(end_step(find_array_task(state_, array, task)->id, kBatchStep, "n1", 0, true));
    EXPECT_EQ(held(), once);
  }
  EXPECT_EQ(from_image(make_image(state_)).heavy_texts->of_user.at(kAnn.uid), once);
  for (int i = 0; i < 2; ++i) {
    now_ += std::chrono::minutes(1);
    ASSERT_TRUE(run(Tick{}));
  }
  EXPECT_EQ(held(), 0U);
  EXPECT_TRUE(state_.heavy_texts->of_user.empty());
}

// Of one job, which is short itself.
TEST_F(HeavyTextsTest, OfStepsCountWhileTheyLive) {
  const JobId id = submit(batch_spec());
  ASSERT_TRUE(start_job(id, "n1"));
  StepSpec spec;
  spec.num_tasks = 1;
  spec.overlap = OverlapKind::kOverlap;
  spec.submit_line = std::string(kLine - 1, 'x');
  const auto create = [&] { return run(CreateStep{kAnn, id, spec}); };
  size_t taken = 0;
  while (taken < 1000 && create()) ++taken;
  EXPECT_GE(taken, HeavyTexts::kMostOfUser / kLine - 1);
  EXPECT_LE(taken, HeavyTexts::kMostOfUser / (kLine - 1));
  const auto refused = create();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooManyJobs) << refused.error().text;
  EXPECT_EQ(from_image(make_image(state_)).heavy_texts->all, held());
  ASSERT_TRUE(end_step(id, 0, "n1", 0, true));
  EXPECT_TRUE(create()) << "one that ended gives its part back";
  EXPECT_FALSE(create());
  StepSpec light = spec;
  light.submit_line = "srun true";
  EXPECT_TRUE(run(CreateStep{kAnn, id, light}));
  ASSERT_TRUE(run(SignalJob{kRoot, std::to_string(id), 9}));
  ASSERT_TRUE(end_step(id, kBatchStep, "n1", 0, true));
  now_ += std::chrono::minutes(1);
  ASSERT_TRUE(run(Tick{}));
  EXPECT_EQ(from_image(make_image(state_)).heavy_texts->all, held());
}

TEST_F(HeavyTextsTest, AnUpdateCountsAndMayBeRefused) {
  const auto list_nodes = [&](JobId id, const std::string& nodes) {
    JobUpdate update;
    update.excluded_nodes = nodes;
    const UpdateJob command{kAnn, std::to_string(id), update};
    const auto reply = run(command);
    if (!reply) return error_text(reply.error());
    return std::get<protocol::CountReply>(*reply).errors.empty()
               ? std::string()
               : std::get<protocol::CountReply>(*reply).errors[0];
  };
  std::string many;
  while (many.size() < (size_t{20} << 10)) many += "n1,";
  many += "n2";
  const JobId job = submit(batch_spec());
  EXPECT_EQ(held(), 0U);
  ASSERT_EQ(list_nodes(job, many), "");
  const uint64_t changed = held();
  EXPECT_GT(changed, many.size());
  ASSERT_EQ(list_nodes(job, "n3"), "");
  EXPECT_EQ(held(), 0U);
  fill(kAnn, long_job());
  fill(kAnn, long_job(size_t{20} << 10));
  EXPECT_NE(list_nodes(job, many), "");
  EXPECT_EQ(list_nodes(job, "n2"), "");
}

}  // namespace
}  // namespace sluice::state
