#include "ctld/query/users.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include "common/os/file_time.hpp"
#include "common/os/group_list.hpp"

namespace sluice::ctld {
namespace {

std::string group_name(gid_t gid) {
  group entry{};
  group* found = nullptr;
  std::vector<char> room;
  const int error =
      with_room(room, [&] { return getgrgid_r(gid, &entry, room.data(), room.size(), &found); });
  return error != 0 || found == nullptr ? std::string() : found->gr_name;
}

UserEntry look_up(uint32_t uid, uint32_t gid) {
  UserEntry out;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> room;
  out.group_name = group_name(gid);
  const int error =
      with_room(room, [&] { return getpwuid_r(uid, &entry, room.data(), room.size(), &found); });
  if (error != 0 || found == nullptr) return out;
  out.name = found->pw_name;
  const std::vector<gid_t> ids = groups_of_user(out.name, gid, found->pw_gid);
  out.group_ids.assign(ids.begin(), ids.end());
  for (const gid_t id : ids) {
    if (std::string name = group_name(id); !name.empty()) out.groups.push_back(std::move(name));
  }
  return out;
}

// A second is not fine enough for who writes it and submits at once.
Time group_file_time() {
  struct stat file {};
  if (::stat("/etc/group", &file) != 0) return kNoTime;
  return modified(file);
}

// Whom the system does not know yet may be new.
constexpr Duration kUnknownTime = std::chrono::seconds(60);

}  // namespace

UserSource system_users() { return {look_up, group_file_time}; }

void Users::use(const ClusterConfig& config) {
  const std::lock_guard lock(mutex_);
  keep_ = config.group_update_time;
  force_ = config.group_update_force;
  ++round_;
  kept_.clear();
}

Time Users::next_look(const UserEntry& entry, Time now) const {
  if (entry.name.empty()) return now + kUnknownTime;
  return keep_ > Duration::zero() ? now + keep_ : kNever;
}

UserEntry Users::look(uint32_t uid, uint32_t gid, Time now, bool again) {
  const uint64_t key = uint64_t{uid} << 32 | gid;
  Time groups = kNoTime;
  uint64_t round = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto at = kept_.find(key);
    if (!again && at != kept_.end() && at->second.until > now) return at->second.entry;
    groups = source_.changed();
    if (at != kept_.end()) {
      Kept& kept = at->second;
      if (!force_ && kept.groups == groups && !kept.entry.name.empty()) {
        kept.until = next_look(kept.entry, now);
        return kept.entry;
      }
    }
    round = round_;
  }
  UserEntry entry = source_.look_up(uid, gid);
  const std::lock_guard lock(mutex_);
  if (round == round_) kept_[key] = {entry, next_look(entry, now), groups};
  return entry;
}

}  // namespace sluice::ctld
