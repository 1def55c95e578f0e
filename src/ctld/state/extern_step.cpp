#include "ctld/state/extern_step.hpp"

namespace sluice::state {

bool has_extern_step(const ClusterConfig& config) { return has_option(config.prolog_flags, "Contain"); }

std::shared_ptr<const Step> make_extern_step(const ClusterState& state, const Job& job) {
  auto layout = std::make_shared<StepLayout>();
  for (const NodeAllocation& held : job.allocation->nodes) {
    StepNode& part = layout->nodes.emplace_back();
    part.node = held.node;
    part.name = state.nodes.at(held.node).name;
    part.tasks = {layout->num_tasks++};
    part.cpus = held.cpus;
    part.cores = held.cores.to_text();
    part.memory_mib = held.memory_mib;
    part.gres = held.gres;
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

}  // namespace sluice::state
