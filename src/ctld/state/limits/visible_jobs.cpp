#include "ctld/state/limits/visible_jobs.hpp"

#include "common/base/text.hpp"
#include "ctld/state/core/accounting.hpp"

namespace sluice::state {

VisibleJobs::VisibleJobs(const ClusterState& state, uint32_t uid) : uid_(uid) {
  if (has_option(state.config->private_data, "jobs") && !is_operator(state, uid)) state_ = &state;
}

bool VisibleJobs::contains(const Job& job) const {
  if (all() || job.spec->uid == uid_) return true;
  const std::string_view account = job.spec->account.view();
  auto known = coordinates_.find(account);
  if (known == coordinates_.end()) {
    const bool coordinates = is_coordinator(state_->accounting, uid_, account);
    known = coordinates_.emplace(std::string(account), coordinates).first;
  }
  return known->second;
}

}  // namespace sluice::state
