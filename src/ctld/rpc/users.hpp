// Names of users and groups, asked of the system and kept for a while (lookups may be slow).
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/time.hpp"

namespace sluice::ctld {

struct UserEntry {
  std::string name;                 // empty: the system does not know the uid
  std::string group_name;           // of the gid asked with
  std::vector<std::string> groups;  // names of all groups
  std::vector<uint32_t> group_ids;  // of all; empty where the system does not know the uid
};

class Users {
 public:
  explicit Users(Duration keep) : keep_(keep) {}
  [[nodiscard]] UserEntry find(uint32_t uid, uint32_t gid, Time now);

 private:
  struct Kept {
    UserEntry entry;
    Time until = kNoTime;
  };
  const Duration keep_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Kept> kept_;  // guarded by mutex_
};

}  // namespace sluice::ctld
