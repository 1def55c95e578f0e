#include "stepd/binding/frequency_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {

constexpr uint32_t kParts = 126;  // of a range of which the host lists nothing, as Slurm cuts it

std::vector<uint32_t> frequencies_of(const CpuOffer& offer) {
  if (!offer.frequencies.empty() || offer.lowest == 0 || offer.highest < offer.lowest)
    return offer.frequencies;
  std::vector<uint32_t> all;
  const uint32_t width = (offer.highest - offer.lowest) / kParts;
  for (uint32_t part = 0; part + 1 < kParts; ++part) all.push_back(offer.lowest + part * width);
  all.push_back(offer.highest);
  return all;
}

// As this host spells it; empty: it has none, and the problem is told.
std::string governor_of(uint32_t wanted, const CpuOffer& offer, std::string& problem) {
  const std::string name = frequency_name(wanted);
  const auto found = std::ranges::find_if(
      offer.governors, [&](const std::string& one) { return iequals(one, name); });
  if (found != offer.governors.end()) return *found;
  problem = fmt::format("this host does not have the governor {}", name);
  return {};
}

}  // namespace

FrequencyPlan plan_frequency(const CpuFrequency& request, const CpuOffer& offer) {
  FrequencyPlan plan;
  const bool ranges = request.min != kNoFrequency;
  const bool speeds =
      request.max != kNoFrequency && (!ranges || request.governor == kUserSpaceGovernor);
  const uint32_t governor = speeds ? kUserSpaceGovernor : request.governor;
  if (governor != kNoFrequency) plan.wanted.governor = governor_of(governor, offer, plan.problem);
  if (request.max == kNoFrequency || (!ranges && plan.wanted.governor.empty())) return plan;
  const std::vector<uint32_t> all = frequencies_of(offer);
  if (all.empty()) return {{}, "this host does not say which frequencies it has"};
  const uint32_t highest = choose_frequency(all, request.max);
  if (ranges) {
    const uint32_t lowest = choose_frequency(all, request.min);
    if (lowest > highest) return {{}, fmt::format("{} kHz is above {} kHz", lowest, highest)};
    plan.wanted.min = lowest;
  }
  if (speeds && !plan.wanted.governor.empty()) plan.wanted.speed = highest;
  else plan.wanted.max = highest;
  return plan;
}

GpuClocks plan_gpu_clocks(const GpuFrequency& request, const GpuOffer& offer) {
  const auto asked = [](uint32_t frequency) {
    return frequency == kNoFrequency ? kHighFrequency : frequency;
  };
  std::vector<uint32_t> of_memory;
  for (const auto& [memory, graphics] : offer) of_memory.push_back(memory);
  const uint32_t memory = choose_frequency(of_memory, asked(request.memory));
  return {memory, choose_frequency(offer.at(memory), asked(request.graphics))};
}

}  // namespace sluice::stepd
