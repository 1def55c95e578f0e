// scancel's filters: what passes them is cancelled, and nothing else, where an array both runs and
// waits; and what the verbs act on is what squeue lists.
#include <random>
#include <set>

#include "common/protocol/job_filter.hpp"
#include "ctld/state/decide/job/targets.hpp"
#include "ctld/state/rules/job_filter.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {
namespace {

using protocol::QueryJobsRequest;

class CancelTest : public CoreTest {
 protected:
  CancelTest() {
    configure([](ClusterConfig& config) {
      PartitionConfig other = config.partitions.front();
      other.name = "other";
      other.is_default = false;
      config.partitions.push_back(other);
    });
  }

  static JobSpec array_spec(const std::string& tasks) {
    JobSpec spec = batch_spec();
    spec.array = tasks;
    return spec;
  }
  // Tasks 1 and 2 run, 3 … 6 wait.
  JobId half_started(JobSpec spec, Identity who = kAnn) {
    spec.array = "1-6%2";
    const JobId array = submit(std::move(spec), who);
    EXPECT_TRUE(start_job(array, "n1", 1, 1));
    EXPECT_TRUE(start_job(array, "n2", 1, 2));
    return array;
  }
  Result<protocol::CancelJobsReply> ask(QueryJobsRequest filter, Identity who = kAnn,
                                        bool find_only = false, uint32_t signal = 0) {
    auto made = JobFilter::make(state_, std::move(filter), who.uid);
    if (!made) return tl::unexpected(made.error());
    const auto flags = signal == 0 ? protocol::kSignalCancel : protocol::kSignalStepsOnly;
    const auto reply = run(CancelJobs{who, std::make_shared<const JobFilter>(std::move(*made)),
                                      signal, flags, signal == 0, find_only});
    if (!reply) return tl::unexpected(reply.error());
    return std::get<protocol::CancelJobsReply>(*reply);
  }
  // The names of what was done, each with its error if there was one.
  std::vector<std::string> cancel(QueryJobsRequest filter, Identity who = kAnn,
                                  bool find_only = false, uint32_t signal = 0) {
    std::vector<std::string> names;
    const auto reply = ask(std::move(filter), who, find_only, signal);
    if (!reply) return {"error"};
    for (const auto& outcome : reply->outcomes) {
      names.push_back(outcome.target + (outcome.code == ErrorCode::kOk ? "" : " refused"));
    }
    for (const std::string& name : reply->missing) names.push_back(name + " missing");
    return names;
  }
  static QueryJobsRequest filter(const std::vector<std::string>& ids,
                                 std::optional<JobState> state = {}) {
    QueryJobsRequest out;
    out.ids = ids;
    if (state) out.states = {*state};
    return out;
  }
  std::string waiting(JobId array) {
    return is_finished(job(array)) ? "" : job(array).array->pending.to_text();
  }
  bool runs(JobId array, uint32_t task) {
    return find_array_task(state_, array, task)->state == JobState::kRunning;
  }
};

using Names = std::vector<std::string>;

TEST_F(CancelTest, NothingIsFoundOnANodeThatIsNotThere) {
  const JobId job = submit(batch_spec());
  ASSERT_TRUE(start_job(job, "n1"));
  QueryJobsRequest request;
  for (const auto& [nodes, found] :
       {std::pair{"nope", false}, std::pair{"nope,n1", true}, std::pair{"nope,n2", false}}) {
    request.nodes = nodes;
    EXPECT_FALSE(JobFilter::make(state_, request, kAnn.uid)) << "as squeue is told";
    const auto filter = JobFilter::make(state_, request, kAnn.uid, UnknownNodes::kPassedOver);
    ASSERT_TRUE(filter);
    EXPECT_EQ(filter->matches(this->job(job)), found) << nodes;
  }
}

TEST_F(CancelTest, PlainTargetsAreOneCommandAndEachHasItsOutcome) {
  const JobId first = submit(batch_spec()), theirs = submit(batch_spec(), kBob),
              last = submit(batch_spec());
  const JobId array = half_started(batch_spec());
  const std::string a = std::to_string(array);
  const std::vector<std::string> targets{std::to_string(first),
                                         "99999",
                                         std::to_string(theirs),
                                         std::to_string(first),
                                         a + "_[2,5]",
                                         "x",
                                         a + ".0",
                                         std::to_string(last)};
  const auto reply =
      run(SignalJobs{kAnn, targets, 0, protocol::kSignalCancel, protocol::kSignalCancel});
  ASSERT_TRUE(reply) << reply.error().text;
  const auto& outcomes = std::get<protocol::CancelJobsReply>(*reply).outcomes;
  ASSERT_EQ(outcomes.size(), targets.size());
  using enum ErrorCode;
  const std::vector<ErrorCode> expected{kOk, kInvalidJobId, kAccessDenied, kAlreadyDone,
                                        kOk, kInvalidJobId, kJobPending,   kOk};
  for (size_t i = 0; i < targets.size(); ++i) {
    EXPECT_EQ(outcomes[i].target, targets[i]);
    EXPECT_EQ(outcomes[i].code, expected[i]) << targets[i];
  }
  EXPECT_EQ(outcomes[4].count, 2U);
  EXPECT_TRUE(is_finished(job(first)) && is_finished(job(last)));
  EXPECT_FALSE(is_finished(job(theirs)));
  EXPECT_EQ(waiting(array), "3-4,6");
}

TEST_F(CancelTest, OfManyPlainTargetsACommandDoesSome) {
  std::vector<std::string> targets;
  for (int i = 0; i < 3000; ++i) targets.push_back(std::to_string(submit(batch_spec())));
  size_t done = 0;
  int commands = 0;
  while (done < targets.size()) {
    const auto reply =
        run(SignalJobs{kAnn,
                       {targets.begin() + static_cast<ptrdiff_t>(done), targets.end()},
                       0,
                       protocol::kSignalCancel,
                       0});
    ASSERT_TRUE(reply) << reply.error().text;
    const size_t now = std::get<protocol::CancelJobsReply>(*reply).outcomes.size();
    ASSERT_GT(now, 0U);
    done += now;
    ++commands;
  }
  EXPECT_GT(commands, 1);
  for (const std::string& target : targets)
    EXPECT_TRUE(is_finished(job(static_cast<JobId>(std::stoul(target)))));
}

// The bug: `scancel -s USR1` of one step 90,000 times over sent as many orders to its nodes.
TEST_F(CancelTest, AStepThatIsNamedAgainIsSignalledOnce) {
  JobSpec spec = batch_spec();
  spec.array = "1";
  const JobId array = submit(spec);
  ASSERT_TRUE(start_job(array, "n1", 1, 1));
  const JobId job = find_array_task(state_, array, 1)->id;
  std::vector<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    ids.push_back(std::to_string(array) + "_1.batch");
    ids.push_back(std::to_string(job) + ".batch");
  }
  names_.clear();
  EXPECT_EQ(cancel(filter(ids), kAnn, true, 10), Names{ids.front()});
  EXPECT_EQ(cancel(filter(ids), kAnn, false, 10), Names{ids.front()});
  EXPECT_EQ(names_, Names{"JobSignaled"});
  EXPECT_EQ(effects<SignalSteps>().size(), 1U);
}

TEST_F(CancelTest, StepsAreSignalledInTheOrderInWhichTheyAreNamed) {
  const JobId first = submit(batch_spec()), second = submit(batch_spec());
  ASSERT_TRUE(start_job(first, "n1"));
  ASSERT_TRUE(start_job(second, "n2"));
  const std::string a = std::to_string(first) + ".batch", b = std::to_string(second) + ".batch";
  EXPECT_EQ(cancel(filter({b, a, b}), kAnn, false, 10), (Names{b, a}));
}

TEST_F(CancelTest, WaitingTasksAloneAreEndedByTheirState) {
  const JobId array = half_started(batch_spec());
  const std::string id = std::to_string(array);
  EXPECT_EQ(cancel(filter({id + "_[1-4]"}, JobState::kPending)), Names{id + "_[3-4%2]"});
  EXPECT_EQ(waiting(array), "5-6");
  EXPECT_EQ(cancel(filter({}, JobState::kPending)), Names{id + "_[5-6%2]"});
  EXPECT_EQ(waiting(array), "");
  EXPECT_TRUE(runs(array, 1) && runs(array, 2));
  const JobId other = half_started(batch_spec(), kBob);
  EXPECT_EQ(cancel(filter({}, JobState::kRunning)),
            (Names{id + "_1", id + "_2", std::to_string(other) + "_1 refused",
                   std::to_string(other) + "_2 refused"}));
  EXPECT_FALSE(runs(array, 1) || runs(array, 2));
  EXPECT_TRUE(runs(other, 1) && waiting(other) == "3-6");
}

// Each of the filters that an array's running and waiting tasks share, with and without a state.
TEST_F(CancelTest, EveryFilterLeavesWhatDoesNotPassIt) {
  struct Case {
    const char* name;
    std::function<void(JobSpec&)> mark;
    std::function<void(QueryJobsRequest&)> ask;
  };
  const Case cases[] = {
      {"name", [](JobSpec& s) { s.name = "mine"; },
       [](QueryJobsRequest& r) { r.names = {"mine"}; }},
      {"account", [](JobSpec& s) { s.account = "gold"; },
       [](QueryJobsRequest& r) { r.accounts = {"gold"}; }},
      {"qos", [](JobSpec& s) { s.qos = "high"; }, [](QueryJobsRequest& r) { r.qos = {"high"}; }},
      {"wckey", [](JobSpec& s) { s.wckey = "key"; },
       [](QueryJobsRequest& r) { r.wckeys = {"key"}; }},
      {"default wckey", [](JobSpec& s) { s.wckey = "*own"; },
       [](QueryJobsRequest& r) { r.wckeys = {"own"}; }},
      {"partition", [](JobSpec& s) { s.partitions = "other"; },
       [](QueryJobsRequest& r) { r.partitions = {"other"}; }},
      {"user", [](JobSpec&) {}, [](QueryJobsRequest& r) { r.uids = {kAnn.uid}; }}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    JobSpec spec = batch_spec();
    one.mark(spec);
    spec.array = "1-4";
    const JobId array = submit(spec);
    const std::string id = std::to_string(array);
    const std::string partition = job(array).partition.str();
    ASSERT_EQ(std::get<StartedReply>(*run(StartJobs{{{array, 1, partition, free_cores("n1", 1)}}}))
                  .started,
              1u);
    const JobId bystander = half_started(batch_spec(), kBob);
    QueryJobsRequest request;
    one.ask(request);
    QueryJobsRequest pending = request, on_node = request;
    pending.states = {JobState::kPending};
    on_node.nodes = "n1";
    EXPECT_EQ(cancel(pending, kAnn, true), Names{id + "_[2-4]"});  // what -i asks about …
    EXPECT_EQ(waiting(array), "2-4");                              // … is not touched by that
    EXPECT_EQ(cancel(on_node), Names{id + "_1"});
    EXPECT_EQ(waiting(array), "2-4");
    EXPECT_EQ(cancel(pending), Names{id + "_[2-4]"});
    EXPECT_TRUE(is_finished(job(array)));
    EXPECT_TRUE(waiting(bystander) == "3-6" && runs(bystander, 1) && runs(bystander, 2));
    ASSERT_EQ(cancel({}, kBob).size(), 3u);
    for (const JobId task : {1U, 2U})
      ASSERT_TRUE(cleaned(find_array_task(state_, bystander, task)->id, task == 1 ? "n1" : "n2"));
    ASSERT_TRUE(cleaned(find_array_task(state_, array, 1)->id, "n1"));
  }
}

// The question of -i was read while the task began: the state still decides.
TEST_F(CancelTest, WhatBeganInBetweenIsNotHit) {
  const JobId array = submit(array_spec("1-4"));
  const std::string id = std::to_string(array);
  ASSERT_EQ(cancel(filter({id}, JobState::kPending), kAnn, true), Names{id + "_[1-4]"});
  ASSERT_TRUE(start_job(array, "n1", 1, 1));
  EXPECT_EQ(cancel(filter({id + "_[1-4]"}, JobState::kPending)), Names{id + "_[2-4]"});
  EXPECT_TRUE(runs(array, 1));
}

TEST_F(CancelTest, StepsAndSignalsObeyTheFilters) {
  const JobId array = half_started(batch_spec());
  const std::string id = std::to_string(array);
  EXPECT_EQ(cancel(filter({id}), kAnn, false, 10),
            (Names{id + "_[3-6%2] refused", id + "_1", id + "_2"}));
  EXPECT_EQ(cancel(filter({id}, JobState::kRunning), kAnn, false, 10),
            (Names{id + "_1", id + "_2"}));
  EXPECT_EQ(cancel(filter({id + "_1.batch"}, JobState::kPending)), Names{});
  EXPECT_EQ(cancel(filter({id + "_1.batch", id + "_2.7"}, JobState::kRunning)),
            (Names{id + "_1.batch", id + "_2.7 refused"}));
  EXPECT_EQ(cancel(filter({"99", id + "_9", id + "_3.0"})),
            (Names{"99 missing", id + "_9 missing", id + "_3.0 missing"}));
  EXPECT_EQ(waiting(array), "3-6");
}

TEST_F(CancelTest, NamesThatOverlapAreOne) {
  const JobId array = half_started(batch_spec());
  const std::string id = std::to_string(array);
  EXPECT_EQ(cancel(filter({id + "_[3-4]", id + "_4", id + "_1", id + "_[1,5]"}), kAnn, true),
            (Names{id + "_[3-5%2]", id + "_1"}));
  EXPECT_EQ(cancel(filter({id + "_3", id, id + "_4"}), kAnn, true),
            (Names{id + "_[3-6%2]", id + "_1", id + "_2"}));
}

TEST_F(CancelTest, OthersJobsAreNotThereWhereTheyArePrivate) {
  configure([](ClusterConfig& config) { config.private_data = {"jobs"}; });
  const JobId array = half_started(batch_spec());
  EXPECT_EQ(cancel(filter({std::to_string(array)}), kBob),
            Names{std::to_string(array) + " missing"});
  EXPECT_EQ(cancel({}, kBob), Names{});
  EXPECT_EQ(cancel({}, kRoot).size(), 3u);
}

// --- a random cluster
// --------------------------------------------------------------------------------

// One job or array task, by what users call it.
using Unit = std::pair<JobId, uint32_t>;
using Units = std::set<Unit>;

void add_units(const Job& job, const IndexSet* tasks, Units& out) {
  if (job.array == nullptr) out.emplace(job.id, kNoTask);
  else if (job.array->task != kNoTask) out.emplace(job.array->array_job, job.array->task);
  else
    (tasks == nullptr ? job.array->pending : *tasks).for_each([&](uint32_t task) {
      out.emplace(job.array->array_job, task);
    });
}

class RandomCancel : public CancelTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  RandomCancel() : random_(GetParam()) {}
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  void fill() {
    for (int i = 0; i < 6; ++i) {
      JobSpec spec = batch_spec();
      spec.name = below(2) == 0 ? "a" : "b";
      spec.account = below(2) == 0 ? "gold" : "";
      spec.requeue = Toggle::kYes;
      const bool array = below(3) != 0;
      if (array) spec.array = "0-7";
      const JobId id = submit(spec, below(3) == 0 ? kBob : kAnn);
      named_.push_back(std::to_string(id));
      if (!array && below(2) == 0) start_job(id, "n" + std::to_string(1 + below(4)));
      for (uint32_t task = 0; array && task < 8; ++task) {
        const uint32_t kind = below(4);
        named_.push_back(std::to_string(id) + "_" + std::to_string(task));
        if (task % 3 == 0)
          named_.push_back(std::to_string(id) + "_[" + std::to_string(task) + "-" +
                           std::to_string(task + 2) + "]");
        const std::string node = "n" + std::to_string(1 + below(4));
        if (kind == 0 && start_job(id, node, 1, task) && below(2) == 0) {
          run(SignalJob{kRoot, named_.back(), 0, protocol::kSignalCancel});
        } else if (kind == 1) {
          run(ChangeJob{kRoot, std::to_string(id) + "_" + std::to_string(task),
                        protocol::JobAction::kUserHold});
        }
      }
    }
  }
  QueryJobsRequest any_filter() {
    QueryJobsRequest out;
    for (uint32_t i = below(3); i > 0; --i)
      out.ids.push_back(named_[below(static_cast<uint32_t>(named_.size()))]);
    constexpr JobState kStates[] = {JobState::kPending, JobState::kRunning, JobState::kSuspended};
    if (below(2) == 0) out.states = {kStates[below(3)]};
    if (below(3) == 0) out.uids = {below(2) == 0 ? kAnn.uid : kBob.uid};
    if (below(3) == 0) out.names = {below(2) == 0 ? "a" : "b"};
    if (below(4) == 0) out.accounts = {"gold"};
    if (below(4) == 0) out.nodes = "n" + std::to_string(1 + below(4));
    return out;
  }
  // As squeue lists them with a line for each task.
  Units listed(const ClusterState& state, const QueryJobsRequest& request) {
    const auto filter = JobFilter::make(state, request, 0);
    EXPECT_TRUE(filter);
    Units out;
    state.jobs.for_each([&](const Job& job) {
      if (!filter->matches(job) || is_completing(job)) return;
      const bool array = job.array != nullptr && job.array->task == kNoTask;
      IndexSet tasks;
      for (const JobTarget& target : filter->targets()) {
        if (!array || target.job != job.array->array_job) continue;
        tasks.insert(target.tasks ? *target.tasks & job.array->pending : job.array->pending);
      }
      add_units(job, array && !filter->targets().empty() ? &tasks : nullptr, out);
    });
    return out;
  }
  // What is not in `after` as it was before.
  template <class Same>
  Units changed(const ClusterState& before, const ClusterState& after, Same&& same) {
    Units out;
    before.jobs.for_each([&](const Job& job) {
      Units units;
      add_units(job, nullptr, units);
      for (const auto& [id, task] : units) {
        const FoundJob now = find_array_task(after, id, task);
        if (!now || !same(job, *now)) out.emplace(id, task);
      }
    });
    return out;
  }

  std::mt19937 random_;
  std::vector<std::string> named_;
};

TEST_P(RandomCancel, WhatIsCancelledIsWhatIsListed) {
  fill();
  for (int round = 0; round < 12; ++round) {
    const QueryJobsRequest request = any_filter();
    const Units expected = listed(state_, request);
    const ClusterState before = state_;
    ASSERT_TRUE(ask(request, kRoot));
    const auto alive = [](const Job& job) { return !is_terminal(job.state); };
    const Units hit = changed(
        before, state_, [&](const Job& was, const Job& now) { return alive(was) == alive(now); });
    EXPECT_EQ(hit, expected) << "round " << round;
    if (round % 4 == 3) fill();
  }
}

TEST_P(RandomCancel, WhatHoldReleaseUpdateAndRequeueActOnIsWhatIsListed) {
  using protocol::JobAction;
  fill();
  for (int round = 0; round < 20; ++round) {
    const std::string target = named_[below(static_cast<uint32_t>(named_.size()))];
    QueryJobsRequest request;
    request.ids = {target};
    const ClusterState before = state_;
    if (round % 4 == 0) {
      const Units expected = listed(state_, request);
      UpdateJob update{kRoot, target, {}, {}};
      update.update.comment = "round " + std::to_string(round);
      run(update);
      EXPECT_EQ(changed(before, state_,
                        [](const Job& was, const Job& now) {
                          return was.spec->comment == now.spec->comment || is_terminal(was.state);
                        }),
                expected)
          << target;
    } else if (round % 4 == 3) {
      request.states = {JobState::kRunning};
      const Units expected = listed(state_, request);
      run(ChangeJob{kRoot, target, JobAction::kRequeue});
      EXPECT_EQ(changed(before, state_,
                        [](const Job& was, const Job& now) {
                          return was.state != JobState::kRunning || now.state == JobState::kRunning;
                        }),
                expected)
          << target;
    } else {
      const bool hold = round % 4 == 1;
      request.states = {JobState::kPending};
      Units expected = listed(state_, request);
      const HoldKind wanted = hold ? HoldKind::kUser : HoldKind::kNone;
      run(ChangeJob{kRoot, target, hold ? JobAction::kUserHold : JobAction::kRelease});
      std::erase_if(expected, [&](const Unit& unit) {
        return find_array_task(before, unit.first, unit.second)->hold == wanted;
      });
      EXPECT_EQ(changed(before, state_,
                        [](const Job& was, const Job& now) {
                          return was.hold == now.hold || was.state != JobState::kPending;
                        }),
                expected)
          << target;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCancel, ::testing::Range(1U, 41U));

}  // namespace
}  // namespace sluice::state
