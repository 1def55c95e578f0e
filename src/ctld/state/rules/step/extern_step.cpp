#include "ctld/state/rules/step/extern_step.hpp"

#include "ctld/state/rules/orders.hpp"
#include "ctld/state/rules/step/step_layout.hpp"

namespace sluice::state {

bool has_extern_step(const ClusterConfig& config) {
  return has_option(config.prolog_flags, "Contain");
}

std::shared_ptr<const Step> make_extern_step(const ClusterState& state, const Job& job) {
  auto layout = std::make_shared<StepLayout>();
  for (const NodeAllocation& held : job.allocation->nodes) {
    layout->nodes.push_back(whole_part(state, held));
    layout->nodes.back().tasks = {layout->num_tasks++};
  }
  layout->node_list = job.allocation->node_list;
  auto spec = std::make_shared<StepSpec>();
  spec->uid = job.spec->uid;
  spec->gid = job.spec->gid;
  auto step = std::make_shared<Step>();
  step->id = StepId{job.id, kExternStep};
  step->spec = std::move(spec);
  step->state = StepState::kRunning;
  step->start = job.start;
  step->nodes_left = Bitmap::first(layout->nodes.size());
  step->layout = std::move(layout);
  return step;
}

bool has_group_for_scripts(const ClusterState& state, const Job& job, const Bitmap& nodes) {
  const Step* step = find_step(job, kExternStep);
  if (step == nullptr || !has_option(state.config->prolog_flags, "RunInJob")) return false;
  return step_nodes_left(*step).contains(nodes);
}

}  // namespace sluice::state
