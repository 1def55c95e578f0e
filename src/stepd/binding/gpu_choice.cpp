#include "stepd/binding/gpu_choice.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/environment/gres_env.hpp"
#include "stepd/binding/bind_list.hpp"
#include "stepd/binding/task_binding.hpp"

namespace sluice::stepd {
namespace {

Bitmap all_units(const std::vector<StepGpu>& gpus) {
  Bitmap units;
  for (const StepGpu& gpu : gpus) units.set(gpu.unit);
  return units;
}

Bitmap closest(const std::vector<StepGpu>& gpus, const Bitmap& cores) {
  Bitmap units;
  for (const StepGpu& gpu : gpus) {
    if (gpu.cores.none() || gpu.cores.intersects(cores)) units.set(gpu.unit);
  }
  return units.any() ? units : all_units(gpus);
}

// The `number` after a word's colon; 0: it is none.
uint32_t number_after(std::string_view text) {
  return to_number<uint32_t>(text.substr(text.find(':') + 1)).value_or(0);
}

// So many GPUs for each task in turn, or one GPU for so many tasks.
Bitmap in_turn(const std::vector<StepGpu>& gpus, uint32_t first, uint32_t count) {
  Bitmap units;
  const auto most = std::min<size_t>(count, gpus.size());
  for (uint32_t i = 0; i < most; ++i) units.set(gpus[(first + i) % gpus.size()].unit);
  return units;
}

GpuBinding listed(const std::vector<StepGpu>& gpus, std::string_view bind, uint32_t local_task) {
  const std::string_view item = list_item(bind.substr(bind.find(':') + 1), local_task);
  std::vector<uint32_t> wanted;
  if (bind.starts_with("mask")) {
    wanted = bits_of_mask(item);
  } else if (const auto number = to_number<uint32_t>(item)) {
    wanted.push_back(*number);
  }
  const Bitmap all = all_units(gpus);
  GpuBinding binding;
  for (const uint32_t unit : wanted) {
    if (all.test(unit)) binding.units.set(unit);
  }
  if (binding.units.any()) return binding;
  binding.units.set(gpus.front().unit);
  binding.complaint = fmt::format(
      "Bind request gpu:{} does not specify any devices within the allocation for task {}. "
      "Binding to the first device in the allocation instead.",
      bind, local_task);
  return binding;
}

}  // namespace

std::string_view gpu_part(std::string_view tres_bind) {
  for (const std::string_view prefix : {"gres/gpu:", "gpu:"}) {
    const size_t at = tres_bind.find(prefix);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = tres_bind.substr(at + prefix.size());
    return rest.substr(0, rest.find('+'));
  }
  return {};
}

bool wants_gpu_report(std::string_view bind) {
  const bool verbose = starts_with_i(bind, "verbose,") || starts_with_i(bind, "v,");
  return verbose && !iequals(bind.substr(bind.find(',') + 1), "none");
}

std::string gpu_report(const std::vector<StepGpu>& gpus, const Bitmap& bound) {
  const Bitmap all = all_units(gpus);
  return fmt::format(
      "gpu-bind: usable_gres={}; bit_alloc={}; local_inx=0; global_list={}; local_list={}\n",
      hex_mask(bound, 0, true), hex_mask(all, 0, true), number_list(bound), number_list(bound));
}

GpuBinding gpus_of_task(const std::vector<StepGpu>& gpus, std::string_view bind,
                        uint32_t local_task, const Bitmap& cores) {
  for (const std::string_view prefix : {"verbose,", "v,", "quiet,", "q,"}) {
    if (starts_with_i(bind, prefix)) bind.remove_prefix(prefix.size());
  }
  if (gpus.empty() || bind.empty() || bind == "none") return {all_units(gpus), {}};
  if (bind == "closest") return {closest(gpus, cores), {}};
  const uint32_t number = std::max(1U, number_after(bind));
  if (bind.starts_with("single:")) return {in_turn(gpus, local_task / number, 1), {}};
  if (bind.starts_with("per_task:")) return {in_turn(gpus, local_task * number, number), {}};
  if (bind.starts_with("map") || bind.starts_with("mask")) return listed(gpus, bind, local_task);
  return {all_units(gpus), {}};
}

}  // namespace sluice::stepd
