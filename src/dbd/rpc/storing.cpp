#include "dbd/rpc/storing.hpp"

#include "common/base/contains.hpp"
#include "common/names/errors.hpp"

namespace sluice::dbd {

void Storing::count(const std::string& cluster, const Status& stored, Time now) {
  const std::lock_guard lock(mutex_);
  if (stored) {
    waiting_.erase(cluster);
    return;
  }
  protocol::WaitingHistory& one = waiting_[cluster];
  if (one.since == kNoTime) one.since = now;
  one.cluster = cluster;
  one.reason = error_text(Error{stored.error().code, {}});
}

std::vector<protocol::WaitingHistory> Storing::waiting(
    const std::vector<std::string>& clusters) const {
  const std::lock_guard lock(mutex_);
  std::vector<protocol::WaitingHistory> out;
  for (const auto& [name, one] : waiting_)
    if (clusters.empty() || contains(clusters, name)) out.push_back(one);
  return out;
}

}  // namespace sluice::dbd
