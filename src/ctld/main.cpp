// sluicectld (slurmctld): options, process, signals.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <CLI/CLI.hpp>

#include "common/conf/load.hpp"
#include "common/daemon/daemon.hpp"
#include "common/daemon/log_setup.hpp"
#include "common/log/log.hpp"
#include "ctld/controller.hpp"

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace): a program's main file

struct Arguments {
  std::string config;
  std::string log_file;
  bool foreground = false, clean = false, restore = false, ignore_errors = false, version = false, systemd = false;
  int verbose = 0, quiet = 0, nice = 0;
};

std::optional<int> parse(int argc, char** argv, Arguments& a) {
  CLI::App app("The controller of a Sluice cluster.", "slurmctld");
  app.add_option("-f", a.config, "configuration file (default: $SLURM_CONF or /etc/slurm/slurm.conf)");
  app.add_option("-L", a.log_file, "log file, instead of SlurmctldLogFile");
  app.add_option("-n", a.nice, "run at this nice value");
  app.add_flag("-D", a.foreground, "stay in front, log to the standard error as well");
  app.add_flag("-c", a.clean, "forget all jobs and changed states");
  app.add_flag("-r,-R", a.restore, "keep all states (the default)");
  app.add_flag("-i", a.ignore_errors, "accepted; a damaged journal is never ignored");
  app.add_flag("-v", a.verbose, "log more; may be repeated");
  app.add_flag("-q", a.quiet, "log errors only");
  app.add_flag("-V,--version", a.version, "print the version");
  app.add_flag("--systemd", a.systemd, "run under systemd: stay in front");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (!a.version) return std::nullopt;
  std::puts("slurm 25.11.0");
  return 0;
}

daemon::LogSettings log_of(const ClusterConfig& config, const Arguments& a) {
  daemon::LogSettings settings;
  settings.program = "slurmctld";
  settings.file = a.log_file.empty() ? config.slurmctld_log_file : a.log_file;
  settings.level = config.slurmctld_debug;
  settings.syslog_level = config.slurmctld_syslog_debug;
  settings.more = a.verbose - 2 * a.quiet;
  settings.foreground = a.foreground || a.systemd;
  return settings;
}

int serve(const Arguments& a, ClusterConfig config, daemon::Background& background, daemon::Signals& signals) {
  auto pid_file = daemon::PidFile::create(config.slurmctld_pid_file);
  if (!pid_file) log::fatal("{}", pid_file.error().text);
  ctld::ControllerOptions options;
  options.config_path = config.config_path;
  options.clean = a.clean;
  options.end_process = [] { daemon::Signals::stop(); };
  auto controller = ctld::Controller::start(std::move(config), std::move(options));
  if (!controller) log::fatal("{}", controller.error().text);
  log::info("slurmctld version 25.11.0 started");
  background.ready();
  signals.run([&](int signal) {
    if (signal == SIGHUP) return (void)(*controller)->reconfigure(), true;
    if (signal == SIGUSR2) return (void)log::reopen(), true;
    if (signal == SIGUSR1) return true;
    log::info("signal {}: shutting down", signal);
    return false;
  });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  if (const auto code = parse(argc, argv, a)) return *code;
  std::vector<std::string> warnings;
  auto config = load_config(config_path(a.config), &warnings);
  if (!config) {
    std::fprintf(stderr, "slurmctld: fatal: %s\n", config.error().text.c_str());
    return 1;
  }
  auto background = a.foreground || a.systemd ? daemon::Background::stay() : daemon::Background::enter();
  daemon::Signals signals;
  if (auto ok = daemon::start_log(log_of(*config, a)); !ok) {
    std::fprintf(stderr, "slurmctld: fatal: %s\n", ok.error().text.c_str());
    return 1;
  }
  for (const std::string& warning : warnings) log::info("{}", warning);
  for (const std::string& key : config->without_effect) log::info("slurm.conf: {} has no effect yet", key);
  return serve(a, std::move(*config), background, signals);
}
