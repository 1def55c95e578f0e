#include "common/os/processes.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/os/read_file.hpp"

namespace sluice {
namespace {

constexpr std::string_view kFreezer = "freezer";

// Where the tree of the freezer (version 1) is mounted; empty: nowhere.
std::string freezer_mount() {
  std::ifstream mounts("/proc/self/mounts");
  std::string device, folder, type, options, rest;
  while (mounts >> device >> folder >> type >> options && std::getline(mounts, rest)) {
    if (type == "cgroup" && contains(split_list(options), kFreezer)) return folder;
  }
  return {};
}

// Of a process in that tree: "/a/b"; empty: in none.
std::string freezer_group(pid_t pid) {
  std::istringstream lines(read_file("/proc/" + std::to_string(pid) + "/cgroup").value_or(""));
  std::string line;
  while (std::getline(lines, line)) {  // NUMBER:CONTROLLER,…:GROUP
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (contains(split_list(controllers), kFreezer)) return line.substr(second + 1);
  }
  return {};
}

}  // namespace

std::vector<pid_t> other_processes() {
  std::vector<pid_t> found;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return found;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else reads this stream
  while (const dirent* entry = ::readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 1 && pid != ::getpid()) found.push_back(pid);
  }
  ::closedir(folder);
  return found;
}

bool signal_if(pid_t pid, int signal, const std::function<bool()>& is_meant) {
  if (!is_meant()) return false;
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return false;
  const bool meant = is_meant();
  if (meant) ::syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0);
  ::close(process);
  if (meant && signal == SIGKILL) thaw(pid);
  return meant;
}

void thaw(pid_t pid) {
  const std::string mount = freezer_mount();
  std::string group = mount.empty() ? std::string() : freezer_group(pid);
  for (; group.size() > 1; group.resize(group.rfind('/'))) {
    const std::string folder = mount + group;
    if (trim(read_file(folder + "/freezer.self_freezing").value_or("")) == "1")
      std::ofstream(folder + "/freezer.state") << "THAWED";
  }
}

}  // namespace sluice
