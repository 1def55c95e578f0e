// Which CPUs a task is bound to (TaskPlugin=task/affinity, --cpu-bind).
#include <algorithm>

#include <sched.h>

#include "common/base/bitmap.hpp"
#include "common/base/text.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {
namespace {

// The real CPUs of this host that this process may use, in order.
std::vector<int> own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// The configured CPUs (not cores) of the step on this node, in order.
std::vector<uint32_t> step_cpus(const PlanInput& input) {
  const auto& nodes = input.launch.layout.nodes;
  if (input.start.node_index >= nodes.size()) return {};
  const auto cores = Bitmap::from_text(nodes[input.start.node_index].cores);
  std::vector<uint32_t> cpus;
  if (!cores) return cpus;
  const uint32_t threads = std::max(input.start.threads_per_core, 1U);
  cores->for_each([&](size_t core) {
    for (uint32_t thread = 0; thread < threads; ++thread) {
      cpus.push_back(static_cast<uint32_t>(core) * threads + thread);
    }
  });
  return cpus;
}

// The item of a list that is `index`'s, going round when the list is short.
std::string list_item(std::string_view list, uint32_t index) {
  const auto items = split_list(list);
  return items.empty() ? std::string() : items[index % items.size()];
}

std::vector<uint32_t> bits_of_mask(std::string_view mask) {
  if (mask.starts_with("0x") || mask.starts_with("0X")) mask.remove_prefix(2);
  std::vector<uint32_t> bits;
  uint32_t place = 0;
  for (auto digit = mask.rbegin(); digit != mask.rend(); ++digit, place += 4) {
    const auto value =
        std::string_view("0123456789abcdef")
            .find(static_cast<char>(*digit >= 'A' && *digit <= 'F' ? *digit + 32 : *digit));
    if (value == std::string_view::npos) return {};
    for (uint32_t bit = 0; bit < 4; ++bit) {
      if ((value >> bit & 1) != 0) bits.push_back(place + bit);
    }
  }
  return bits;
}

// The configured CPUs a task gets by what --cpu-bind says; empty: not bound.
std::vector<uint32_t> chosen_cpus(const PlanInput& input, std::string_view bind, uint32_t local) {
  const std::vector<uint32_t> cpus = step_cpus(input);
  for (const std::string& word : split_list(bind)) {
    if (word == "none" || word == "no") return {};
    if (word == "rank" && !cpus.empty()) return {cpus[local % cpus.size()]};
  }
  if (const size_t at = bind.find("map_cpu:"); at != std::string_view::npos) {
    const auto cpu = to_number<uint32_t>(list_item(bind.substr(at + 8), local));
    return cpu ? std::vector<uint32_t>{*cpu} : std::vector<uint32_t>{};
  }
  if (const size_t at = bind.find("mask_cpu:"); at != std::string_view::npos) {
    return bits_of_mask(list_item(bind.substr(at + 9), local));
  }
  if (input.launch.step == nullptr) return cpus;
  const auto& here = input.launch.layout.nodes[input.start.node_index];
  const uint32_t each = std::max(input.launch.step->cpus_per_task, 1U);
  const size_t tasks = here.tasks.size();
  if (cpus.size() < tasks * each || cpus.size() % tasks != 0) return cpus;
  const size_t share = cpus.size() / tasks;
  const auto from = cpus.begin() + static_cast<std::ptrdiff_t>(local * share);
  return {from, from + static_cast<std::ptrdiff_t>(share)};
}

}  // namespace

std::optional<cpu_set_t> cpus_of_task(const PlanInput& input, uint32_t local_task) {
  if (!input.start.affinity) return std::nullopt;
  const std::string_view bind =
      input.launch.step == nullptr ? std::string_view() : input.launch.step->cpu_bind.view();
  const std::vector<uint32_t> wanted = chosen_cpus(input, bind, local_task);
  const std::vector<int> real = own_cpus();
  if (wanted.empty() || real.empty()) return std::nullopt;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const uint32_t cpu : wanted)
    CPU_SET(real[cpu % real.size()], &set);
  return set;
}

}  // namespace sluice::stepd
