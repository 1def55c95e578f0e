// The threads of the controller together, on a real journal: clients on several threads, the
// scheduler, nodes that answer from the publisher's thread. Run under ThreadSanitizer too.
#include "ctld/engine/engine.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ctld/engine/new_work.hpp"
#include "ctld/engine/scheduler_loop.hpp"
#include "ctld/journal/recovery.hpp"
#include "ctld/journal/sqlite_store.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/core/invariants.hpp"
#include "unit/journal/fake_store.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::engine {
namespace {

using state::Identity;

constexpr Identity kAnn{1001, 1001};

Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

std::shared_ptr<const ClusterConfig> config() {
  auto config = std::make_shared<ClusterConfig>();
  config->cluster_name = "test";
  PartitionConfig debug;
  debug.name = "debug";
  debug.is_default = true;
  for (const char* name : {"n1", "n2"}) {
    NodeConfig node;
    node.name = node.hostname = name;
    node.cpus = node.cores_per_socket = 16;
    node.sockets = 1;
    node.real_memory_mib = 1000;
    config->nodes.push_back(node);
    debug.nodes.push_back(node.name);
  }
  config->partitions.push_back(debug);
  return config;
}

state::SubmitJob small_job() {
  state::SubmitJob submit{kAnn, {}, {"users"}};
  submit.job.uid = kAnn.uid;
  submit.job.name = "job";
  submit.job.batch = true;
  submit.job.memory_kind = MemoryKind::kPerNode;
  submit.job.memory_mib = 1;
  return submit;
}

// The core with its threads, and nodes whose batch scripts end as soon as they are launched.
class Core {
 public:
  explicit Core(const std::filesystem::path& folder) {
    auto opened = journal::SqliteStore::open(folder, {.ballast_bytes = 0});
    if (!opened) throw std::runtime_error(opened.error().text);
    store_ = std::move(*opened);
    auto recovered = journal::recover(*store_);
    if (!recovered) throw std::runtime_error(recovered.error().text);
    publisher_.emplace(
        Published{std::make_shared<state::ClusterState>(recovered->state), recovered->last},
        [this](const auto& effects, const auto& state) { carry_out(effects, *state); });
    commit_.emplace(*store_);
    engine_.emplace(EngineOptions{.clock = now, .tick = std::chrono::milliseconds(20)},
                    std::move(recovered->state), recovered->last, *commit_, *publisher_);
    scheduler_.emplace(*engine_, *publisher_, now);
    ask(state::StartEpoch{store_->info().cluster_id, store_->info().epoch});
    ask(state::ReplaceConfig{config()});
    connected_ = true;
    for (const char* name : {"n1", "n2"}) {
      state::RegisterNode node;
      node.node.name = name;
      node.node.hardware.boot_id = "boot";
      ask(node);
    }
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core() { stop(); }

  // Posts and waits until it is durable.
  Result<state::Reply> ask(state::Command command) {
    std::promise<Result<state::Reply>> promise;
    std::future<Result<state::Reply>> answer = promise.get_future();
    engine_->post({std::move(command),
                   {},
                   [&](const Result<state::Reply>& reply, const state::ClusterSnapshot&) {
                     promise.set_value(reply);
                   }});
    return answer.get();
  }
  void stop() {
    if (stopped_) return;
    stopped_ = true;
    scheduler_->stop();
    engine_->stop();
    commit_->stop();
    publisher_->stop();
  }
  [[nodiscard]] state::ClusterSnapshot newest() const { return publisher_->newest()->state; }
  [[nodiscard]] auto soft() const { return scheduler_->soft(); }
  [[nodiscard]] const journal::SqliteStore& store() const { return *store_; }
  void wake() { scheduler_->wake(); }

 private:
  void carry_out(const state::Effects& effects, const state::ClusterState& state) {
    if (!connected_) return;
    std::vector<protocol::StepEnded> ended;
    for (const state::Effect& effect : effects) {
      const auto* launch = std::get_if<state::LaunchStep>(&effect);
      if (launch == nullptr) continue;
      const Job* job = state.jobs.find(launch->key.id.job);
      if (job == nullptr || job->allocation == nullptr) continue;
      protocol::StepEnded report;
      report.key = launch->key;
      report.nodes = job->allocation->node_list;
      report.node_clean = true;
      ended.push_back(report);
    }
    if (!ended.empty()) engine_->post({state::EndSteps{std::move(ended)}, {}, {}});
    scheduler_->wake();
  }

  std::unique_ptr<journal::SqliteStore> store_;
  std::optional<Publisher> publisher_;
  std::optional<journal::GroupCommit> commit_;
  std::optional<Engine> engine_;
  std::optional<SchedulerLoop> scheduler_;
  std::atomic<bool> connected_ = false;
  bool stopped_ = false;
};

size_t running_or_pending(const state::ClusterState& state) {
  size_t count = 0;
  state.jobs.for_each([&](const Job& job) {
    if (!is_finished(job)) ++count;
  });
  return count;
}

TEST(Engine, AnswersAreDurableAndSeenByReadersOnAllThreads) {
  const test::TempFolder temp;
  constexpr int kClients = 4;
  constexpr int kJobs = 60;
  std::set<JobId> all;
  {
    Core core(temp.path());
    std::atomic<bool> reading = true;
    std::thread reader([&] {  // as squeue would, all the time
      while (reading) {
        const state::ClusterSnapshot state = core.newest();
        EXPECT_EQ(state::check_state(*state), std::vector<std::string>());
        (void)core.soft();
      }
    });
    std::vector<std::set<JobId>> acknowledged(kClients);
    std::vector<std::thread> clients;
    for (std::set<JobId>& mine : acknowledged) {
      clients.emplace_back([&core, &mine] {
        for (int i = 0; i < kJobs; ++i) {
          const Result<state::Reply> reply = core.ask(small_job());
          ASSERT_TRUE(reply) << reply.error().text;
          const JobId job = std::get<state::JobSubmittedReply>(*reply).job;
          EXPECT_NE(core.newest()->jobs.find(job), nullptr) << "acknowledged and not to be seen";
          mine.insert(job);
        }
      });
    }
    for (std::thread& client : clients) client.join();
    while (running_or_pending(*core.newest()) > 0) {
      // the clients are gone: the scheduler goes on by itself
      core.wake();
      std::this_thread::yield();
    }
    reading = false;
    reader.join();
    for (const std::set<JobId>& mine : acknowledged) all.insert(mine.begin(), mine.end());
    EXPECT_EQ(all.size(), static_cast<size_t>(kClients * kJobs)) << "a number was given twice";
  }
  const Core again(temp.path());
  for (const JobId job : all)
    EXPECT_NE(again.newest()->jobs.find(job), nullptr) << "job " << job << " is lost";
}

// The bug: the journal stored nothing of a frame over SQLite's limit, and the controller ended.
TEST(Engine, ACommandThatChangesTooMuchIsRefused) {
  test::TempFolder folder;
  Core core(folder.path());
  state::SubmitJob large = small_job();
  large.job.submit_line = std::string((size_t{2} << 20) - 1, 'x');
  large.components.assign(39, large.job);
  const auto refused = core.ask(large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadRequest);
  EXPECT_EQ(refused.error().text, "this changes too much at once: name fewer");
  const auto taken = core.ask(small_job());
  ASSERT_TRUE(taken) << taken.error().text;
  EXPECT_EQ(std::get<state::JobSubmittedReply>(*taken).job, 1U) << "nothing has happened before";
}

TEST(Engine, AfterStopWorkIsRefusedAndNothingHangs) {
  const test::TempFolder temp;
  Core core(temp.path());
  core.stop();
  const Result<state::Reply> reply = core.ask(small_job());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kRetry);
}

TEST(Engine, TimePassesWhenTheClockWasSetBack) {
  auto reservations = std::make_shared<Reservations>();  // one that is over goes with the next tick
  reservations->push_back(
      Reservation{.id = 1, .name = "r", .start = from_seconds(10), .end = from_seconds(20)});
  state::ClusterState state;
  state.reservations = reservations;
  test::FakeStore store;
  std::promise<void> told;
  bool once = false;
  Publisher publisher({std::make_shared<state::ClusterState>(state), 0},
                      [&](const auto&, const auto&) {
                        if (!std::exchange(once, true)) told.set_value();
                      });
  journal::GroupCommit commit(store, {});
  std::atomic<int64_t> seconds = 2'000'000;
  Engine engine(
      {.clock = [&] { return from_seconds(seconds); }, .tick = std::chrono::milliseconds(10)},
      std::move(state), 0, commit, publisher);
  seconds = 1'000'000;
  ASSERT_EQ(told.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_TRUE(publisher.newest()->state->reservations->empty());
}

// A node, and a job that can begin there.
state::ClusterState waiting_job() {
  state::ClusterState state;
  const auto run = [&](const state::Command& command) {
    const auto decision = state::decide(state, command, now());
    if (!decision) throw std::runtime_error(decision.error().text);
    for (const state::Event& event : decision->events) state::apply(state, event);
  };
  run(state::StartEpoch{"cluster", 1});
  run(state::ReplaceConfig{config()});
  state::RegisterNode node;
  node.node.name = "n1";
  node.node.hardware.boot_id = "boot";
  run(node);
  run(small_job());
  return state;
}

// A controller could not be ended while its disk is full.
TEST(Scheduler, StopsWhileItsStartsWaitForTheJournal) {
  test::FakeStore store;
  store.hold();
  state::ClusterState state = waiting_job();
  Publisher publisher({std::make_shared<state::ClusterState>(state), 0},
                      [](const auto&, const auto&) {});
  journal::GroupCommit commit(store);
  Engine engine({.clock = now, .tick = std::chrono::hours(1)}, std::move(state), 0, commit,
                publisher);
  size_t told = 0;
  SchedulerLoop scheduler(engine, publisher, now,
                          [&](const PassReport& pass) { told += pass.plan.starts.size(); });
  store.wait_for_append();
  auto stopped = std::async(std::launch::async, [&] { scheduler.stop(); });
  EXPECT_EQ(stopped.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  store.release();
  stopped.get();
  EXPECT_EQ(told, 0U) << "passes are told of when their starts are durable";
  engine.stop();
  commit.stop();
  publisher.stop();
  EXPECT_EQ(publisher.newest()->state->active.size(), 1U);
}

// After an older state was put back nodes say first which job ids were given.
TEST(JobIds, WaitUntilNodesHaveSaidWhatTheyKnow) {
  test::FakeStore store;
  state::ClusterState state = waiting_job();
  Publisher publisher({std::make_shared<state::ClusterState>(state), 0},
                      [](const auto&, const auto&) {});
  journal::GroupCommit commit(store);
  Engine engine(
      {.clock = now, .tick = std::chrono::milliseconds(5), .job_ids_wait = std::chrono::hours(1)},
      std::move(state), 0, commit, publisher);
  const auto ask = [&](state::Command command) {
    auto promise = std::make_shared<std::promise<Result<state::Reply>>>();
    engine.post({std::move(command),
                 {},
                 [promise](const Result<state::Reply>& reply, const state::ClusterSnapshot&) {
                   promise->set_value(reply);
                 }});
    return promise->get_future();
  };
  auto submitted = ask(small_job());
  // another command is not held up by it
  state::RegisterNode node;
  node.node.name = "n1";
  node.node.hardware.boot_id = "boot";
  node.node.last_job = {0, 700};
  ASSERT_TRUE(ask(node).get());
  EXPECT_EQ(submitted.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  engine.open_job_ids();
  const Result<state::Reply> reply = submitted.get();
  ASSERT_TRUE(reply);
  EXPECT_EQ(std::get<state::JobSubmittedReply>(*reply).job, 701U);
  engine.stop();
  commit.stop();
  publisher.stop();
}

TEST(JobIds, WaitNoLongerThanTheyMay) {
  test::FakeStore store;
  state::ClusterState state = waiting_job();
  Publisher publisher({std::make_shared<state::ClusterState>(state), 0},
                      [](const auto&, const auto&) {});
  journal::GroupCommit commit(store);
  Engine engine({.clock = now,
                 .tick = std::chrono::milliseconds(5),
                 .job_ids_wait = std::chrono::milliseconds(50)},
                std::move(state), 0, commit, publisher);
  std::promise<bool> promise;
  engine.post(
      {small_job(), {}, [&](const Result<state::Reply>& reply, const state::ClusterSnapshot&) {
         promise.set_value(reply.has_value());
       }});
  EXPECT_TRUE(promise.get_future().get());
  engine.stop();
  commit.stop();
  publisher.stop();
}

// A controller on a disk that has no room at all.
class FullDisk : public testing::Test {
 protected:
  static constexpr auto kLongest = std::chrono::seconds(30);

  FullDisk() {
    store_.fail_with(ErrorCode::kStorageFull, 0);
    commit_.emplace(store_,
                    journal::GroupCommitOptions{.retry_interval = std::chrono::milliseconds(1)});
    engine_.emplace(EngineOptions{.clock = now}, state::ClusterState{}, 0, *commit_, publisher_);
  }
  void TearDown() override {
    engine_->stop();
    commit_->stop();
    publisher_.stop();
  }
  std::future<ErrorCode> ask(state::Command command) {
    auto promise = std::make_shared<std::promise<ErrorCode>>();
    engine_->post(
        {std::move(command),
         {},
         [promise](const Result<state::Reply>& reply, const state::ClusterSnapshot& after) {
           EXPECT_NE(after, nullptr);
           promise->set_value(reply ? ErrorCode::kOk : reply.error().code);
         }});
    return promise->get_future();
  }
  void make_room() { store_.fail_with(ErrorCode::kOk, 0); }

 private:
  test::FakeStore store_;
  Publisher publisher_{{std::make_shared<state::ClusterState>(), 0},
                       [](const auto&, const auto&) {}};
  std::optional<journal::GroupCommit> commit_;
  std::optional<Engine> engine_;
};

TEST_F(FullDisk, RefusalsDoNotWaitForRoomAsWhatWasTakenDoes) {
  std::future<ErrorCode> taken = ask(state::StartEpoch{"cluster", 1});
  std::future<ErrorCode> refused = ask(small_job());
  ASSERT_EQ(refused.wait_for(kLongest), std::future_status::ready)
      << "the refusal waits behind what cannot be written";
  EXPECT_EQ(refused.get(), ErrorCode::kStorageFull);
  EXPECT_EQ(taken.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  make_room();
  ASSERT_EQ(taken.wait_for(kLongest), std::future_status::ready);
  EXPECT_EQ(taken.get(), ErrorCode::kOk);
}

TEST(NewWork, IsWhatUsersAskForAndNotWhatEnds) {
  EXPECT_TRUE(is_new_work(state::CreateHetStep{}));
  EXPECT_TRUE(is_new_work(state::ChangeReservation{}));
  EXPECT_TRUE(is_new_work(state::ResetUsage{}));
  EXPECT_TRUE(is_new_work(state::ReplaceConfig{.ordered = true}));
  EXPECT_FALSE(is_new_work(state::ReplaceConfig{}));
  EXPECT_FALSE(is_new_work(state::SignalJob{}));
  EXPECT_FALSE(is_new_work(state::EndSteps{}));
}

}  // namespace
}  // namespace sluice::engine
