#include "noded/steps/stray_daemons.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/os/processes.hpp"
#include "common/os/proc_stat.hpp"
#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/names/step_names.hpp"
#include "noded/node/node_state.hpp"

namespace sluice::noded {
namespace {

constexpr std::string_view kTitle = "slurmstepd: [";
constexpr int kMostRounds = 200;  // 2 s: for processes to be gone that were killed
constexpr auto kRest = std::chrono::milliseconds(10);

std::string_view first_word(std::string_view words) { return words.substr(0, words.find('\0')); }

std::optional<std::string_view> value_of(std::string_view block, std::string_view name) {
  while (!block.empty()) {
    const std::string_view entry = first_word(block);
    block.remove_prefix(std::min(block.size(), entry.size() + 1));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

// The real one; a daemon may have another one's rights for a moment, to open that one's files.
std::optional<uint32_t> user_of(std::string_view status) {
  constexpr std::string_view kField = "\nUid:";
  const size_t at = status.find(kField);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view ids =
      trim(status.substr(at + kField.size(), status.find('\n', at + 1) - at - kField.size()));
  return to_number<uint32_t>(ids.substr(0, ids.find_first_of("\t ")));
}

// Also of a program that was replaced since.
bool is_step_program(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "slurmstepd" || name == "sluicestepd";
}

std::string of_process(pid_t pid, std::string_view what) {
  return fmt::format("/proc/{}/{}", pid, what);
}

std::string link_of(const std::string& path) {
  std::error_code gone;
  return std::filesystem::read_symlink(path, gone).string();
}

// One in a container is another host's.
bool is_on_this_host(pid_t pid) {
  return std::ranges::all_of(
      std::initializer_list<std::string_view>{"ns/pid", "ns/net"}, [&](std::string_view space) {
        return link_of(of_process(pid, space)) == link_of(fmt::format("/proc/self/{}", space));
      });
}

std::string step_of(pid_t pid, const DaemonOwner& owner) {
  const std::string command_line = read_file(of_process(pid, "cmdline")).value_or("");
  if (!command_line.starts_with(kTitle) || !is_on_this_host(pid)) return {};
  const std::string environment = read_file(of_process(pid, "environ")).value_or("");
  const std::string status = read_file(of_process(pid, "status")).value_or("");
  return step_of_daemon({command_line, environment, link_of(of_process(pid, "exe")), status}, owner,
                        ::geteuid());
}

// False: it is gone, and its number may be another's.
bool send(const ProcessMark& process, int signal) {
  return signal_if(static_cast<pid_t>(process.pid), signal, [&process] { return runs(process); });
}

// What runs below the process; it adopts what its descendants leave behind.
std::vector<ProcessMark> running_below(uint32_t root) {
  // those that ended, too: others may be below them until they are adopted
  std::multimap<uint32_t, ProcessMark> children;
  std::set<uint32_t> over;
  for (const pid_t pid : other_processes()) {
    const std::string stat = read_file(of_process(pid, "stat")).value_or("");
    const auto fields = stat_fields(stat);
    const auto parent = fields.size() > 1 ? to_number<uint32_t>(fields[1]) : std::nullopt;
    if (!parent) continue;
    const auto start = start_in_stat(stat);
    if (!start) over.insert(static_cast<uint32_t>(pid));
    children.emplace(*parent, ProcessMark{static_cast<uint32_t>(pid), start.value_or(0)});
  }
  std::vector<ProcessMark> found{{root, 0}};
  for (size_t at = 0; at < found.size(); ++at) {
    const auto [from, to] = children.equal_range(found[at].pid);
    for (auto child = from; child != to; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  std::erase_if(found, [&](const ProcessMark& one) { return over.contains(one.pid); });
  return found;
}

struct Below {
  size_t ended = 0;
  bool all = false;  // nothing is left
};

// The daemon is stopped: it would report, or begin more. While it stands still nothing below it is
// anybody else's.
Below kill_below(const ProcessMark& daemon) {
  std::set<uint32_t> ended;
  for (int round = 0; round < kMostRounds; ++round) {
    const auto left = running_below(daemon.pid);
    if (left.empty()) return {ended.size(), true};
    for (const ProcessMark& process : left) {
      if (send(process, SIGKILL)) ended.insert(process.pid);
    }
    std::this_thread::sleep_for(kRest);
  }
  return {ended.size(), false};
}

void kill_daemon(const ProcessMark& daemon) {
  send(daemon, SIGKILL);
  for (int round = 0; round < kMostRounds && runs(daemon); ++round)
    std::this_thread::sleep_for(kRest);
}

}  // namespace

std::string daemon_name(const StepId& id) {
  return fmt::format("slurmstepd: [{}]", step_id_text(id));
}

bool is_step_daemon(pid_t pid, const StepId& id, const std::string& spool_dir) {
  const auto command = pid > 1 ? read_file(fmt::format("/proc/{}/cmdline", pid)) : std::nullopt;
  return command && command->starts_with(daemon_name(id) + '\0' + spool_dir + '\0');
}

std::string step_of_daemon(const ProcessTexts& texts, const DaemonOwner& owner, uint32_t uid) {
  const std::string_view title = first_word(texts.command_line);
  if (!title.starts_with(kTitle) || !title.ends_with(']') || !is_step_program(texts.program))
    return {};
  if (user_of(texts.status) != uid ||
      value_of(texts.environment, "SLURMD_NODENAME") != owner.node_name)
    return {};
  const std::string_view folder =
      first_word(texts.command_line.substr(std::min(texts.command_line.size(), title.size() + 1)));
  if (!owner.spool_id.empty() && value_of(texts.environment, kSpoolOfDaemon) == owner.spool_id)
    return {};
  const auto cluster = value_of(texts.environment, kClusterOfDaemon);
  const bool ours = cluster && !owner.cluster_id.empty()
                        ? *cluster == owner.cluster_id
                        : folder == owner.spool_dir ||
                              value_of(texts.environment, "SLURM_CONF") == owner.config_path;
  const std::string_view step = title.substr(kTitle.size(), title.size() - kTitle.size() - 1);
  // a spare one ends with its agent
  return ours && step != "spare" ? std::string(step) : std::string();
}

std::vector<StepDaemon> find_step_daemons(const DaemonOwner& owner) {
  std::vector<StepDaemon> found;
  for (const pid_t pid : other_processes()) {
    const ProcessMark process = mark_of(pid);
    std::string step = step_of(pid, owner);
    if (!step.empty() && runs(process)) found.push_back({process, std::move(step)});
  }
  return found;
}

size_t end_with_tasks(const ProcessMark& daemon) {
  if (!send(daemon, SIGSTOP)) return 0;
  const size_t ended = kill_below(daemon).ended;
  kill_daemon(daemon);
  return ended;
}

void signal_below(pid_t daemon, const StepId& step, int signal) {
  constexpr int kRounds = 20;  // one that forks faster than it is stopped goes on
  const ProcessMark process = mark_of(daemon);
  std::set<uint32_t> told;
  for (int round = 0; round < kRounds; ++round) {
    const size_t before = told.size();
    for (const ProcessMark& one : running_below(process.pid)) {
      if (!told.contains(one.pid) && send(one, signal)) told.insert(one.pid);
    }
    if (told.size() == before) break;
  }
  log::error("{}: its step daemon (process {}) was told to {} it, and does not: {} processes were",
             step_log_name(step), daemon, signal == SIGSTOP ? "suspend" : "resume", told.size());
}

void end_deaf(pid_t daemon, const StepId& step) {
  const ProcessMark process = mark_of(daemon);
  if (!send(process, SIGSTOP)) return;
  const Below below = kill_below(process);
  if (below.all) kill_daemon(process);
  else (void)send(process, SIGCONT);
  log::error("{}: its step daemon (process {}) was told to end it, and does not: {}",
             step_log_name(step), daemon,
             below.all ? fmt::format("it was ended, with {} processes of its tasks", below.ended)
                       : "not all below it can be killed");
}

}  // namespace sluice::noded
