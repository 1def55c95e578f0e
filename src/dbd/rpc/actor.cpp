#include "dbd/rpc/actor.hpp"

#include <array>

#include <pwd.h>

#include "common/base/text.hpp"

namespace sluice::dbd {
namespace {

constexpr size_t kMostNameBytes = 1 << 14;  // what name services say of one user

}  // namespace

Actor actor_of(const net::CallContext& context) {
  std::array<char, kMostNameBytes> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  Actor actor;
  actor.super = context.is_super_user();
  if (context.identity.authenticated &&
      ::getpwuid_r(context.identity.uid, &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr)
    actor.name = to_lower(entry.pw_name);
  return actor;
}

bool is_user_of_host(const std::string& name) {
  std::array<char, kMostNameBytes> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  return ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
         found != nullptr;
}

}  // namespace sluice::dbd
