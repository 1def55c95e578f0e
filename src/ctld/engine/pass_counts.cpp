#include "ctld/engine/pass_counts.hpp"

#include <algorithm>

namespace sluice::engine {
namespace {

void add_cycle(protocol::CycleCounts& into, const sched::PassTimings& pass, Duration took,
               Time now) {
  const auto us = static_cast<uint64_t>(took.count());
  ++into.cycles;
  into.last = now;
  into.last_us = us;
  into.max_us = std::max(into.max_us, us);
  into.total_us += us;
  into.total_depth += into.last_depth = pass.considered;
  into.total_tried += into.last_tried = pass.tested;
  into.total_queue += into.last_queue = pass.pending;
  into.total_table += into.last_table = pass.planned;
  into.ended_licenses += pass.unlicensed;
}

uint64_t& end_of(protocol::CycleCounts& into, const sched::PassTimings& pass, bool backfill) {
  if (pass.most_starts || (backfill && pass.most_backfilled)) return into.ended_starts;
  if (pass.out_of_time) return into.ended_time;
  if (pass.most_jobs || pass.most_of_partition) return into.ended_depth;
  return pass.most_tests ? into.ended_tests : into.ended_queue;
}

uint64_t microseconds(std::chrono::nanoseconds time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

}  // namespace

void PassCounts::Kind::add(const sched::PassTimings& pass, Duration took, Time now) {
  ++passes;
  last = took;
  max = std::max(max, took);
  total += took;
  planned += pass.planned;
  kept += pass.kept;
  when = now;
  for (size_t stage = 0; stage < sched::kStages; ++stage) {
    StageSum& sum = stages[stage];
    sum.last = pass.stages[stage];
    sum.max = std::max(sum.max, sum.last);
    sum.total += sum.last;
  }
}

protocol::PassKind PassCounts::Kind::report(std::string_view name) const {
  protocol::PassKind out;
  out.name = name;
  out.passes = passes;
  out.last_us = microseconds(last);
  out.max_us = microseconds(max);
  out.total_us = microseconds(total);
  out.planned = planned;
  out.kept = kept;
  out.last = when;
  for (size_t stage = 0; stage < sched::kStages; ++stage) {
    const StageSum& sum = stages[stage];
    out.stages.push_back({std::string(sched::kStageNames[stage]), microseconds(sum.last),
                          microseconds(sum.max), microseconds(sum.total)});
  }
  return out;
}

void PassCounts::add(const sched::PassTimings& pass, Duration took, Time now) {
  add_cycle(all_, pass, took, now);
  ++end_of(all_, pass, false);
  if (pass.planned > 0) {
    add_cycle(backfill_, pass, took, now);
    ++end_of(backfill_, pass, true);
  }
  (pass.incremental ? incremental_ : full_).add(pass, took, now);
}

void PassCounts::note_started(const state::StartedReply& reply) {
  backfilled_ += reply.backfilled;
  backfilled_ever_ += reply.backfilled;
  backfilled_components_ever_ += reply.backfilled_components;
}

void PassCounts::reset() {
  PassCounts fresh;
  fresh.backfilled_ever_ = backfilled_ever_;
  fresh.backfilled_components_ever_ = backfilled_components_ever_;
  *this = fresh;
}

void PassCounts::report(protocol::QueryStatisticsReply& reply) const {
  reply.cycles = all_;
  reply.backfill = backfill_;
  reply.backfilled = backfilled_;
  reply.backfilled_ever = backfilled_ever_;
  reply.backfilled_components = backfilled_components_ever_;
  reply.passes = {full_.report("full"), incremental_.report("incremental")};
}

}  // namespace sluice::engine
