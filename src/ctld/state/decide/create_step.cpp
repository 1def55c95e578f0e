// srun inside an allocation.
#include <fmt/format.h>

#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/targets.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/step_layout.hpp"

namespace sluice::state {
namespace {

// The same request again (its reply was lost): the step that is there already.
const Step* find_repeated(const Job& job, const StepSpec& spec) {
  if (spec.request_id == 0) return nullptr;
  for (const auto& step : job.steps) {
    if (step->spec != nullptr && step->spec->request_id == spec.request_id) return step.get();
  }
  return nullptr;
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const CreateStep& command, Time now) {
  const Job* job = state.jobs.find(command.job);
  if (job == nullptr) return failure(ErrorCode::kInvalidJobId);
  if (command.who.uid != job->spec->uid && !is_admin(state, command.who.uid)) {
    return failure(ErrorCode::kAccessDenied);
  }
  if (job->state == JobState::kPending) return failure(ErrorCode::kJobPending);
  if (!is_running(*job)) return failure(ErrorCode::kAlreadyDone);
  if (job->preparing.any()) return failure(ErrorCode::kRetry);
  if (job->state == JobState::kSuspended) return failure(ErrorCode::kDisabled);
  if (const Step* known = find_repeated(*job, command.step)) {
    return Decision{{}, StepCreatedReply{known->id}, {}};
  }
  if (job->next_step >= state.config->max_step_count || job->next_step >= kMaxNormalStep) {
    return failure(ErrorCode::kInvalidStepId, "Step limit reached for this job");
  }
  const size_t held = job->allocation->nodes.size();
  if (command.step.min_nodes > held) {
    return failure(ErrorCode::kTooManyNodes,
                   fmt::format("Only allocated {} nodes asked for {}", held, command.step.min_nodes));
  }
  auto layout = lay_out_step(state, *job, command.step);
  if (!layout) return tl::unexpected(layout.error());
  auto spec = std::make_shared<StepSpec>(command.step);
  spec->uid = job->spec->uid;
  spec->gid = job->spec->gid;
  auto step = std::make_shared<Step>();
  step->id = StepId{job->id, command.step.interactive ? kInteractiveStep : job->next_step};
  if (command.step.interactive && find_step(*job, kInteractiveStep) != nullptr) {
    return failure(ErrorCode::kInvalidStepId);
  }
  step->state = StepState::kRunning;
  step->start = now;
  step->nodes_left = Bitmap::first(layout->nodes.size());
  step->layout = std::make_shared<StepLayout>(std::move(*layout));
  step->spec = std::move(spec);
  Decision decision;
  decision.reply = StepCreatedReply{step->id};
  decision.events.emplace_back(StepCreated{std::move(step)});
  return decision;
}

}  // namespace sluice::state
