// Becoming the job's user: for good in a task, for a moment to open files.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "common/base/result.hpp"
#include "common/protocol/noded.hpp"

namespace sluice::stepd {

struct UserIdentity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  bool switches = false;  // this process is root and has to change; else it is the user already
};

struct NamedUser {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;  // supplementary; empty: looked up on this node
  std::string user_name;
};

// Who something runs as, or a step does.
// kAccessDenied when this process may not run things for that user.
[[nodiscard]] Result<UserIdentity> identity_of(const NamedUser& who);
[[nodiscard]] Result<UserIdentity> identity_of(const protocol::StepLaunch& launch);

// The launch's own word, else this node's; empty when neither knows one.
[[nodiscard]] std::string user_name_of(const protocol::StepLaunch& launch);

// The user's home folder, as this node knows it; empty when it knows none.
[[nodiscard]] std::string home_of(const UserIdentity& user);

// For good, with groups. False when it cannot be (errno says why); then do not go on.
[[nodiscard]] bool become(const UserIdentity& user);

// While it lives, files are opened and made with the user's rights. One at a time, in a process of
// one thread.
class ActAsUser {
 public:
  explicit ActAsUser(const UserIdentity& user);
  ~ActAsUser();
  ActAsUser(const ActAsUser&) = delete;
  ActAsUser& operator=(const ActAsUser&) = delete;

 private:
  bool switched_ = false;
  std::vector<gid_t> own_groups_;
  gid_t own_gid_ = 0;
};

}  // namespace sluice::stepd
