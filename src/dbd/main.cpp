// sluicedbd (slurmdbd): options, process, signals.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "common/base/version.hpp"
#include "common/config_files/check.hpp"
#include "common/daemon/program.hpp"
#include "common/log/log.hpp"
#include "dbd/daemon.hpp"
#include "dbd/start_errors.hpp"
#include "dbd/import/command.hpp"

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace): a program's main file

// -f, else $SLURMDBD_CONF, else beside slurm.conf, else the usual one.
std::string path_of_config(const std::string& given) {
  namespace fs = std::filesystem;
  if (!given.empty()) return fs::absolute(given);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there are no threads yet
  if (const char* slurm = std::getenv("SLURM_CONF"); slurm != nullptr && *slurm != '\0')
    return fs::absolute(slurm).parent_path() / "slurmdbd.conf";
  return dbd::kUsualConfigPath;
}

// It may wait long for its database server, and cannot be asked to stop where a library does.
Result<std::unique_ptr<dbd::Daemon>> start(dbd::DbdConfig config, daemon::PidFile& pid_file) {
  const daemon::EndWhileStarting ending([&](int signal) {
    log::info("signal {}: shutting down before it serves", signal);
    pid_file.remove();
  });
  return dbd::Daemon::start(std::move(config));
}

int serve(const daemon::ProgramOptions& a, dbd::DbdConfig config, daemon::Background& background,
          daemon::Signals& signals) {
  auto pid_file = daemon::PidFile::create(config.pid_file);
  if (!pid_file) log::fatal("{}", pid_file.error().text);
  const std::string log_file = config.log_file;
  const std::string folder = dbd::folder_of(config);
  Result<std::unique_ptr<dbd::Daemon>> running = start(std::move(config), *pid_file);
  if (!running) {
    pid_file->remove();
    log::fatal("{}", running.error().text);
  }
  log::info("slurmdbd version {} started", kSlurmVersion);
  background.ready();
  daemon::choose_folder(a, log_file, folder);
  signals.run([&](int signal) {
    if (signal == SIGHUP) return (void)(*running)->reconfigure(), true;
    if (signal == SIGUSR2) return (void)log::reopen(), true;
    if (signal == SIGUSR1) return true;
    log::info("signal {}: shutting down", signal);
    return false;
  });
  return 0;
}

std::vector<std::string> warnings_of(const dbd::DbdConfig& config) {
  if (config.without_effect.empty()) return {};
  return {fmt::format("{}: keys without effect: {}", config.path,
                      fmt::join(config.without_effect, ", "))};
}

// -t: as slurmctld -t.
int look_at(const std::string& path) {
  ConfigCheck check{path, {}, {}, {}};
  const auto add = [&check](const Error& error) { check.errors.push_back(error.text); };
  const auto config = dbd::load_dbd_config(path);
  if (config) {
    for (const Error& error : dbd::start_errors(*config)) add(error);
    check.warnings = warnings_of(*config);
  } else {
    add(config.error());
  }
  std::fputs(check_text(check).c_str(), stdout);
  return check.errors.empty() ? 0 : 1;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): what nobody caught is told by std::terminate
int main(int argc, char** argv) {
  daemon::ProgramOptions a;
  a.program = "slurmdbd";
  CLI::App app("The accounting daemon of Sluice clusters.", a.program);
  daemon::add_options(
      app, a,
      {.log_file = "LogFile",
       .folder = "the folder of StorageLoc",
       .config = "slurmdbd.conf beside $SLURM_CONF, or " + std::string(dbd::kUsualConfigPath)});
  bool test = false;
  app.add_flag("-t", test, "look at the whole configuration, say what is wrong with it, and end");
  dbd::TakeOver take_over;
  dbd::add_take_over(app, take_over);
  if (const auto code = daemon::parse(app, argc, argv, a)) return *code;
  if (test) return look_at(path_of_config(a.config));
  auto config = dbd::load_dbd_config(path_of_config(a.config));
  if (!config) return daemon::refuse(a, config.error().text);
  if (take_over.is_asked()) return dbd::run_take_over(*config, take_over);
  if (auto ok = dbd::may_serve_here(*config); !ok) return daemon::refuse(a, ok.error().text);
  auto background = daemon::leave_terminal(a);
  daemon::Signals signals;
  daemon::LogSettings settings;
  settings.file = a.log_file.empty() ? config->log_file : a.log_file;
  settings.level = config->debug_level;
  settings.syslog_level = config->syslog_level;
  settings.time_format = config->log_time_format;
  // first, so that nothing is opened by root in folders of SlurmUser
  const std::vector<std::string> files = {config->pid_file, settings.file};
  if (auto ok = daemon::become_user(config->slurm_user_id, files); !ok)
    return daemon::refuse(a, ok.error().text);
  if (auto ok = daemon::settle(a, settings, warnings_of(*config)); !ok)
    return daemon::refuse(a, ok.error().text);
  return serve(a, std::move(*config), background, signals);
}
