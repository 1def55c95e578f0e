#include "ctld/state/core/heavy_texts.hpp"

#include <fmt/format.h>

#include "common/base/check.hpp"
#include "common/model/job.hpp"
#include "common/model/job_spec.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/core/text_bytes.hpp"

namespace sluice::state {

size_t heavy_text(const JobSpec& spec) {
  const size_t bytes = text_memory(spec);
  return bytes > HeavyTexts::kLight ? bytes : 0;
}

void count_heavy_text(ClusterState& state, uint32_t uid, size_t before, size_t after) {
  if (before == after) return;
  auto texts = std::make_shared<HeavyTexts>(*state.heavy_texts);
  uint64_t& held = texts->of_user[uid];
  SLUICE_CHECK(held >= before && texts->all >= before);
  held = held - before + after;
  texts->all = texts->all - before + after;
  if (held == 0) texts->of_user.erase(uid);
  state.heavy_texts = std::move(texts);
}

size_t heavy_text(const StepSpec& spec) {
  const size_t bytes = text_memory(spec);
  return bytes > HeavyTexts::kLightStep ? bytes : 0;
}

size_t heavy_text_of_steps(const Job& job) {
  size_t bytes = 0;
  for (const auto& step : job.steps)
    if (step->spec != nullptr) bytes += heavy_text(*step->spec);
  return bytes;
}

namespace {

Status check_more_text(const ClusterState& state, uint32_t uid, size_t bytes) {
  const HeavyTexts& texts = *state.heavy_texts;
  const auto at = texts.of_user.find(uid);
  const uint64_t held = at == texts.of_user.end() ? 0 : at->second;
  if (held + bytes > HeavyTexts::kMostOfUser) {
    return failure(
        ErrorCode::kTooManyJobs,
        fmt::format("jobs of user {} hold {} MiB of long arguments and other texts already", uid,
                    held >> 20));
  }
  if (texts.all + bytes <= HeavyTexts::kMostOfAll) return {};
  return failure(
      ErrorCode::kTooManyJobs,
      fmt::format("jobs hold {} MiB of long arguments and other texts already", texts.all >> 20));
}

}  // namespace

Status check_heavy_text(const ClusterState& state, const JobSpec& spec, const JobSpec* before) {
  const size_t bytes = heavy_text(spec);
  if (bytes == 0 || (before != nullptr && bytes <= heavy_text(*before))) return {};
  return check_more_text(state, spec.uid, bytes);
}

Status check_heavy_text(const ClusterState& state, uint32_t uid, const StepSpec& spec) {
  const size_t bytes = heavy_text(spec);
  return bytes == 0 ? Status() : check_more_text(state, uid, bytes);
}

}  // namespace sluice::state
