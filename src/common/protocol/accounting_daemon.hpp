// What an administrator asks about the accounting daemon itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.hpp"

namespace sluice::protocol {

struct DaemonCalls {
  std::string name;  // of the method, or of the user
  uint32_t uid = 0;  // of the user
  uint64_t count = 0;
  Duration took{0};  // all of them
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &DaemonCalls::name);
    field(2, "uid", &DaemonCalls::uid);
    field(3, "count", &DaemonCalls::count);
    field(4, "took", &DaemonCalls::took);
  }
};
struct DaemonValue {
  std::string key, value;
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &DaemonValue::key);
    field(2, "value", &DaemonValue::value);
  }
};
// sacctmgr show stats, show configuration, clear stats, shutdown, reconfigure. The configuration is
// for all, the counts for operators, the rest for administrators. kInvalidConfig: slurmdbd.conf is
// wrong, and what was in force stays.
struct QueryAccountingDaemonRequest {
  static constexpr std::string_view kMethod = "Accounting/QueryDaemon";
  using Reply = struct QueryAccountingDaemonReply;
  bool statistics = false, clear_statistics = false, shut_down = false, reconfigure = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "statistics", &QueryAccountingDaemonRequest::statistics);
    field(2, "clear_statistics", &QueryAccountingDaemonRequest::clear_statistics);
    field(3, "shut_down", &QueryAccountingDaemonRequest::shut_down);
    field(4, "reconfigure", &QueryAccountingDaemonRequest::reconfigure);
  }
};
struct QueryAccountingDaemonReply {
  Time now = kNoTime, since = kNoTime;
  std::vector<DaemonValue> config;
  std::vector<DaemonCalls> methods, users;
  Time last_rollup = kNoTime;
  uint64_t rollups = 0;
  Duration last_cycle{0}, longest_cycle{0}, all_cycles{0};
  template <class V>
  static void describe(V&& field) {
    field(1, "now", &QueryAccountingDaemonReply::now);
    field(2, "since", &QueryAccountingDaemonReply::since);
    field(3, "config", &QueryAccountingDaemonReply::config);
    field(4, "methods", &QueryAccountingDaemonReply::methods);
    field(5, "users", &QueryAccountingDaemonReply::users);
    field(6, "last_rollup", &QueryAccountingDaemonReply::last_rollup);
    field(7, "rollups", &QueryAccountingDaemonReply::rollups);
    field(8, "last_cycle", &QueryAccountingDaemonReply::last_cycle);
    field(9, "longest_cycle", &QueryAccountingDaemonReply::longest_cycle);
    field(10, "all_cycles", &QueryAccountingDaemonReply::all_cycles);
  }
};

}  // namespace sluice::protocol
