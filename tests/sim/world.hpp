// One simulated cluster: controller, nodes, users, a network with faults and a virtual clock, all
// driven by one seed.
#pragma once

#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "fake_controller.hpp"
#include "fake_node.hpp"
#include "referee.hpp"
#include "ctld/sched/kept_plan.hpp"
#include "ctld/state/rules/wanted.hpp"

namespace sluice::sim {

// Faults of the core or of a node that must not go unseen.
enum class Plant : uint8_t {
  kNothing,
  kTwoJobsOnCores,
  kTooMuchMemory,
  kTooManyDevices,
  kTooFewCpus,
  kTooLong,
  kBeforeBegin,
  kBeforeDependency,
  kTooManyTasks,
  kTooManyLicenses,
  kReservedNode,
  kReservedCores,
  kOutsideOfReservation,
  kReservedLicenses,
  kStepTwice,
  kStepStays,
  kCount
};
// What is said of it at least.
[[nodiscard]] const char* complaint_about(Plant plant);

struct WorldOptions {
  uint64_t seed = 1;
  uint64_t events = 10'000;  // ends after so many, and when all is quiet again
  bool real_scheduler = false;
  Plant plant = Plant::kNothing;
};

enum class Fault : uint8_t {
  kMessageLost,
  kMessageRepeated,
  kMessageDelayed,
  kNodeCutOff,
  kNodeBack,
  kNodeRebooted,
  kAgentRestarted,
  kControllerCrashed,
  kUndurableLost,
  kStaleReport,
  kConfigReplaced,
  kLaunchFailed,
  kPrologFailed,
  kKillFailed,
  kOrderedReboot,
  kHelperFailed,
  kOrderLost,
  kCount
};
[[nodiscard]] const char* fault_name(Fault fault);

struct Outcome {
  uint64_t events = 0;
  std::map<std::string, uint64_t> event_counts;
  std::map<Fault, uint64_t> fault_counts;
  std::vector<std::string> problems;  // empty: all went well
};

class World {
 public:
  explicit World(const WorldOptions& options);
  Outcome run();

 private:
  // --- chance
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool chance(uint32_t in) { return below(in) == 0; }
  Duration between(int64_t from_ms, int64_t to_ms);

  // --- network and clock
  using Action = std::function<void()>;
  void at(Duration delay, Action action);
  void to_controller(FakeNode& node, state::Command command, FakeController::OnReply on_reply);
  using Deliver = std::function<void(FakeNode&)>;
  void to_node(NodeId id, const state::NodeOrder& order, const Deliver& deliver);
  void repeat(NodeId id, const state::NodeOrder& order, const Deliver& deliver);
  void count(Fault fault) { ++outcome_.fault_counts[fault]; }

  // --- the controller's side
  void perform(const state::Effect& effect);
  void schedule();
  [[nodiscard]] state::StartJobs greedy_plan(const state::ClusterState& snapshot);
  [[nodiscard]] std::vector<state::PlannedPreemption> any_preemptions(
      const state::ClusterState& snapshot);
  void flush_later();
  void crash_controller();
  [[nodiscard]] std::shared_ptr<const ClusterConfig> make_config(uint32_t variant) const;

  // --- the nodes' side
  FakeNode& node_of(NodeId id);
  void launch(FakeNode& node, const protocol::StepKey& key);
  void watch(FakeNode& node, const StepKey& key);
  void terminate(FakeNode& node, RunKey run);
  void report(FakeNode& node);
  void register_node(FakeNode& node);
  void cut_off(FakeNode& node);
  void reboot(FakeNode& node, Fault why);
  void obey(FakeNode& node, const state::RebootNow& order);
  void change_power(FakeNode& node, state::PowerProgram program);
  void disturb_node();

  // --- users (users.cpp)
  void user_acts();
  void want_gres(JobSpec& spec);
  // Some worlds have an accounting daemon.
  [[nodiscard]] bool has_accounting() const { return options_.seed % 4 == 2; }
  void follow_accounting();
  void reset_usage();
  void submit();
  void act_on_job();
  void change_cluster();
  void change_reservations();
  void choose_reserved(protocol::ReservationValues& values);
  void change_triggers();
  void change_crontab();
  [[nodiscard]] FakeNode& dynamic_node() { return *nodes_.back(); }
  void create_dynamic_node();
  void create_step();
  void update_a_job(JobId id, state::Identity who);
  [[nodiscard]] JobId any_job();
  void ask(state::Command command);

  [[nodiscard]] bool all_schedulable() const;
  [[nodiscard]] bool has_problems() const {
    return !controller_.problems.empty() || !referee_.problems().empty();
  }
  // plants.cpp
  void plant();
  [[nodiscard]] bool is_prey(const Job& job) const;
  [[nodiscard]] std::shared_ptr<Allocation> wrong_allocation() const;
  void plant_in(FakeNode& node, const StepKey& key, const FakeStep& step);
  void settle();
  void finish_checks();

  WorldOptions options_;
  std::mt19937_64 random_;
  Time now_ = from_seconds(1'000'000);
  uint64_t order_ = 0;
  struct Later {
    Time when;
    uint64_t order;
    std::shared_ptr<Action> action;
    bool operator<(const Later& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  std::priority_queue<Later> queue_;
  FakeController controller_;
  Referee referee_;
  std::vector<std::unique_ptr<FakeNode>> nodes_;
  std::shared_ptr<const ClusterConfig> config_;
  state::ClusterState snapshot_;  // what the scheduler sees, often old
  uint64_t accounting_version_ = 0;
  std::shared_ptr<const sched::KeptPlan> kept_;  // of its last pass
  uint64_t life_ = 0;  // of the controller: orders of an earlier one may be lost
  uint32_t config_variant_ = 0;
  uint64_t request_id_ = 0;
  bool quiet_ = false;  // no more faults and users
  bool flush_due_ = false;
  Outcome outcome_;
};

}  // namespace sluice::sim
