// What the scheduler's passes did since the counts were last reset (sdiag).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/time.hpp"
#include "common/protocol/admin.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/state/messages/effects.hpp"

namespace sluice::engine {

class PassCounts {
 public:
  void add(const sched::PassTimings& pass, Duration took, Time now);
  // What the engine made of a pass's starts: two passes may have planned the same.
  void note_started(const state::StartedReply& reply);
  void reset();  // but for what is counted since the start
  // Into the answer to sdiag.
  void report(protocol::QueryStatisticsReply& reply) const;

 private:
  struct StageSum {
    std::chrono::nanoseconds last{0}, max{0}, total{0};
  };
  struct Kind {
    uint64_t passes = 0;
    Duration last{0}, max{0}, total{0};
    uint64_t planned = 0, kept = 0;
    Time when = kNoTime;
    std::array<StageSum, sched::kStages> stages;
    void add(const sched::PassTimings& pass, Duration took, Time now);
    [[nodiscard]] protocol::PassKind report(std::string_view name) const;
  };
  protocol::CycleCounts all_;
  protocol::CycleCounts backfill_;  // passes in which a job had to wait for nodes
  uint64_t backfilled_ = 0;
  uint64_t backfilled_ever_ = 0;             // never reset
  uint64_t backfilled_components_ever_ = 0;  // as this
  Kind full_;                                // planned everything anew
  Kind incremental_;                         // repaired a plan
};

}  // namespace sluice::engine
