// Rows of options about generic resources and GPUs.
#include <algorithm>

#include <fmt/format.h>

#include "common/syntax/gpu_frequency.hpp"
#include "common/submit/submit_setters.hpp"

namespace sluice::submit {
namespace {

tl::unexpected<OptionProblem> bad_gres() {
  return refuse("Invalid generic resource (gres) specification", 1);
}

std::string_view name_of(std::string_view item) {
  return item.substr(0, item.find_first_of(":=", 5));  // behind "gres/"
}

// What was said of the same resources before (by a variable, say) no longer counts.
void append(SharedText& list, const std::string& more) {
  const std::vector<std::string> added = split_list(more);
  std::vector<std::string> kept;
  for (const std::string& item : split_list(list.view())) {
    const bool again = std::any_of(added.begin(), added.end(), [&](const std::string& other) {
      return name_of(other) == name_of(item);
    });
    if (!again) kept.push_back(item);
  }
  kept.insert(kept.end(), added.begin(), added.end());
  list = join(kept, ",");
}

OptionResult set_gres(Submission& s, const Input& in) {
  if (in.value == "help" || in.value == "list") {
    std::string text = "Valid gres options are:\n";
    if (in.gres_types != nullptr)
      for (const std::string& type : in.gres_types()) text += type + "[[:type]:count]\n";
    return show(std::move(text));
  }
  if (in.value.empty()) {
    // a resource without a name: refused where the job or step is asked for (check_gres())
    s.job.gres = "gres/";
    return {};
  }
  const auto gres = parse_gres(in.value);
  if (!gres) return bad_gres();
  if (!gres->empty()) append(s.job.gres, *gres);
  s.step.gres = iequals(in.value, "none") ? SharedText("none") : SharedText();
  return {};
}

template <auto Member>
OptionResult set_gpus(Submission& s, const Input& in) {
  const auto gpus = parse_gpus(in.value);
  if (!gpus) return bad_gres();
  append(place<Member>(s), *gpus);
  if (in.option->name == "gpus-per-node") s.settings.gpus_per_node = in.value;
  return {};
}

OptionResult set_gpu_bind(Submission& s, const Input& in) {
  if (!is_gpu_bind(in.value)) {
    return refuse(fmt::format("Invalid --gpu-bind argument: gpu:{}", in.value));
  }
  if (std::string why = bad_gpu_number(in.value); !why.empty()) {
    return tl::unexpected<OptionProblem>(OptionProblem{
        {std::move(why), fmt::format("Invalid --gpu-bind argument: gpu:{}", in.value)}, 255, {}});
  }
  s.job.tres_bind = fmt::format("gres/gpu:{}", in.value);
  return {};
}

// gres/gpu:closest+gres/nic:map:0,1
OptionResult set_tres_bind(Submission& s, const Input& in) {
  constexpr std::string_view kKind = "gres/";
  const std::string why = fmt::format("Invalid --tres-bind argument: {}", in.value);
  const std::vector<std::string> items = split(in.value, '+');
  if (items.empty()) return refuse(why);
  for (const std::string& item : items) {
    const size_t colon = item.find(':');
    if (!item.starts_with(kKind) || colon == std::string::npos || colon == kKind.size())
      return refuse(why);
    const std::string binding = item.substr(colon + 1);
    if (!is_gpu_bind(binding)) return refuse(why);
    if (std::string bad = bad_gpu_number(binding); !bad.empty()) {
      return tl::unexpected<OptionProblem>(OptionProblem{{std::move(bad), why}, 255, {}});
    }
  }
  s.job.tres_bind = in.value;
  return {};
}

OptionResult set_gpu_freq(Submission& s, const Input& in) {
  if (!parse_gpu_frequency(in.value))
    return refuse(fmt::format("Invalid --gpu-freq argument: gpu:{}", in.value));
  s.job.tres_freq = fmt::format("gpu:{}", in.value);
  return {};
}

OptionResult set_gres_flags(Submission& s, const Input& in) {
  constexpr std::string_view kFlags[] = {"disable-binding", "enforce-binding",
                                         "multiple-tasks-per-sharing", "one-task-per-sharing",
                                         "allow-task-sharing"};
  if (in.value.empty()) return bad_specification(in);
  for (const std::string& flag : split(in.value, ',')) {
    bool known = false;
    for (const std::string_view name : kFlags) known = known || iequals(name, flag);
    if (!known) return bad_specification(in);
  }
  s.job.gres_flags = to_lower(in.value);
  return {};
}

// cpu=2,gres/gpu:1,license/matlab:1: the CPUs are --cpus-per-task's. The rest is kept as it was
// given: tasks are told so.
OptionResult set_tres_per_task(Submission& s, const Input& in) {
  for (const std::string& item : split(in.value, ',')) {
    const size_t cut = item.find_first_of("=:");
    const std::string_view count =
        cut == std::string::npos ? std::string_view() : std::string_view(item).substr(cut + 1);
    if (item.starts_with("cpu")) {
      const auto cpus = to_number<uint32_t>(count);
      if (!cpus || *cpus == 0) return bad_specification(in);
      s.job.cpus_per_task = *cpus;
    } else if (item.starts_with("license/") && item.size() > 8) {
      if (cut != std::string::npos && !to_number<uint32_t>(count)) return bad_specification(in);
      append(s.job.tres_per_task, item);  // held when the number of tasks is known
    } else if (item.starts_with("gres/") && item.size() > 5) {
      append(s.job.tres_per_task, item);
    } else {
      return bad_specification(in);
    }
  }
  return {};
}

OptionResult set_cpus_per_gpu(Submission& s, const Input& in) {
  const auto number = to_number<uint32_t>(in.value);
  if (!number || *number == 0) return bad_number(in);
  s.job.cpus_per_gpu = in.value;
  return {};
}

constexpr SubmitOption kRows[] = {
    {.name = "cpus-per-gpu",
     .argument = OptionArgument::kRequired,
     .environment = "*_CPUS_PER_GPU",
     .tier = 2,
     .set = set_cpus_per_gpu,
     .section = OptionSection::kGpu,
     .value_name = "n",
     .help = "CPUs for each GPU"},
    {.name = "gpu-bind",
     .argument = OptionArgument::kRequired,
     .environment = "*_GPU_BIND",
     .tier = 2,
     .set = set_gpu_bind,
     .section = OptionSection::kGpu,
     .value_name = "...",
     .help = "how tasks and GPUs go together"},
    {.name = "gpu-freq",
     .argument = OptionArgument::kRequired,
     .environment = "*_GPU_FREQ",
     .set = set_gpu_freq,
     .section = OptionSection::kGpu,
     .value_name = "...",
     .help = "frequency and voltage of the GPUs"},
    {.name = "gpus",
     .letter = 'G',
     .argument = OptionArgument::kRequired,
     .environment = "*_GPUS",
     .unset_if_empty = "*_GPUS",
     .tier = 1,
     .set = set_gpus<&JobSpec::tres_per_job>,
     .section = OptionSection::kGpu,
     .value_name = "n",
     .help = "GPUs of the whole job"},
    {.name = "gpus-per-node",
     .argument = OptionArgument::kRequired,
     .environment = "*_GPUS_PER_NODE",
     .unset_if_empty = "*_GPUS_PER_NODE",
     .tier = 1,
     .set = set_gpus<&JobSpec::gres>,
     .section = OptionSection::kGpu,
     .value_name = "n",
     .help = "GPUs on each node"},
    {.name = "gpus-per-socket",
     .argument = OptionArgument::kRequired,
     .environment = "*_GPUS_PER_SOCKET",
     .unset_if_empty = "*_GPUS_PER_SOCKET",
     .tier = 2,
     .set = set_gpus<&JobSpec::tres_per_socket>,
     .section = OptionSection::kGpu,
     .value_name = "n",
     .help = "GPUs on each socket"},
    {.name = "gpus-per-task",
     .argument = OptionArgument::kRequired,
     .environment = "*_GPUS_PER_TASK",
     .unset_if_empty = "*_GPUS_PER_TASK",
     .tier = 1,
     .set = set_gpus<&JobSpec::tres_per_task>,
     .section = OptionSection::kGpu,
     .value_name = "n",
     .help = "GPUs of each task"},
    {.name = "gres",
     .argument = OptionArgument::kRequired,
     .environment = "*_GRES SLURM_STEP_GRES",
     .unset_if_empty = "SLURM_STEP_GRES",
     .tier = 1,
     .set = set_gres,
     .section = OptionSection::kRun,
     .value_name = "list",
     .help = "generic resources on each node, as name:type:count"},
    {.name = "gres-flags",
     .argument = OptionArgument::kRequired,
     .environment = "*_GRES_FLAGS",
     .tier = 2,
     .set = set_gres_flags,
     .section = OptionSection::kRun,
     .value_name = "opts",
     .help = "how generic resources are bound"},
    {.name = "tres-bind",
     .argument = OptionArgument::kRequired,
     .environment = "*_TRES_BIND",
     .set = set_tres_bind},
    {.name = "tres-per-task",
     .argument = OptionArgument::kRequired,
     .environment = "*_TRES_PER_TASK",
     .tier = 2,
     .set = set_tres_per_task,
     .section = OptionSection::kRun,
     .value_name = "list",
     .help = "CPUs and generic resources of each task"},
};

}  // namespace

std::span<const SubmitOption> device_rows() { return kRows; }

}  // namespace sluice::submit
