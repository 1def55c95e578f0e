#include "dbd/rpc/statistics.hpp"

#include <algorithm>

namespace sluice::dbd {

void Statistics::count_call(std::string_view method, uint32_t uid, Duration took) {
  const std::lock_guard lock(mutex_);
  auto by_method = methods_.find(method);
  if (by_method == methods_.end()) {
    by_method = methods_.try_emplace(std::string(method)).first;
    by_method->second.name = method;
  }
  ++by_method->second.count;
  by_method->second.took += took;
  if (users_.size() >= kMostUsers && users_.count(uid) == 0) return;
  protocol::DaemonCalls& user = users_[uid];
  user.uid = uid;
  ++user.count;
  user.took += took;
}

void Statistics::count_rollup(Time at, Duration took) {
  const std::lock_guard lock(mutex_);
  last_rollup_ = at;
  ++rollups_;
  last_cycle_ = took;
  longest_cycle_ = std::max(longest_cycle_, took);
  all_cycles_ += took;
}

void Statistics::clear(Time now) {
  const std::lock_guard lock(mutex_);
  since_ = now;
  methods_.clear();
  users_.clear();
  rollups_ = 0;
  last_cycle_ = longest_cycle_ = all_cycles_ = Duration(0);
}

void Statistics::put(protocol::QueryAccountingDaemonReply& reply) const {
  const std::lock_guard lock(mutex_);
  reply.since = since_;
  for (const auto& [name, one] : methods_) reply.methods.push_back(one);
  for (const auto& [uid, one] : users_) reply.users.push_back(one);
  const auto more = [](const protocol::DaemonCalls& a, const protocol::DaemonCalls& b) {
    return a.count > b.count;
  };
  std::stable_sort(reply.methods.begin(), reply.methods.end(), more);
  std::stable_sort(reply.users.begin(), reply.users.end(), more);
  reply.last_rollup = last_rollup_;
  reply.rollups = rollups_;
  reply.last_cycle = last_cycle_;
  reply.longest_cycle = longest_cycle_;
  reply.all_cycles = all_cycles_;
}

}  // namespace sluice::dbd
