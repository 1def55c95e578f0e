#include "noded/orphans.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <dirent.h>
#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

namespace sluice::noded {
namespace {

constexpr int kMostRounds = 20;  // a process may be born while others are killed

std::string environment_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::vector<pid_t> marked(const std::vector<std::string>& marks) {
  std::vector<pid_t> found;
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return found;
  while (const dirent* entry = ::readdir(processes)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 1 && pid != ::getpid() && holds_marks(environment_of(pid), marks)) {
      found.push_back(pid);
    }
  }
  ::closedir(processes);
  return found;
}

}  // namespace

bool holds_marks(std::string_view block, const std::vector<std::string>& marks) {
  size_t held = 0;
  while (!block.empty()) {
    const std::string_view entry = block.substr(0, block.find('\0'));
    block.remove_prefix(std::min(block.size(), entry.size() + 1));
    held += static_cast<size_t>(std::count(marks.begin(), marks.end(), entry));
  }
  return held == marks.size();
}

size_t kill_marked(const std::vector<std::string>& marks) {
  std::set<pid_t> all;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<pid_t> found = marked(marks);
    if (found.empty()) break;
    for (const pid_t pid : found) {
      all.insert(pid);
      ::kill(pid, SIGKILL);
    }
  }
  return all.size();
}

}  // namespace sluice::noded
