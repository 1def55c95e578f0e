// The controller round the core as the simulation has it: frames that become durable later, effects
// and replies held back until then, checkpoints, crashes. Every event is checked, and what is
// replayed from encoded frames must equal what was.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ctld/state/apply.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/react.hpp"

namespace sluice::sim {

class FakeController {
 public:
  using OnReply = std::function<void(const Result<state::Reply>&)>;
  using OnEffect = std::function<void(const state::Effect&)>;
  using OnEvent = std::function<void(const state::ClusterState&, const state::Event&)>;

  explicit FakeController(OnEffect on_effect) : on_effect_(std::move(on_effect)) {}

  [[nodiscard]] const state::ClusterState& state() const { return state_; }
  [[nodiscard]] bool up() const { return up_; }

  // Decides and applies; the reply (if anybody waits for it) comes when the frame is durable. An
  // error comes at once. False: the controller is down, nobody answers.
  bool handle(const state::Command& command, Time now, const OnReply& on_reply = {});
  // Applies events that nobody decided, to see them caught.
  void plant(const state::Events& planted) { append(planted, {}, {}); }
  // All frames so far are durable: their effects and replies go out.
  void flush();
  // The controller dies; what was not durable is lost.
  void crash();
  // It comes back from checkpoint and durable frames. `keep_partitions`: as with slurmctld -R.
  void restart(Time now, std::shared_ptr<const ClusterConfig> config, bool keep_partitions);
  // Replays the frames since the last checkpoint, compares, checks everything, takes a checkpoint.
  void verify_and_checkpoint();

  OnEvent on_event;  // after the frame of the event was applied
  uint64_t events = 0;
  std::map<std::string, uint64_t> event_counts;
  std::vector<std::string> problems;
  std::set<JobId> acknowledged;  // submissions that were answered; purged ones are taken out

 private:
  struct Pending {
    state::Effects effects;
    state::Reply reply;
    OnReply on_reply;
    std::vector<JobId> purged;
  };
  void append(const state::Events& decided, state::Effects effects, Pending pending);
  [[nodiscard]] state::ClusterState replayed() const;
  void note(const std::string& where, const std::vector<std::string>& found);

  OnEffect on_effect_;
  bool up_ = true;
  state::ClusterState state_;
  std::string checkpoint_;            // encoded StateImage; empty: none
  std::vector<std::string> durable_;  // frames since the checkpoint
  std::vector<std::string> undurable_;
  std::vector<Pending> pending_;  // of the undurable frames
  uint64_t epoch_ = 0;
};

}  // namespace sluice::sim
