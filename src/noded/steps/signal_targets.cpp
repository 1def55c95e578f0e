#include "noded/steps/signal_targets.hpp"

#include <algorithm>
#include <iterator>

namespace sluice::noded {
namespace {

bool is_meant(const protocol::SignalStepRequest& request, const protocol::StepKey& key) {
  // one that comes late is not for a later run
  if (key.id.job != request.key.id.job || key.restart != request.key.restart) return false;
  const bool batch = key.id.step == kBatchStep;
  if (request.batch_shell_only) return batch;
  if (!request.all_steps) return key.id.step == request.key.id.step;
  // the extern step is none of the user's, but it is stopped with its job
  return !(batch && request.not_batch) && (key.id.step != kExternStep || request.issued != kNoTime);
}

}  // namespace

void script_first(std::vector<protocol::StepKey>& keys) {
  std::stable_partition(keys.begin(), keys.end(),
                        [](const protocol::StepKey& key) { return key.id.step == kBatchStep; });
}

std::vector<protocol::StepKey> signal_targets(const protocol::SignalStepRequest& request,
                                              const std::vector<protocol::StepKey>& live) {
  std::vector<protocol::StepKey> meant;
  std::ranges::copy_if(live, std::back_inserter(meant),
                       [&](const protocol::StepKey& key) { return is_meant(request, key); });
  return meant;
}

}  // namespace sluice::noded
