#include "ctld/rpc/users.hpp"

#include <grp.h>
#include <pwd.h>

namespace sluice::ctld {
namespace {

std::string group_name(gid_t gid) {
  group entry{};
  group* found = nullptr;
  char buffer[16384];
  if (getgrgid_r(gid, &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) return {};
  return found->gr_name;
}

UserEntry look_up(uint32_t uid, uint32_t gid) {
  UserEntry out;
  passwd entry{};
  passwd* found = nullptr;
  char buffer[16384];
  out.group_name = group_name(gid);
  if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) return out;
  out.name = found->pw_name;
  std::vector<gid_t> ids(256);
  int count = static_cast<int>(ids.size());
  if (getgrouplist(found->pw_name, gid, ids.data(), &count) < 0) {
    ids.resize(static_cast<size_t>(count));
    getgrouplist(found->pw_name, gid, ids.data(), &count);
  }
  ids.resize(static_cast<size_t>(count));
  out.group_ids.assign(ids.begin(), ids.end());
  for (const gid_t id : ids) {
    if (std::string name = group_name(id); !name.empty()) out.groups.push_back(std::move(name));
  }
  return out;
}

}  // namespace

UserEntry Users::find(uint32_t uid, uint32_t gid, Time now) {
  const uint64_t key = uint64_t{uid} << 32 | gid;
  {
    const std::lock_guard lock(mutex_);
    const auto at = kept_.find(key);
    if (at != kept_.end() && at->second.until > now) return at->second.entry;
  }
  UserEntry entry = look_up(uid, gid);
  const std::lock_guard lock(mutex_);
  kept_[key] = {entry, now + keep_};
  return entry;
}

}  // namespace sluice::ctld
