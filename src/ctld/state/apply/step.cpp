// Steps of a running job.
#include <algorithm>

#include "common/base/step_part.hpp"
#include "common/os/wait_status.hpp"
#include "ctld/state/apply/verbs.hpp"
#include "ctld/state/core/heavy_texts.hpp"
#include "ctld/state/core/indexes.hpp"

namespace sluice::state {
namespace {

constexpr size_t kRequestsKept = 64;  // steps end faster than their sruns ask again only in theory

// So that a request whose answer was lost does not make a second step. Of a job that is over nobody
// may ask for one.
void keep_request(Job& job, const Step& step) {
  if (step.spec == nullptr || step.spec->request_id == 0 || is_completing(job)) return;
  std::vector<uint64_t>& kept = job.ended_requests;
  if (kept.size() >= kRequestsKept) kept.erase(kept.begin());
  kept.push_back(step.spec->request_id);
}

// Changes a live step: a fresh copy takes its place, since snapshots hold the old one.
template <class Change>
void change_step(Job& job, StepNumber number, Change&& change) {
  for (auto& step : job.steps) {
    if (step->id.step != number) continue;
    auto changed = std::make_shared<Step>(*step);
    change(*changed);
    step = std::move(changed);
    return;
  }
  SLUICE_CHECK(false && "no such step");
}

}  // namespace

void apply_event(ClusterState& state, const StepCreated& event) {
  Job& job = state.jobs.edit(event.step->id.job);
  if (event.step->id.step <= kMaxNormalStep)
    job.next_step = number_of_step(event.step->id.step) + 1;
  job.steps.push_back(event.step);
  if (event.step->spec != nullptr)
    count_heavy_text(state, job.spec->uid, 0, heavy_text(*event.step->spec));
}

void apply_event(ClusterState& state, const StepNodesEnded& event) {
  change_step(state.jobs.edit(event.id.job), event.id.step, [&](Step& step) {
    step.nodes_left.and_not(event.positions);
    step.exit_status = worse_of_reports(step.exit_status, event.exit_status);
    if (event.out_of_memory) step.state = StepState::kOutOfMemory;
  });
}

void apply_event(ClusterState& state, const StepEnded& event) {
  Job& job = state.jobs.edit(event.id.job);
  const size_t gone = std::erase_if(job.steps, [&](const auto& step) {
    if (step->id.step != event.id.step) return false;
    keep_request(job, *step);
    if (step->spec != nullptr) count_heavy_text(state, job.spec->uid, heavy_text(*step->spec), 0);
    return true;
  });
  SLUICE_CHECK(gone == 1);
  // a job that was cancelled or ran out of time ends as its processes did, one that is to run again
  // does not end
  const bool counts =
      event.id.step == kBatchStep || (!job.spec->batch && event.id.step <= kMaxNormalStep);
  const bool stopped =
      is_completing(job) && job.state != JobState::kCompleted && (job.flags & kJobRequeued) == 0;
  if (counts && stopped && job.exit_status == 0) job.exit_status = event.exit_status;
  if (event.id.step == kBatchStep || event.id.step == kExternStep) return;
  job.derived_exit_status = worse_of_reports(job.derived_exit_status, event.exit_status);
}

void apply_event(ClusterState& state, const StepEndOrdered& event) {
  change_step(state.jobs.edit(event.id.job), event.id.step, [&](Step& step) {
    step.state = event.by == UINT32_MAX ? StepState::kTimeout : StepState::kCancelled;
    // who gives it time is its own srun (-K), by whom Slurm does not say that it was cancelled
    step.cancelled_by = event.at_once ? event.by : UINT32_MAX;
    step.end = event.time;
  });
}

}  // namespace sluice::state
