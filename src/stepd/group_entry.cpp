#include "stepd/group_entry.hpp"

#include <cstdio>
#include <string_view>

#include <unistd.h>

#include "common/cgroup/group_files.hpp"
#include "common/protocol/stepd_start.hpp"

namespace sluice::stepd {

int run_in_groups(int count, char** arguments) {
  int at = 0;
  for (; at < count && std::string_view(arguments[at]) != "--"; ++at) {
    const Status entered = cgroup::write_group_file(arguments[at], "0");
    if (entered) continue;
    std::fprintf(stderr, "%s\n", entered.error().text.c_str());
    return protocol::kCannotEnterGroup;
  }
  if (++at >= count) return protocol::kCannotRunProgram;
  ::execv(arguments[at], arguments + at);
  return protocol::kCannotRunProgram;
}

}  // namespace sluice::stepd
