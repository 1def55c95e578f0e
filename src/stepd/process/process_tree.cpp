#include "stepd/process/process_tree.hpp"

#include <cctype>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/os/read_file.hpp"

namespace sluice::stepd {
namespace {

// The parent of a process, from /proc/PID/stat (whose second field may hold anything).
std::optional<pid_t> parent_of(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  const size_t close = text->rfind(')');
  if (close == std::string::npos || close + 4 >= text->size()) return std::nullopt;
  return std::atoi(text->c_str() + close + 4);
}

// False when the kernel has no such list (CONFIG_PROC_CHILDREN).
bool add_children(pid_t pid, std::vector<pid_t>& out) {
  DIR* tasks = ::opendir(fmt::format("/proc/{}/task", pid).c_str());
  if (tasks == nullptr) return true;  // it is gone
  bool supported = true;
  while (const dirent* entry = ::readdir(tasks)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const auto text = read_file(fmt::format("/proc/{}/task/{}/children", pid, entry->d_name));
    if (!text) {
      // the thread ended just now, or there is no such file anywhere
      supported = ::access("/proc/thread-self/children", R_OK) == 0;
      continue;
    }
    const char* at = text->c_str();
    char* end = nullptr;
    for (long child = std::strtol(at, &end, 10); end != at; child = std::strtol(at, &end, 10)) {
      out.push_back(static_cast<pid_t>(child));
      at = end;
    }
  }
  ::closedir(tasks);
  return supported;
}

// The slow way: the parents of all processes.
std::vector<pid_t> descendants_by_scan(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return {};
  while (const dirent* entry = ::readdir(processes)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    if (const auto parent = parent_of(pid)) children.emplace(*parent, pid);
  }
  ::closedir(processes);
  std::vector<pid_t> found{root};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [from, to] = children.equal_range(found[i]);
    for (auto child = from; child != to; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

// The value of a line of a /proc/PID/status, without blanks; empty: there is none.
std::string_view status_value(std::string_view status, std::string_view name) {
  const size_t at = status.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = status.substr(at + name.size());
  return trim(rest.substr(0, rest.find('\n')));
}

bool has_ended(std::string_view status) {
  const std::string_view state = status_value(status, "\nState:");
  return state.starts_with('Z') || state.starts_with('X');
}

}  // namespace

std::vector<pid_t> descendants(pid_t root) {
  std::vector<pid_t> found{root};
  for (size_t i = 0; i < found.size(); ++i) {
    if (!add_children(found[i], found)) return descendants_by_scan(root);
  }
  found.erase(found.begin());
  return found;
}

bool is_kept_dead(pid_t pid) {
  const auto leader = read_file(fmt::format("/proc/{}/status", pid));
  if (!leader || !has_ended(*leader)) return false;
  // else its parent, which is this process or will be, hears of it in a moment
  if (status_value(*leader, "\nTracerPid:") == "0") return false;
  DIR* threads = ::opendir(fmt::format("/proc/{}/task", pid).c_str());
  if (threads == nullptr) return false;
  bool ended = true;
  while (const dirent* entry = ended ? ::readdir(threads) : nullptr) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const auto thread = read_file(fmt::format("/proc/{}/task/{}/status", pid, entry->d_name));
    ended = !thread || has_ended(*thread);
  }
  ::closedir(threads);
  return ended;
}

bool catches_term(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/status", pid));
  if (!text) return false;
  const std::string mask(status_value(*text, "\nSigCgt:"));
  const uint64_t caught = std::strtoull(mask.c_str(), nullptr, 16);
  return (caught >> (SIGTERM - 1) & 1U) != 0;
}

}  // namespace sluice::stepd
