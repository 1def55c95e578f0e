#include "cli/trial/trial_processes.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "common/os/processes.hpp"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

// The pieces of a file of /proc that NULs separate.
std::vector<std::string> words_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> words;
  std::string word;
  while (std::getline(in, word, '\0')) words.push_back(word);
  return words;
}

std::string value_of(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& pair : environment) {
    if (pair.starts_with(name) && pair.size() > name.size() && pair[name.size()] == '=') {
      return pair.substr(name.size() + 1);
    }
  }
  return {};
}

// What -f says, else SLURM_CONF.
std::string configuration_of(const fs::path& process) {
  const auto words = words_of(process / "cmdline");
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-f" && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with("-f") && words[i].size() > 2) return words[i].substr(2);
  }
  return value_of(words_of(process / "environ"), "SLURM_CONF");
}

// A daemon whose -f was a relative path is known by its log, journal or PID file.
bool holds_a_file_of(const fs::path& process, const TrialFolder& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(process / "fd", ignored)) {
    if (folder.holds(fs::read_symlink(entry.path(), ignored).string())) return true;
  }
  return false;
}

void for_each_process(const std::function<void(pid_t, const fs::path&)>& look) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (std::stoi(pid) != getpid()) look(std::stoi(pid), entry.path());
  }
}

// The processes that descend from `roots`, which stay out of the result.
std::vector<pid_t> descendants_of(const std::vector<pid_t>& roots) {
  std::multimap<pid_t, pid_t> children;
  for_each_process([&](pid_t pid, const fs::path& process) {
    std::ifstream in(process / "stat");
    std::string text;
    std::getline(in, text);
    pid_t parent = 0;
    char state = 0;
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return;
    std::istringstream fields(text.substr(name_end + 1));
    if (fields >> state >> parent) children.emplace(parent, pid);
  });
  std::vector<pid_t> found, next = roots;
  while (!next.empty()) {
    const pid_t parent = next.back();
    next.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto at = first; at != last; ++at) {
      found.push_back(at->second);
      next.push_back(at->second);
    }
  }
  return found;
}

// One of a suspended job may be frozen.
void end_task(pid_t pid) {
  kill(pid, SIGKILL);
  thaw(pid);
}

}  // namespace

TrialFolder::TrialFolder(const std::string& dir) {
  std::error_code ignored;
  places_.push_back(fs::absolute(dir).lexically_normal().string());
  if (const fs::path real = fs::weakly_canonical(dir, ignored); !real.empty())
    places_.push_back(real.string());
  for (std::string& place : places_) {
    if (!place.ends_with('/')) place.push_back('/');
  }
}

bool TrialFolder::holds(std::string_view path) const {
  const std::string normal = fs::path(path).lexically_normal().string();
  return std::ranges::any_of(places_,
                             [&](const std::string& place) { return normal.starts_with(place); });
}

bool TrialFolder::is_conf(std::string_view path) const {
  const std::string normal = fs::path(path).lexically_normal().string();
  return std::ranges::any_of(
      places_, [&](const std::string& place) { return normal == place + "slurm.conf"; });
}

constexpr std::string_view kDaemonNames[] = {"sluicectld", "sluicenoded", "sluicestepd",
                                             "sluicedbd",  "slurmctld",   "slurmd",
                                             "slurmstepd", "slurmdbd"};

std::vector<TrialProcess> daemons_of(const TrialFolder& folder) {
  std::vector<TrialProcess> found;
  for_each_process([&](pid_t pid, const fs::path& process) {
    // as it was started; its file may be another one after a new build
    std::ifstream in(process / "comm");
    std::string name;
    std::getline(in, name);
    if (std::ranges::find(kDaemonNames, name) == std::end(kDaemonNames)) return;
    if (folder.holds(configuration_of(process)) || holds_a_file_of(process, folder)) {
      found.push_back({pid, name});
    }
  });
  return found;
}

bool runs_from_conf_of(const TrialProcess& daemon, const TrialFolder& folder) {
  return folder.is_conf(configuration_of(fmt::format("/proc/{}", daemon.pid)));
}

std::vector<pid_t> end_steps(const std::vector<TrialProcess>& steps) {
  std::vector<pid_t> roots;
  roots.reserve(steps.size());
  for (const auto& d : steps) roots.push_back(d.pid);
  std::vector<pid_t> tasks = descendants_of(roots);
  for (const pid_t pid : roots) kill(pid, SIGKILL);
  for (const pid_t pid : tasks) end_task(pid);
  return tasks;
}

bool is_over(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(in, line);
  const size_t name_end = line.rfind(')');
  return name_end == std::string::npos || line.substr(name_end + 1).starts_with(" Z");
}

std::vector<pid_t> end_tasks_of(const TrialFolder& folder) {
  std::vector<pid_t> found;
  for_each_process([&](pid_t pid, const fs::path& process) {
    const auto environment = words_of(process / "environ");
    const bool task = !value_of(environment, "SLURM_JOB_ID").empty() &&
                      !value_of(environment, "SLURMD_NODENAME").empty();
    if (!task || !folder.holds(value_of(environment, "SLURM_CONF"))) return;
    end_task(pid);
    found.push_back(pid);
  });
  return found;
}

}  // namespace sluice::cli
