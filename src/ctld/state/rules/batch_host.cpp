#include "ctld/state/rules/batch_host.hpp"

#include <algorithm>

#include "common/names/errors.hpp"
#include "ctld/fit/features.hpp"
#include "ctld/state/rules/step/step_layout.hpp"

namespace sluice::state {
namespace {

constexpr uint32_t kBadBatchFeatures = 2114;  // as scontrol errnumstr knows it

bool names_any(const fit::FeatureExpression& expression, const std::vector<std::string>& names) {
  return std::ranges::any_of(expression.any_of.branches(), [&](const auto& branch) {
    return std::ranges::any_of(branch, [&](const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    });
  });
}

// Every feature of an expression, once or more.
std::vector<std::string> all_names(const fit::FeatureExpression& expression) {
  std::vector<std::string> names;
  const auto add = [&](const fit::Alternatives& any_of) {
    for (const auto& branch : any_of.branches())
      names.insert(names.end(), branch.begin(), branch.end());
  };
  add(expression.any_of);
  for (const fit::FeatureCount& count : expression.counts) add(count.any_of);
  return names;
}

// Before the script runs.
size_t first_position(const ClusterState& state, const JobSpec& spec,
                      const Allocation& allocation) {
  if (spec.batch_features.empty()) return 0;
  const auto wanted = fit::parse_features(spec.batch_features.view());
  for (size_t at = 0; wanted && at < allocation.nodes.size(); ++at) {
    if (fit::satisfies_any(*wanted, active_features(state.nodes.at(allocation.nodes[at].node))))
      return at;
  }
  return 0;
}

}  // namespace

size_t batch_position(const ClusterState& state, const Job& job) {
  const Allocation& allocation = *job.allocation;
  if (const Step* script = find_step(job, kBatchStep)) {
    return allocation_position(allocation, script->layout->nodes.front().node).value_or(0);
  }
  return first_position(state, *job.spec, allocation);
}

std::shared_ptr<const StepNode> batch_part(const ClusterState& state, const JobSpec& spec,
                                           const Allocation& allocation) {
  auto part = std::make_shared<StepNode>(
      whole_part(state, allocation.nodes[first_position(state, spec, allocation)]));
  part->tasks = {0};
  return part;
}

Status check_batch_features(const JobSpec& spec) {
  if (spec.batch_features.empty()) return {};
  const auto wanted = fit::parse_features(spec.batch_features.view());
  const auto asked = fit::parse_features(spec.constraint.view());
  if (wanted && asked && names_any(*wanted, all_names(*asked))) return {};
  return failure(error_number_text(kBadBatchFeatures));
}

}  // namespace sluice::state
