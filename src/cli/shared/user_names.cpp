#include "cli/shared/user_names.hpp"

#include <pwd.h>
#include <unistd.h>

namespace sluice::cli {

std::string user_name(uint32_t uid) {
  const passwd* user = getpwuid(uid);  // NOLINT(concurrency-mt-unsafe): one thread
  return user != nullptr ? user->pw_name : std::to_string(uid);
}

std::string own_name() { return user_name(getuid()); }

}  // namespace sluice::cli
