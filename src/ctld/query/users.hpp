// Names of users and groups, asked of the system and kept for a while (lookups may be slow):
// GroupUpdateTime, or until the configuration is read again.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

struct UserEntry {
  std::string name;                 // empty: the system does not know the uid
  std::string group_name;           // of the gid asked with
  std::vector<std::string> groups;  // names of all groups
  std::vector<uint32_t> group_ids;  // of all; empty where the system does not know the uid
};

// Asks with more and more room, as long as the entry is larger: a group may have thousands of
// members.
template <class Ask>
int with_room(std::vector<char>& room, Ask ask) {
  constexpr size_t kFirst = size_t{16} << 10, kMost = size_t{64} << 20;
  int error = ERANGE;
  for (size_t bytes = kFirst; error == ERANGE && bytes <= kMost; bytes *= 4) {
    room.resize(bytes);
    error = ask();
  }
  return error;
}

// Who knows it.
struct UserSource {
  std::function<UserEntry(uint32_t uid, uint32_t gid)> look_up;
  std::function<Time()> changed;  // when the system's file of groups was written last
};
[[nodiscard]] UserSource system_users();

class Users {
 public:
  explicit Users(UserSource source = system_users()) : source_(std::move(source)) {}
  // By this configuration from now on; nothing is kept of what was known.
  void use(const ClusterConfig& config);
  [[nodiscard]] UserEntry find(uint32_t uid, uint32_t gid, Time now) {
    return look(uid, gid, now, false);
  }
  // GroupUpdateTime has passed, whenever this user was looked at last.
  [[nodiscard]] UserEntry find_again(uint32_t uid, uint32_t gid, Time now) {
    return look(uid, gid, now, true);
  }

 private:
  struct Kept {
    UserEntry entry;
    Time until = kNoTime;   // then it is looked at again
    Time groups = kNoTime;  // UserSource::changed() when it was asked for
  };
  [[nodiscard]] UserEntry look(uint32_t uid, uint32_t gid, Time now, bool again);
  [[nodiscard]] Time next_look(const UserEntry& entry, Time now) const;  // holds mutex_

  const UserSource source_;
  std::mutex mutex_;
  Duration keep_ = std::chrono::seconds(600);  // guarded by mutex_; 0: for ever
  // guarded by mutex_; false: only a file of groups that was written since is asked
  bool force_ = true;
  uint64_t round_ = 0;                       // guarded by mutex_: how often use() was called
  std::unordered_map<uint64_t, Kept> kept_;  // guarded by mutex_
};

}  // namespace sluice::ctld
