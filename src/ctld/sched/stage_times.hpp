// How long a pass spends in each of its stages. A pass reads no clock of its own: whoever begins it
// lends one. A stage that another interrupts goes on when that is over, so that all of them
// together are the pass.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::sched {

enum class Stage : uint8_t {
  kPrepare,     // what nodes have free now and later, and what of the kept plan is void
  kEligible,    // which jobs may start at all
  kPrioritise,  // their order
  kPlace,       // room for a job now
  kBackfill,    // the earliest later start of one that has to wait, which it keeps
  kPreempt,     // who makes room for it
  kExplain,     // why it waits
};
inline constexpr std::array<std::string_view, 7> kStageNames = {
    "prepare", "eligible", "prioritise", "place", "backfill", "preempt", "explain"};
inline constexpr size_t kStages = kStageNames.size();

using StageTimes = std::array<std::chrono::nanoseconds, kStages>;
using StageClock = std::chrono::nanoseconds (*)();  // null: nothing is timed

class StageTimer {
 public:
  // The stage `first` begins.
  StageTimer(StageClock clock, Stage first) : clock_(clock), stage_(first) {
    if (clock_ != nullptr) since_ = clock_();
  }
  // Another stage begins; says which one it ends.
  Stage enter(Stage next) {
    const Stage before = stage_;
    if (clock_ == nullptr || next == before) return before;
    const std::chrono::nanoseconds now = clock_();
    times_[static_cast<size_t>(before)] += now - since_;
    since_ = now;
    stage_ = next;
    return before;
  }
  // Until now.
  [[nodiscard]] StageTimes times() const {
    StageTimes out = times_;
    if (clock_ != nullptr) out[static_cast<size_t>(stage_)] += clock_() - since_;
    return out;
  }

 private:
  StageClock clock_;
  Stage stage_;
  std::chrono::nanoseconds since_{0};
  StageTimes times_{};
};

// A stage for as long as this lives.
class StageScope {
 public:
  StageScope(StageTimer& timer, Stage stage) : timer_(timer), before_(timer.enter(stage)) {}
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;
  ~StageScope() { timer_.enter(before_); }

 private:
  StageTimer& timer_;
  Stage before_;
};

}  // namespace sluice::sched
