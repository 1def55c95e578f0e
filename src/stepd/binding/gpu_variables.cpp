// What a step's processes are told of its GPUs.
#include <fmt/format.h>

#include "common/environment/gres_env.hpp"
#include "stepd/binding/gpu_choice.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {
namespace {

std::vector<StepGpu> gpus_of_step(const PlanInput& input, const Bitmap& units) {
  std::vector<StepGpu> gpus;
  for (const protocol::GresDevice& device : input.start.devices) {
    if (device.name != "gpu" || !units.test(device.unit)) continue;
    gpus.push_back({device.unit, Bitmap::from_text(device.cores).value_or(Bitmap())});
  }
  return gpus;
}

// Numbers of the cores that the task is bound to; all of the step's where it is not.
Bitmap cores_of_task(const PlanInput& input, const StepNode& here, uint32_t local_task) {
  const auto all = Bitmap::from_text(here.cores);
  const size_t tasks = std::max<size_t>(1, here.tasks.size());
  if (!all || !input.start.affinity || all->count() < tasks) return all.value_or(Bitmap());
  const size_t each = all->count() / tasks;
  Bitmap before = all->take_first(each * local_task);
  Bitmap own = all->take_first(each * (local_task + 1));
  own.and_not(before);
  return own;
}

}  // namespace

void set_gpu_variables(const PlanInput& input, uint32_t local_task, TaskSetup& setup) {
  if (input.start.node_index >= input.launch.layout.nodes.size()) return;
  const StepNode& here = input.launch.layout.nodes[input.start.node_index];
  const GresShares of_job = gres_of_job(input.launch, here);
  const bool batch = input.launch.step == nullptr;
  if (of_job.empty() && here.gres.empty()) return;
  set_gres_counts(here.gres, setup.env);
  if (const Bitmap units = gpu_units(of_job); units.any())
    setup.env.set("SLURM_JOB_GPUS", number_list(units));
  else setup.env.unset("SLURM_JOB_GPUS");
  Bitmap units = gpu_units(here.gres);
  if (!batch) {
    const std::vector<StepGpu> gpus = gpus_of_step(input, units);
    if (gpus.size() == units.count() && !gpus.empty()) {
      const std::string_view bind = gpu_part(input.launch.step->tres_bind);
      GpuBinding binding =
          gpus_of_task(gpus, bind, local_task, cores_of_task(input, here, local_task));
      units = std::move(binding.units);
      if (wants_gpu_report(bind) && input.launch.layout.num_tasks > 1)
        setup.gpu_report = gpu_report(gpus, units);
      if (!binding.complaint.empty())
        setup.gpu_complaint =
            fmt::format("slurmstepd-{}: error: {}\n", here.name, binding.complaint);
    }
    if (units.any()) setup.env.set("SLURM_STEP_GPUS", number_list(units));
    else setup.env.unset("SLURM_STEP_GPUS");
  }
  set_visible_gpus(units, input.start.devices, setup.env);
  set_mps_percentage(here.gres, input.start.devices, setup.env);
}

}  // namespace sluice::stepd
