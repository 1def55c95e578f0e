#include "stepd/process/user_identity.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/os/group_list.hpp"

namespace sluice::stepd {
namespace {

// Nothing when it is neither given nor known to this node.
std::string name_of(uint32_t uid, const std::string& given) {
  if (!given.empty()) return given;
  const passwd* entry = ::getpwuid(uid);
  return entry == nullptr ? std::string() : entry->pw_name;
}

std::vector<gid_t> groups_of(const NamedUser& who) {
  const std::string name = name_of(who.uid, who.user_name);
  if (name.empty()) return {who.gid};
  const passwd* entry = ::getpwnam(name.c_str());
  return groups_of_user(name, who.gid, entry != nullptr ? entry->pw_gid : who.gid);
}

}  // namespace

Result<UserIdentity> identity_of(const NamedUser& who) {
  UserIdentity user{who.uid, who.gid, {}, ::geteuid() == 0};
  if (!user.switches) {
    if (who.uid == ::geteuid()) return user;
    return failure(ErrorCode::kAccessDenied,
                   fmt::format("this node's agent runs as user {} and cannot run jobs of user {}",
                               ::geteuid(), who.uid));
  }
  if (who.uid == 0 && who.groups.empty()) {
    // root's step by root: the groups of this process are root's own
    user.switches = who.gid != ::getegid();
    if (!user.switches) return user;
  }
  user.groups = who.groups.empty() ? groups_of(who)
                                   : std::vector<gid_t>(who.groups.begin(), who.groups.end());
  return user;
}

Result<UserIdentity> identity_of(const protocol::StepLaunch& launch) {
  return identity_of(NamedUser{launch.uid, launch.gid, launch.groups, launch.user_name});
}

std::string user_name_of(const protocol::StepLaunch& launch) {
  return name_of(launch.uid, launch.user_name);
}

std::string home_of(const UserIdentity& user) {
  const passwd* entry = ::getpwuid(user.uid);
  return entry == nullptr ? std::string() : entry->pw_dir;
}

bool become(const UserIdentity& user) {
  if (!user.switches) return true;
  return ::setgroups(user.groups.size(), user.groups.data()) == 0 &&
         ::setresgid(user.gid, user.gid, user.gid) == 0 &&
         ::setresuid(user.uid, user.uid, user.uid) == 0;
}

ActAsUser::ActAsUser(const UserIdentity& user) {
  if (!user.switches) return;
  own_gid_ = ::getegid();
  own_groups_.resize(static_cast<size_t>(std::max(::getgroups(0, nullptr), 0)));
  SLUICE_CHECK(::getgroups(static_cast<int>(own_groups_.size()), own_groups_.data()) >= 0);
  switched_ = true;
  SLUICE_CHECK(::setgroups(user.groups.size(), user.groups.data()) == 0);
  SLUICE_CHECK(::setegid(user.gid) == 0);
  SLUICE_CHECK(::seteuid(user.uid) == 0);
}

ActAsUser::~ActAsUser() {
  if (!switched_) return;
  SLUICE_CHECK(::seteuid(0) == 0);
  SLUICE_CHECK(::setegid(own_gid_) == 0);
  SLUICE_CHECK(::setgroups(own_groups_.size(), own_groups_.data()) == 0);
}

}  // namespace sluice::stepd
