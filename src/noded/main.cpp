// sluicenoded (slurmd): options, process, signals.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "common/os/host_name.hpp"
#include "common/base/version.hpp"
#include "common/config_files/config_cache.hpp"
#include "common/config_files/load.hpp"
#include "common/daemon/program.hpp"
#include "common/log/log.hpp"
#include "common/net/config_fetch.hpp"
#include "common/net/srv_records.hpp"
#include "common/net/tls_config.hpp"
#include "common/rpc/idle.hpp"
#include "noded/agent.hpp"
#include "noded/config_cache.hpp"
#include "noded/node/gres_devices.hpp"
#include "noded/node/inventory.hpp"
#include "noded/node/node_line.hpp"

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace): a program's main file

struct Arguments : daemon::ProgramOptions {
  std::string stepd, conf_servers, server_user, ca_file;
  noded::NodeLineOptions own;
  bool clean = false, rebooted = false, show_hardware = false, show_gres = false,
       lock_memory = false;
};

std::optional<int> parse(int argc, char** argv, Arguments& a) {
  CLI::App app("The agent of a Sluice cluster on each node.", a.program);
  daemon::add_options(app, a, {.log_file = "SlurmdLogFile", .folder = "SlurmdSpoolDir"});
  app.add_option(
      "--conf-server", a.conf_servers,
      "controllers, as HOST[:PORT],..., to get the configuration from; this host needs no file then");
  app.add_option(
      "--conf-server-user", a.server_user,
      "the SlurmUser of these controllers, which is to have signed the configuration where auth/munge proves it (default: root)");
  app.add_option(
      "--ca-cert-file", a.ca_file,
      "certificate of the CA that the controller's has to be of; nothing is said to others then");
  app.add_option("-N", a.own.name, "name of the node this is, where a host has several");
  auto* const brings =
      app.add_flag("-Z", a.own.brings_line, "be a dynamic node, which slurm.conf does not name");
  app.add_option("--conf", a.own.line,
                 "with -Z: keys of a NodeName line, such as \"Feature=x Gres=gpu:2\"")
      ->needs(brings);
  std::string feature;
  auto* const future = app.add_option(
      "-F", feature, "be a FUTURE node that is as this host is, with this feature if one is named");
  future->expected(0, 1)->excludes(brings);
  app.add_option("-d", a.stepd, "path of the step daemon");
  app.add_flag("-b", a.rebooted, "report the node as just rebooted (for tests)");
  app.add_flag("-c", a.clean, "forget what the spool folder remembers");
  app.add_flag("-C", a.show_hardware, "print this host's line for slurm.conf and end");
  app.add_flag("-G", a.show_gres, "print this node's generic resources and end")->excludes(future);
  app.add_flag("-M", a.lock_memory, "lock the agent into memory");
  if (const auto code = daemon::parse(app, argc, argv, a)) return code;
  if (future->count() > 0) a.own.future = feature;
  if (a.show_hardware) {
    NodeHardware hardware = noded::discover_hardware("/tmp", {});
    hardware.host_name = short_host_name();
    std::fputs(noded::node_line(hardware, noded::uptime()).c_str(), stdout);
    return 0;
  }
  return std::nullopt;
}

std::string own_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

// What the agent starts with, and which node it is.
struct Configuration {
  ClusterConfig config;
  NodeConfig self;
  std::optional<noded::ConfigCache::Start> cache;  // of one that a controller sent
  std::vector<std::string> warnings;
};

Result<Configuration> read_configuration(const Arguments& a) {
  Configuration out;
  auto config = load_config(config_path(a.config), &out.warnings);
  if (!config) return tl::unexpected(config.error());
  out.config = std::move(*config);
  auto line = noded::find_node_line(out.config, a.own);
  if (!line) return tl::unexpected(line.error());
  out.self = std::move(*line);
  return out;
}

// Whom to ask for the configuration; nobody: it is in a file.
Result<std::vector<std::string>> find_servers(const Arguments& a) {
  const std::string named = config_servers(a.conf_servers, a.config);
  if (named.empty())
    return lacks_config(a.config) ? net::controllers_in_dns() : std::vector<std::string>();
  auto addresses = net::parse_conf_servers(named);
  if (!addresses)
    return failure(addresses.error().code,
                   "--conf-server=" + named + ": " + addresses.error().text);
  return addresses;
}

Result<Configuration> fetch_configuration(const Arguments& a, std::vector<std::string> servers) {
  const auto expected = expected_controller(a.server_user);
  if (!expected) return tl::unexpected(expected.error());
  auto tls = net::local_tls_trust(kUsualConfigPath);
  if (!tls) return tl::unexpected(tls.error());
  const net::ConfigServer server{.addresses = std::move(servers),
                                 .config_path = kUsualConfigPath,
                                 .holds_key = true,
                                 .tls = std::move(*tls),
                                 .slurm_user = expected->slurm_user,
                                 .auth_type = expected->auth_type};
  const auto fetched = noded::fetch_patiently(server, a.own.patience, [&a](const Error& error) {
    std::fprintf(stderr, "%s: error: %s; trying again\n", a.program.c_str(), error.text.c_str());
  });
  if (!fetched) return tl::unexpected(fetched.error());
  Configuration out;
  auto config = load_config(fetched->files, kUsualConfigPath, &out.warnings);
  if (!config) return failure(config.error().code, "the controller's " + config.error().text);
  out.config = std::move(*config);
  auto line = noded::find_node_line(out.config, a.own);
  if (!line) return tl::unexpected(line.error());
  out.self = std::move(*line);
  const std::string folder = noded::cache_folder(out.config, out.self);
  if (auto ok = noded::fill_cache(folder, *fetched); !ok) return tl::unexpected(ok.error());
  if (::geteuid() == 0) {
    const auto link = std::filesystem::path(kFetchedConfigPath).parent_path().string();
    if (auto ok = set_link(link, folder); !ok) out.warnings.push_back(ok.error().text);
  }
  out.config.config_path = folder + "/" + std::string(kMainConfigFile);
  out.cache = noded::ConfigCache::Start{server, fetched->digest};
  return out;
}

// On the standard error, as a log.
int show_gres(const Arguments& a, const Configuration& start) {
  std::vector<std::string> problems;
  const std::vector<GresDevices> found =
      noded::find_gres(start.config, start.self, noded::nvml_gpus, problems);
  for (const std::string& problem : problems)
    std::fprintf(stderr, "%s: error: %s\n", a.program.c_str(), problem.c_str());
  for (const std::string& line : noded::gres_lines(start.self, found, start.self.cores())) {
    std::fprintf(stderr, "%s: %s\n", a.program.c_str(), line.c_str());
  }
  return 0;
}

int serve(const Arguments& a, const std::string& log_file, Configuration start,
          daemon::Background& background, daemon::Signals& signals) {
  ClusterConfig& config = start.config;
  const NodeConfig& self = start.self;
  auto pid_file = daemon::PidFile::create(node_path(config.slurmd_pid_file, self));
  if (!pid_file) log::fatal("{}", pid_file.error().text);
  noded::AgentOptions options;
  options.node_name = self.name;
  options.config_path = config.config_path;
  options.sbin_dir =
      a.stepd.empty() ? own_folder() : std::filesystem::path(a.stepd).parent_path().string();
  options.clean = a.clean;
  options.rebooted = a.rebooted;
  if (a.own.brings_line) options.node_line = std::make_shared<const NodeConfig>(self);
  options.claims_future = a.own.future.has_value();
  options.cache = std::move(start.cache);
  options.end_process = [] { daemon::Signals::stop(); };
  const std::string folder = node_path(config.slurmd_spool_dir, self);
  auto agent = noded::Agent::start(std::move(config), std::move(options));
  if (!agent) {
    pid_file->remove();
    log::fatal("{}", agent.error().text);
  }
  log::info("slurmd version {} started as node {}", kSlurmVersion, self.name);
  background.ready();
  daemon::choose_folder(a, log_file, folder);
  signals.run([&](int signal) {
    if (signal == SIGHUP) return (void)(*agent)->reconfigure(), true;
    if (signal == SIGUSR2) return (void)log::reopen(), true;
    if (signal == SIGUSR1) return true;
    log::info("signal {}: shutting down, steps go on", signal);
    return false;
  });
  return 0;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): what nobody caught is told by std::terminate
int main(int argc, char** argv) {
  Arguments a;
  a.program = "slurmd";
  if (const auto code = parse(argc, argv, a)) return *code;
  if (!a.ca_file.empty())
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    ::setenv("SLURM_CA_CERT_FILE", a.ca_file.c_str(), 1);
  auto servers = find_servers(a);
  if (!servers) return daemon::refuse(a, servers.error().text);
  auto start =
      servers->empty() ? read_configuration(a) : fetch_configuration(a, std::move(*servers));
  if (!start) return daemon::refuse(a, start.error().text);
  if (a.show_gres) return show_gres(a, *start);
  // what a controller sent was looked at there
  const Status enforced = start->cache ? Status{} : check_stopping_keys(start->config);
  if (!enforced) return daemon::refuse(a, enforced.error().text);
  const ClusterConfig& config = start->config;

  auto background = daemon::leave_terminal(a);
  net::rest_when_idle();
  daemon::Signals signals;
  daemon::LogSettings settings;
  settings.file = node_path(a.log_file.empty() ? config.slurmd_log_file : a.log_file, start->self);
  settings.level = config.slurmd_debug;
  settings.syslog_level = config.slurmd_syslog_debug;
  settings.debug_flags = config.debug_flags;
  settings.time_format = config.log_time_format;
  settings.json = daemon::wants_json(config);
  if (auto ok = daemon::settle(a, settings, start->warnings); !ok)
    return daemon::refuse(a, ok.error().text);
  if (a.lock_memory && ::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) log::error("cannot lock memory");
  return serve(a, settings.file, std::move(*start), background, signals);
}
