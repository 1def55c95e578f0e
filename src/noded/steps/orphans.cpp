#include "noded/steps/orphans.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <sys/types.h>

#include "common/os/processes.hpp"
#include "common/os/read_file.hpp"

namespace sluice::noded {
namespace {

constexpr int kMostRounds = 20;  // a process may be born while others are killed

std::string environment_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

bool is_meant(pid_t pid, const std::vector<std::string>& marks, uint32_t uid) {
  return is_wholly_of(read_file(fmt::format("/proc/{}/status", pid)).value_or(""), uid) &&
         holds_marks(environment_of(pid), marks);
}

}  // namespace

bool is_wholly_of(std::string_view status, uint32_t uid) {
  constexpr std::string_view kField = "\nUid:";
  const size_t at = status.find(kField);
  if (at == std::string_view::npos) return false;
  const std::string_view line = status.substr(at + kField.size());
  std::istringstream ids(std::string(line.substr(0, line.find('\n'))));
  size_t same = 0;
  size_t all = 0;
  for (uint32_t id = 0; ids >> id; ++all) same += id == uid ? 1 : 0;
  return all == 4 && same == all;
}

bool holds_marks(std::string_view block, const std::vector<std::string>& marks) {
  size_t held = 0;
  while (!block.empty()) {
    const std::string_view entry = block.substr(0, block.find('\0'));
    block.remove_prefix(std::min(block.size(), entry.size() + 1));
    held += static_cast<size_t>(std::count(marks.begin(), marks.end(), entry));
  }
  return held == marks.size();
}

size_t kill_marked(const std::vector<std::string>& marks, uint32_t uid) {
  std::set<pid_t> all;
  for (int round = 0; round < kMostRounds; ++round) {
    size_t killed = 0;
    for (const pid_t pid : other_processes()) {
      if (!signal_if(pid, SIGKILL, [&] { return is_meant(pid, marks, uid); })) continue;
      all.insert(pid);
      ++killed;
    }
    if (killed == 0) break;
  }
  return all.size();
}

}  // namespace sluice::noded
