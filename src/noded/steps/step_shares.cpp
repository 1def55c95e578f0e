#include "noded/steps/step_shares.hpp"

#include <string>

#include "common/environment/gres_env.hpp"
#include "common/log/log.hpp"
#include "common/names/step_names.hpp"

namespace sluice::noded {

void log_shares(const protocol::StepLaunch& launch, uint32_t node_index, size_t devices) {
  const bool shown = log::enabled(log::DebugFlag::kSteps) ||
                     log::enabled(log::DebugFlag::kCpuBind) || log::enabled(log::DebugFlag::kGres);
  if (!shown || node_index >= launch.layout.nodes.size()) return;
  const StepNode& here = launch.layout.nodes[node_index];
  const std::string step = step_id_text(launch.key.id);
  log::flag(log::DebugFlag::kSteps, "launching step {} for user {}: {} tasks, {} CPUs, {} MB", step,
            launch.uid, here.tasks.size(), here.cpus, here.memory_mib);
  const bool asks = launch.step != nullptr && !launch.step->cpu_bind.empty();
  log::flag(log::DebugFlag::kCpuBind, "step {} has cores {} of this node, --cpu-bind={}", step,
            here.cores, asks ? launch.step->cpu_bind.view() : "(none)");
  if (here.gres.empty()) return;
  log::flag(log::DebugFlag::kGres, "step {} gets {}, {} kinds of device can be told to it", step,
            gres_text(here.gres, true), devices);
}

}  // namespace sluice::noded
