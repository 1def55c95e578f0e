// How often each method was called, by whom, and how long the answers took (sdiag).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.hpp"
#include "common/protocol/admin.hpp"

namespace sluice::ctld {

class CallCounts {
 public:
  explicit CallCounts(Time since) : since_(since) {}

  void note(std::string_view method, uint32_t uid, Duration took) {
    const std::lock_guard lock(mutex_);
    auto at = by_method_.find(method);
    if (at == by_method_.end()) at = by_method_.emplace(method, Sum{}).first;
    at->second.add(took);
    by_user_[uid].add(took);
  }
  // Into the reply; then from zero if wanted, at `now`.
  void report(protocol::QueryStatisticsReply& reply, bool reset, Time now) {
    const std::lock_guard lock(mutex_);
    reply.since = since_;
    for (const auto& [method, sum] : by_method_)
      reply.by_method.push_back({method, 0, sum.count, sum.total_us});
    for (const auto& [uid, sum] : by_user_)
      reply.by_user.push_back({{}, uid, sum.count, sum.total_us});
    if (!reset) return;
    by_method_.clear();
    by_user_.clear();
    since_ = now;
  }

 private:
  struct Sum {
    uint64_t count = 0;
    uint64_t total_us = 0;
    void add(Duration took) {
      ++count;
      total_us += static_cast<uint64_t>(took.count());
    }
  };
  std::mutex mutex_;
  Time since_;  // guarded by mutex_, as all of these
  std::map<std::string, Sum, std::less<>> by_method_;
  std::map<uint32_t, Sum> by_user_;
};

}  // namespace sluice::ctld
