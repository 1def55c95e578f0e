#include "cli/shared/user_environment.hpp"

#include <pwd.h>
#include <unistd.h>

#include <vector>

#include "cli/shared/program_output.hpp"

namespace sluice::cli {

std::optional<Environment> login_environment(const std::string& user) {
  // what the shell's files print comes before it
  constexpr std::string_view kMark = "--- variables of the login follow ---";
  const std::string ask = "echo '" + std::string(kMark) + "'; /usr/bin/env -0; :";
  const passwd* entry = getpwnam(user.c_str());
  if (entry == nullptr) return std::nullopt;
  const std::string shell = entry->pw_shell[0] != '\0' ? entry->pw_shell : "/bin/sh";
  const std::string output =
      program_output(getuid() == 0 ? std::vector<std::string>{"/bin/su", "-", user, "-c", ask}
                                   : std::vector<std::string>{shell, "-l", "-c", ask});
  const size_t mark = output.find(kMark);
  if (mark == std::string::npos) return std::nullopt;
  return Environment::from_block(std::string_view(output).substr(mark + kMark.size() + 1));
}

}  // namespace sluice::cli
