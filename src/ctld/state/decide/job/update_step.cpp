// scontrol update StepId=…
#include "common/base/step_part.hpp"
#include "ctld/state/decide/job/targets.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {

Result<Decision> decide_on(const ClusterState& state, const UpdateStep& command, Time) {
  const protocol::UpdateStepRequest& request = command.request;
  const Job* job = state.jobs.find(request.id.job);
  if (job == nullptr) return failure(ErrorCode::kInvalidJobId);
  if (!is_owner_or_admin(state, *job, command.who.uid)) return failure(ErrorCode::kInvalidUser);
  if (!request.all_steps && find_steps(*job, request.id.step).empty())
    return failure(ErrorCode::kInvalidJobId);
  Draft draft(state);
  bool any = false;
  for (const auto& step : job->steps) {
    const StepNumber number = request.id.step;
    const bool wanted =
        request.all_steps || step->id.step == number || number_of_step(step->id.step) == number;
    if (!wanted || step->spec == nullptr || step->end != kNoTime) continue;
    if (step->id.step == kExternStep) continue;  // it lasts as long as its job
    any = true;
    auto spec = std::make_shared<StepSpec>(*step->spec);
    spec->time_limit = request.time_limit;
    draft.emit(StepUpdated{.id = step->id, .spec = std::move(spec)});
  }
  // the batch script lasts as long as its job, too
  if (!any && !request.all_steps) return failure(ErrorCode::kInvalidJobId);
  return draft.take();
}

}  // namespace sluice::state
