// Reports in a row are one command, and a storm of ends is few frames of the journal.
#include "ctld/engine/gather.hpp"

#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "ctld/engine/engine.hpp"
#include "ctld/journal/sqlite_store.hpp"
#include "ctld/state/apply.hpp"
#include "unit/journal/fake_store.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::engine {
namespace {

Post ended(JobId job, std::string nodes, Done done = {}) {
  protocol::StepEnded report;
  report.key = {{job, kBatchStep}, 0};
  report.nodes = std::move(nodes);
  report.node_clean = true;
  return {state::EndSteps{{report}}, {}, std::move(done)};
}

TEST(GatherReports, KeepsTheOrderAndAnswersAll) {
  int answered = 0;
  const Done count = [&](const Result<state::Reply>&, const state::ClusterSnapshot&) {
    ++answered;
  };
  std::vector<Post> posts;
  posts.push_back(ended(1, "n1", count));
  posts.push_back(ended(2, "n1"));
  posts.push_back(ended(3, "n2", count));
  posts.push_back({state::Tick{}, {}, count});
  posts.push_back(ended(4, "n1", count));
  posts.push_back({state::JobsCleaned{{{1, 0, "n1", 0, false}}}, {}, count});
  posts.push_back({state::JobsCleaned{{{2, 0, "n1", 0, false}}}, {}, count});
  std::vector<Post> gathered = gather_reports(std::move(posts));
  ASSERT_EQ(gathered.size(), 4U);
  const auto& first = std::get<state::EndSteps>(gathered[0].command).ended;
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[2].key.id.job, 3U);
  EXPECT_TRUE(std::holds_alternative<state::Tick>(gathered[1].command));
  EXPECT_EQ(std::get<state::EndSteps>(gathered[2].command).ended.size(), 1U);
  EXPECT_EQ(std::get<state::JobsCleaned>(gathered[3].command).cleaned.size(), 2U);
  for (const Post& post : gathered) post.done(state::Reply{}, nullptr);
  EXPECT_EQ(answered, 6);
}

// As they come when an epilog runs behind each job.
TEST(GatherReports, TakesKindsThatComeInTurnApart) {
  int answered = 0;
  const Done count = [&](const Result<state::Reply>&, const state::ClusterSnapshot&) {
    ++answered;
  };
  std::vector<Post> posts;
  for (JobId job = 1; job <= 100; ++job) {
    posts.push_back({state::JobsCleaned{{{job, 0, "n1", 0, false}}}, {}, count});
    posts.push_back(ended(job + 1, "n1", count));
  }
  const std::vector<Post> gathered = gather_reports(std::move(posts));
  ASSERT_EQ(gathered.size(), 2U);
  EXPECT_EQ(std::get<state::EndSteps>(gathered[0].command).ended.size(), 100U)
      << "ends are told before what is clean";
  EXPECT_EQ(std::get<state::JobsCleaned>(gathered[1].command).cleaned.size(), 100U);
  for (const Post& post : gathered) post.done(state::Reply{}, nullptr);
  EXPECT_EQ(answered, 200);
}

TEST(GatherReports, BoundsAFrame) {
  std::vector<Post> posts;
  for (JobId job = 1; job <= 25; ++job) posts.push_back(ended(job, "n1"));
  const std::vector<Post> gathered = gather_reports(std::move(posts), 10);
  ASSERT_EQ(gathered.size(), 3U);
  EXPECT_EQ(std::get<state::EndSteps>(gathered[2].command).ended.size(), 5U);
}

// A cluster of one node that runs so many jobs.
state::ClusterState running_jobs(uint32_t count) {
  auto config = std::make_shared<ClusterConfig>();
  NodeConfig node;
  node.name = node.hostname = "n1";
  node.cpus = node.cores_per_socket = count;
  node.sockets = 1;
  node.real_memory_mib = 1000;
  config->nodes.push_back(node);
  PartitionConfig debug;
  debug.name = "debug";
  debug.nodes = {"n1"};
  config->partitions.push_back(debug);
  state::ClusterState state;
  const auto apply = [&](state::Event event) { state::apply(state, event); };
  apply(state::ConfigReplaced{config, from_seconds(1)});
  auto hardware = std::make_shared<NodeHardware>();
  apply(state::NodeRegistered{0, hardware, from_seconds(1)});
  apply(state::NodeStateChanged{.node = 0, .base = NodeBaseState::kIdle, .time = from_seconds(1)});
  auto spec = std::make_shared<JobSpec>();
  spec->batch = true;
  for (JobId id = 1; id <= count; ++id) {
    Job job;
    job.id = id;
    job.spec = spec;
    job.submit = job.eligible = job.accrue = from_seconds(1);
    apply(state::JobSubmitted{job});
    auto allocation = std::make_shared<Allocation>();
    NodeAllocation part{.node = 0, .cpus = 1};
    part.cores.set(id - 1);
    allocation->nodes.push_back(part);
    allocation->node_list = "n1";
    allocation->cpus = 1;
    state::JobStarted started{.record = id,
                              .partition = "debug",
                              .time_limit = 10,
                              .time = from_seconds(2),
                              .end = from_seconds(602)};
    started.starts.push_back({kNoTask, id, allocation});
    apply(started);
  }
  return state;
}

TEST(GatherReports, AStormOfEndsIsFewFrames) {
  constexpr uint32_t kJobs = 10'000;
  const test::TempFolder temp;
  auto store = journal::SqliteStore::open(temp.path(), {.ballast_bytes = 0});
  ASSERT_TRUE(store);
  state::ClusterState state = running_jobs(kJobs);
  Publisher publisher({std::make_shared<state::ClusterState>(state), 0},
                      [](const auto&, const auto&) {});
  journal::GroupCommit commit(**store);
  // the clock holds the engine's thread until all reports are in its inbox
  std::promise<void> all_there, all_answered;
  const auto clock = [go = all_there.get_future().share(), maker = std::this_thread::get_id()] {
    if (std::this_thread::get_id() != maker) go.wait();
    return from_seconds(10);
  };
  uint32_t answered = 0;  // of the publisher's thread
  Engine engine({.clock = clock, .tick = std::chrono::hours(1)}, std::move(state), 0, commit,
                publisher);
  for (JobId id = 1; id <= kJobs; ++id) {
    engine.post(
        ended(id, "n1", [&](const Result<state::Reply>& reply, const state::ClusterSnapshot&) {
          EXPECT_TRUE(reply);
          if (++answered == kJobs) all_answered.set_value();
        }));
  }
  all_there.set_value();
  all_answered.get_future().wait();
  engine.stop();
  commit.stop();
  publisher.stop();
  EXPECT_LE(publisher.newest()->sequence, 2U) << "frames of the journal";
  EXPECT_EQ(publisher.newest()->state->finished.size(), kJobs);
}

// The engine has nothing else to do, and could make a frame of each.
TEST(GatherReports, EndsThatComeOneByOneWhileTheJournalWritesAreOneFrame) {
  constexpr uint32_t kJobs = 2000;
  test::FakeStore store;
  store.hold();
  state::ClusterState state = running_jobs(kJobs);
  Publisher publisher({std::make_shared<state::ClusterState>(state), 0},
                      [](const auto&, const auto&) {});
  journal::GroupCommit commit(store);
  Engine engine({.clock = [] { return from_seconds(10); }, .tick = std::chrono::hours(1)},
                std::move(state), 0, commit, publisher);
  std::promise<void> all_answered;
  uint32_t answered = 0;  // of the publisher's thread
  const auto end = [&](JobId id) {
    engine.post(
        ended(id, "n1", [&](const Result<state::Reply>& reply, const state::ClusterSnapshot&) {
          EXPECT_TRUE(reply);
          if (++answered == kJobs) all_answered.set_value();
        }));
  };
  end(1);
  store.wait_for_append();
  for (JobId id = 2; id <= kJobs; ++id) end(id);
  store.release();
  all_answered.get_future().wait();
  engine.stop();
  commit.stop();
  publisher.stop();
  EXPECT_EQ(publisher.newest()->sequence, 2U) << "frames of the journal";
  EXPECT_EQ(publisher.newest()->state->finished.size(), kJobs);
}

}  // namespace
}  // namespace sluice::engine
