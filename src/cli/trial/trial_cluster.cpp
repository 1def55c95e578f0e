#include "cli/trial/trial_cluster.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shared/client.hpp"
#include "cli/shared/user_names.hpp"
#include "cli/trial/trial_conf.hpp"
#include "cli/trial/trial_processes.hpp"
#include "cli/trial/trial_shape.hpp"
#include "common/base/errno_text.hpp"
#include "common/base/hostlist.hpp"
#include "common/os/exec_pointers.hpp"
#include "common/os/host_name.hpp"
#include "common/os/read_file.hpp"
#include "common/os/wait_status.hpp"
#include "common/config_files/load.hpp"
#include "common/model/job_state.hpp"
#include "common/net/tls_config.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kStartLimit = std::chrono::seconds(60);
constexpr auto kStopLimit = std::chrono::seconds(15);

// Whether nothing listens on the port of loopback now.
bool port_is_free(uint32_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return free;
}

// A run of `count` free ports below the ephemeral range; two clusters that start together begin to
// look at different places.
Result<uint32_t> free_ports(uint32_t count) {
  uint32_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = static_cast<uint32_t>(getpid());
  constexpr uint32_t kLow = 12000, kHigh = 32000;
  for (uint32_t attempt = 0; attempt < 200; ++attempt) {
    const uint32_t first = kLow + (seed + attempt * 131) % (kHigh - kLow - count);
    uint32_t free = 0;
    while (free < count && port_is_free(first + free)) ++free;
    if (free == count) return first;
  }
  return failure(fmt::format("no {} free ports in a row between {} and {}", count, kLow, kHigh));
}

Status write_file(const fs::path& path, std::string_view text, mode_t mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return failure(fmt::format("{}: {}", path.string(), errno_text(errno)));
  const bool complete = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = close(fd) == 0;
  if (!complete || !closed) return failure(fmt::format("{}: cannot be written", path.string()));
  return {};
}

std::string tail_of(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  return all.size() > 1500 ? all.substr(all.size() - 1500) : all;
}

// Runs a daemon that puts itself into the background; its exit says whether it started.
Status run_daemon(const std::vector<std::string>& words) {
  const std::vector<char*> argv = exec_pointers(words);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ);
  if (error != 0) return failure(fmt::format("{}: {}", words[0], errno_text(error)));
  if (wait_for_child(pid).value_or(0) != 0)
    return failure(fmt::format("{} did not start", words[0]));
  return {};
}

// What DownNodes lines keep out of use is not waited for.
bool is_kept_down(const ClusterConfig& config, const std::string& name) {
  return std::ranges::any_of(config.down_nodes, [&](const DownNodesConfig& down) {
    return std::ranges::find(down.nodes, name) != down.nodes.end();
  });
}

// It comes when it is wanted.
bool is_later(const ClusterConfig& config, const std::string& name) {
  const auto node = std::ranges::find(config.nodes, name, &NodeConfig::name);
  return node != config.nodes.end() && (node->state == ConfiguredNodeState::kCloud ||
                                        node->state == ConfiguredNodeState::kFuture);
}

// It has registered, and is drained or invalid for a reason that does not go by itself.
bool is_unfit(const protocol::NodeRecord& record) {
  const bool registered =
      record.shown_base != NodeBaseState::kUnknown && (record.shown_flags & kNodeNoRespond) == 0;
  return registered && (record.shown_flags & (kNodeDrain | kNodeInvalidReg)) != 0 &&
         !record.node.reason.empty();
}

// False: some are still to register.
bool count_nodes(const protocol::QueryNodesReply& reply, const ClusterConfig& config,
                 TrialNodes& nodes) {
  std::map<std::string, std::vector<std::string>> unfit;  // by reason
  size_t unfit_count = 0;
  for (const auto& record : reply.nodes) {
    const std::string& name = record.node.name;
    if (record.shown_base == NodeBaseState::kIdle && record.shown_flags == 0) {
      ++nodes.idle;
    } else if (is_kept_down(config, name)) {
      ++nodes.kept_down;
    } else if (is_later(config, name)) {
      ++nodes.later;
    } else if (is_unfit(record)) {
      unfit[std::string(record.node.reason.view())].push_back(name);
      ++unfit_count;
    }
  }
  for (const auto& [reason, names] : unfit)
    nodes.unfit.push_back(fmt::format("{}: {}", fold_hosts_sorted(names), reason));
  const size_t known = nodes.idle + nodes.kept_down + nodes.later + unfit_count;
  return !reply.nodes.empty() && known == reply.nodes.size();
}

Result<TrialNodes> wait_until_idle(const TrialOptions& options, const ClusterConfig& config) {
  const auto deadline = steady_clock::now() + kStartLimit;
  std::string last = "the controller does not answer";
  while (steady_clock::now() < deadline) {
    auto client = Client::open();
    if (client) {
      auto reply = client->call<protocol::QueryNodesReply>(protocol::QueryNodesRequest{});
      if (reply) {
        TrialNodes nodes;
        if (count_nodes(*reply, config, nodes)) {
          if (nodes.idle > 0 || nodes.unfit.empty()) return nodes;
          return failure(fmt::format("no node can run jobs: {}", fmt::join(nodes.unfit, "; ")));
        }
        last = fmt::format("{} of {} nodes are idle", nodes.idle,
                           reply->nodes.size() - nodes.kept_down - nodes.later);
      } else {
        last = reply.error().text;
      }
    }
    std::this_thread::sleep_for(milliseconds(30));
  }
  return failure(fmt::format("after {} s: {}\n--- {}/log/sluicectld.log\n{}", kStartLimit.count(),
                             last, options.dir,
                             tail_of(fs::path(options.dir) / "log/sluicectld.log")));
}

// A copy of what was written to slurm.conf, to see whether it has been edited since.
fs::path copy_of_conf(const fs::path& dir) { return dir / "run/slurm.conf.written"; }

bool is_edited(const fs::path& dir) {
  const auto text = read_file((dir / "slurm.conf").string());
  if (!text) return false;
  const auto written = read_file(copy_of_conf(dir).string());
  return !written || *written != *text;
}

Status write_conf(const TrialOptions& wanted) {
  TrialOptions options = wanted;
  const fs::path dir = options.dir;
  if (is_edited(dir)) {
    if (!options.shaped) return {};
    return failure(fmt::format(
        "{}/slurm.conf has been edited since sluice up wrote it, and --nodes, --cpus, --memory, --conf and --no-accounting are for a new one; "
        "leave them out to use it as it is, or remove it",
        options.dir));
  }
  if (!options.shaped) {
    if (auto ok = recall_shape(options); !ok) return ok;
  }
  auto first_port = free_ports(options.nodes + 2);
  if (!first_port) return tl::unexpected(first_port.error());
  const TrialPlace place{short_host_name(), own_name(), *first_port};
  const std::string text = trial_conf(options, place);
  if (options.accounting) {
    const std::string dbd = trial_dbd_conf(options, place);
    if (auto ok = write_file(dir / "slurmdbd.conf", dbd, 0600); !ok) return ok;
  } else {
    std::error_code ignored;
    fs::remove(dir / "slurmdbd.conf", ignored);
  }
  if (auto ok = write_file(dir / "slurm.conf", text, 0644); !ok) return ok;
  if (auto ok = write_file(copy_of_conf(dir), text, 0644); !ok) return ok;
  return save_shape(options);
}

Status prepare_folder(const TrialOptions& options) {
  const fs::path dir = options.dir;
  std::error_code error;
  for (const char* sub : {"state", "spool", "run", "log"}) {
    fs::create_directories(dir / sub, error);
    if (error) return failure(fmt::format("{}: {}", (dir / sub).string(), error.message()));
  }
  if (!fs::exists(dir / "slurm.key")) {
    std::string key(64, '\0');
    if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
      return failure("no random bytes for the cluster's key");
    }
    if (auto ok = write_file(dir / "slurm.key", key, 0600); !ok) return ok;
  }
  return write_conf(options);
}

Result<TrialNodes> launch_all(const TrialOptions& options) {
  const std::string conf = options.dir + "/slurm.conf";
  const auto config = load_config(conf);
  if (!config) return tl::unexpected(config.error());
  std::error_code ignored;
  const fs::path sbin =
      fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path() / "sbin";
  const std::string dbd_conf = options.dir + "/slurmdbd.conf";
  if (fs::exists(dbd_conf, ignored)) {
    // it starts before the controller, which makes certificates at its first start
    const bool lacks_certificate =
        net::uses_tls(*config) && !net::names_tls_files(*config) &&
        !fs::exists(net::accounting_tls_files(*config).certificate, ignored);
    if (lacks_certificate) {
      if (auto ok = run_daemon({sbin / "sluicectld", "--make-certificates", "-f", conf}); !ok)
        return tl::unexpected(ok.error());
    }
    if (auto ok = run_daemon({sbin / "sluicedbd", "-f", dbd_conf}); !ok)
      return tl::unexpected(ok.error());
  }
  if (auto ok = run_daemon({sbin / "sluicectld", "-f", conf}); !ok)
    return tl::unexpected(ok.error());
  for (const auto& node : config->nodes) {
    if (is_later(*config, node.name)) continue;
    const Status started = run_daemon({sbin / "sluicenoded", "-f", conf, "-N", node.name});
    if (!started) return tl::unexpected(started.error());
  }
  setenv("SLURM_CONF", conf.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  return wait_until_idle(options, *config);
}

// The folder is of a cluster that `sluice up` has started, for this user. Daemons are known by what
// they have below the folder: one that is no cluster's own may have those of others below it.
Status check_owner(const std::string& dir) {
  const TrialFolder folder(dir);
  const std::string path = dir + "/slurm.conf";
  struct stat about {};
  if (::geteuid() != 0 && ::stat(path.c_str(), &about) == 0 && about.st_uid != ::geteuid()) {
    return failure(fmt::format("the cluster of {} is another user's", dir));
  }
  const auto text = read_file(path);
  const auto daemons = text ? std::vector<TrialProcess>{} : daemons_of(folder);
  const auto own = [&](const TrialProcess& d) { return runs_from_conf_of(d, folder); };
  if (text ? is_conf_of_trial(*text, folder) : daemons.empty() || std::ranges::any_of(daemons, own))
    return {};
  return failure(fmt::format("{} is not the folder of a cluster that sluice up has started", dir));
}

uint64_t host_memory_mib() {
  struct sysinfo info {};
  sysinfo(&info);
  return static_cast<uint64_t>(info.totalram) * info.mem_unit >> 20;
}

}  // namespace

std::string default_trial_dir() {
  if (const char* dir = getenv("SLUICE_DIR")) return dir;  // NOLINT(concurrency-mt-unsafe)
  const char* home = getenv("HOME");                       // NOLINT(concurrency-mt-unsafe)
  return std::string(home != nullptr ? home : "/tmp") + "/.sluice";
}

Result<TrialNodes> start_trial(const TrialOptions& wanted) {
  TrialOptions options = wanted;
  if (const auto fault = fault_of_trial_dir(options.dir)) return failure(*fault);
  if (const Status own = check_owner(options.dir); !own) return tl::unexpected(own.error());
  if (options.memory_mib == 0) options.memory_mib = host_memory_mib();
  if (!daemons_of(TrialFolder(options.dir)).empty()) {
    return failure(fmt::format("a cluster runs in {} already; stop it with: sluice down --dir {}",
                               options.dir, options.dir));
  }
  auto done = prepare_folder(options).and_then([&] { return launch_all(options); });
  if (done) done->own_conf = is_edited(options.dir);
  if (!done) (void)stop_trial(options.dir);
  return done;
}

Result<uint32_t> stop_trial(const std::string& dir) {
  if (const Status own = check_owner(dir); !own) return tl::unexpected(own.error());
  const TrialFolder place(dir);
  std::vector<TrialProcess> left = daemons_of(place);
  const auto count = static_cast<uint32_t>(left.size());
  const auto started = steady_clock::now();
  int signal = SIGTERM;
  // Agents and the controller first: then nobody starts or waits for the step daemons that end
  // next.
  for (const auto& d : left) {
    if (!d.is_step()) kill(d.pid, signal);
  }
  std::vector<pid_t> tasks;
  while (!(left = daemons_of(place)).empty() || !std::ranges::all_of(tasks, is_over)) {
    if (steady_clock::now() - started > kStopLimit) signal = SIGKILL;
    if (steady_clock::now() - started > 2 * kStopLimit) {
      return left.empty()
                 ? failure("a task does not end")
                 : failure(fmt::format("process {} ({}) does not end", left[0].pid, left[0].name));
    }
    if (std::ranges::all_of(left, &TrialProcess::is_step)) {
      const auto more = end_steps(left);
      tasks.insert(tasks.end(), more.begin(), more.end());
    } else if (signal == SIGKILL) {
      for (const auto& d : left) kill(d.pid, signal);
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  tasks = end_tasks_of(place);
  while (!std::ranges::all_of(tasks, is_over) && steady_clock::now() - started < 3 * kStopLimit) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  return count;
}

}  // namespace sluice::cli
