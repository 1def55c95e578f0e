// What the daemon counts of itself since it was started, or since the counts were cleared. Any
// thread.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "common/protocol/accounting_daemon.hpp"

namespace sluice::dbd {

class Statistics {
 public:
  explicit Statistics(Time now) : since_(now) {}
  void count_call(std::string_view method, uint32_t uid, Duration took);
  void count_rollup(Time at, Duration took);
  void clear(Time now);
  void put(protocol::QueryAccountingDaemonReply& reply) const;  // names of users are left out

 private:
  static constexpr size_t kMostUsers = 10'000;  // others are not counted by user

  mutable std::mutex mutex_;  // guards the rest
  Time since_, last_rollup_ = kNoTime;
  std::map<std::string, protocol::DaemonCalls, std::less<>> methods_;
  std::map<uint32_t, protocol::DaemonCalls> users_;
  uint64_t rollups_ = 0;
  Duration last_cycle_{0}, longest_cycle_{0}, all_cycles_{0};
};

}  // namespace sluice::dbd
