#include "stepd/process/site_program.hpp"

#include <cerrno>
#include <cstdio>
#include <string_view>

#include <unistd.h>

#include "common/cgroup/group_files.hpp"
#include "common/protocol/stepd_start.hpp"

namespace sluice::stepd {
namespace {

bool wait_for_word(int told) {
  char word = 0;
  ssize_t got = 0;
  do { got = ::read(told, &word, 1); } while (got < 0 && errno == EINTR);
  return got == 1;
}

}  // namespace

int run_when_told(int told, int count, char** arguments) {
  if (!wait_for_word(told)) return protocol::kNeverTold;
  ::close(told);
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
