// What surrounds the parts of a step daemon, without processes and without waiting.
#pragma once

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stepd/group_counts.hpp"
#include "stepd/io/audience.hpp"
#include "stepd/process/step_processes.hpp"
#include "stepd/step_clock.hpp"
#include "stepd/step_facts.hpp"

namespace sluice::stepd::test {

using protocol::FrameType;

// Time stands still until advance().
class FakeClock final : public StepClock {
 public:
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override { return now_; }
  [[nodiscard]] Time time() const override { return Time(std::chrono::seconds(1700000000)); }
  [[nodiscard]] std::unique_ptr<Alarm> make_alarm() override {
    return std::make_unique<FakeAlarm>(*this);
  }
  // Alarms go off at their times, in their order.
  void advance(Duration by) {
    const auto until = now_ + by;
    while (!due_.empty()) {
      const auto next =
          std::ranges::min_element(due_, {}, [](const auto& alarm) { return alarm.second.at; });
      if (next->second.at > until) break;
      now_ = next->second.at;
      const std::function<void()> then = std::move(next->second.then);
      due_.erase(next);
      then();
    }
    now_ = until;
  }
  [[nodiscard]] size_t waiting() const { return due_.size(); }

 private:
  struct Due {
    std::chrono::steady_clock::time_point at;
    std::function<void()> then;
  };
  class FakeAlarm final : public Alarm {
   public:
    explicit FakeAlarm(FakeClock& clock) : clock_(clock) {}
    FakeAlarm(const FakeAlarm&) = delete;
    FakeAlarm& operator=(const FakeAlarm&) = delete;
    ~FakeAlarm() override { clock_.due_.erase(this); }
    void set(Duration after, std::function<void()> then) override {
      clock_.due_[this] = {clock_.now_ + after, std::move(then)};
    }
    void cancel() override { clock_.due_.erase(this); }

   private:
    FakeClock& clock_;
  };
  std::chrono::steady_clock::time_point now_;
  std::map<const Alarm*, Due> due_;
};

class FakeProcesses final : public StepProcesses {
 public:
  [[nodiscard]] std::vector<pid_t> members() const override { return alive; }
  [[nodiscard]] bool any_lives() const override { return !kept_dead && !alive.empty(); }
  void signal(int signal) const override { signals.push_back(signal); }
  void suspend() const override { signals.push_back(SIGSTOP); }
  void resume() const override { signals.push_back(SIGCONT); }
  void thaw() const override {}
  void kill() const override {
    signals.push_back(SIGKILL);
    if (die_of_kill) alive.clear();
  }
  [[nodiscard]] bool any_catches_term() const override { return catch_term && !alive.empty(); }

  mutable std::vector<pid_t> alive;
  mutable std::vector<int> signals;  // that they were sent
  bool die_of_kill = true;
  bool kept_dead = false;  // all of them
  bool catch_term = false;
};

class FakeGroups final : public GroupCounts {
 public:
  [[nodiscard]] bool exists() const override { return true; }
  [[nodiscard]] std::vector<pid_t> processes_of(uint32_t local_task) const override {
    const auto found = processes.find(local_task);
    return found == processes.end() ? std::vector<pid_t>() : found->second;
  }
  [[nodiscard]] uint64_t oom_kills() const override { return kills; }
  [[nodiscard]] uint64_t oom_kills_of(uint32_t local_task) const override {
    return kills > 0 && local_task == starved ? kills : 0;
  }
  [[nodiscard]] std::vector<std::string> oom_victims() const override { return victims; }
  [[nodiscard]] uint64_t fork_refusals() const override { return refusals; }
  [[nodiscard]] uint64_t most_pids() const override { return 100; }

  std::map<uint32_t, std::vector<pid_t>> processes;  // by local task
  uint64_t kills = 0;
  uint32_t starved = 0;
  std::vector<std::string> victims;
  uint64_t refusals = 0;
};

class FakeAudience final : public Audience {
 public:
  struct Sent {
    FrameType type;
    uint32_t task;
    std::string body;
    bool operator==(const Sent&) const = default;
  };
  void send(FrameType type, uint32_t task, std::string_view body) override {
    sent.push_back({type, task, std::string(body)});
  }
  void send_owner(FrameType type, uint32_t task, std::string_view body) override {
    to_owner.push_back({type, task, std::string(body)});
  }
  [[nodiscard]] bool congested() const override { return full; }
  [[nodiscard]] bool has_owner() const override { return owner; }
  void pause_input() override { ++pauses; }
  void resume_input() override { ++resumes; }
  [[nodiscard]] std::string bodies(FrameType type) const {
    std::string all;
    for (const Sent& one : sent) {
      if (one.type == type) all += one.body;
    }
    return all;
  }

  std::vector<Sent> sent;
  std::vector<Sent> to_owner;
  bool full = false;
  bool owner = true;
  int pauses = 0;
  int resumes = 0;
};

// A step of twelve tasks on two nodes, on the first of them; `with` changes what it asks for.
inline std::unique_ptr<StepFacts> step_facts(const std::function<void(StepSpec&)>& with =
                                                 [](StepSpec&) {}) {
  protocol::StepLaunch launch;
  launch.key.id = {7, 0};
  auto step = std::make_shared<StepSpec>();
  with(*step);
  launch.step = step;
  launch.job_spec = std::make_shared<JobSpec>();
  launch.layout.nodes.resize(2);
  launch.layout.num_tasks = 12;
  auto facts = std::make_unique<StepFacts>(protocol::StepdStart{}, std::move(launch));
  facts->start.node_name = "n1";
  return facts;
}
inline std::unique_ptr<StepFacts> batch_facts() {
  auto facts = step_facts();
  facts->launch.step = nullptr;
  return facts;
}

}  // namespace sluice::stepd::test
