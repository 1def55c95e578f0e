// sluicectld (slurmctld): options, process, signals.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/config_files/check.hpp"
#include "common/config_files/load.hpp"
#include "common/daemon/program.hpp"
#include "common/log/log.hpp"
#include "common/config/keys/conf_ignored.hpp"
#include "ctld/backup.hpp"
#include "ctld/certificate_files.hpp"
#include "ctld/controller.hpp"
#include "ctld/start_checks.hpp"

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace): a program's main file

struct Arguments : daemon::ProgramOptions {
  bool clean = false, keep_partitions = false, keep_states = false, ignore_errors = false,
       new_key = false, test = false, make_certificates = false;
  uint32_t first_job_id = kNoJob;
  std::string backup_to, restore_from;
};

std::optional<int> parse(int argc, char** argv, Arguments& a) {
  CLI::App app("The controller of a Sluice cluster.", a.program);
  daemon::add_options(app, a, {.log_file = "SlurmctldLogFile", .folder = "StateSaveLocation"});
  app.add_flag("-c", a.clean,
               "forget all jobs and changed states, but not which job ids were used");
  app.add_flag("-r", a.keep_states, "keep jobs, and why nodes are down or drained (the default)");
  app.add_flag("-R", a.keep_partitions,
               "keep partitions as scontrol changed them, too, while slurm.conf is the same");
  app.add_flag("-t", a.test, "look at the whole configuration, say what is wrong with it, and end");
  app.add_flag("-i", a.ignore_errors,
               "accepted; a damaged journal is never ignored. With --restore-from: do not ask");
  app.add_option("--first-job-id", a.first_job_id,
                 "go on with this job id, which is beyond all that were given")
      ->check(CLI::Range(uint32_t{1}, UINT32_MAX));
  app.add_flag(
      "--new-credential-key", a.new_key,
      "let nodes take over another credential.key than they know, or a new one where it is lost");
  app.add_option("--backup-to", a.backup_to,
                 "copy the state, of a controller that may run, to this new folder and end");
  app.add_option("--restore-from", a.restore_from,
                 "put such a copy back in place of the state and end")
      ->excludes("--backup-to");
  app.add_flag(
      "--make-certificates", a.make_certificates,
      "sign new certificates for the daemons (TLSType=tls/s2n), with a CA of this cluster's own, and end");
  return daemon::parse(app, argc, argv, a);
}

Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

int make_certificates(const Arguments& a, const ClusterConfig& config) {
  const auto made = ctld::make_certificates(config, now());
  if (!made) return daemon::refuse(a, made.error().text);
  for (const std::string& file : *made) std::printf("%s\n", file.c_str());
  return 0;
}

int serve(const Arguments& a, const std::string& log_file, ClusterConfig config,
          daemon::Background& background, daemon::Signals& signals) {
  auto pid_file = daemon::PidFile::create(config.slurmctld_pid_file);
  if (!pid_file) log::fatal("{}", pid_file.error().text);
  ctld::ControllerOptions options;
  options.config_path = config.config_path;
  options.keep_partitions = a.keep_partitions;
  options.clean = a.clean;
  options.first_job_id = a.first_job_id;
  options.new_key = a.new_key;
  options.end_process = [] { daemon::Signals::stop(); };
  const std::string folder = config.state_save_location;
  auto controller = ctld::Controller::start(std::move(config), std::move(options));
  if (!controller) {
    pid_file->remove();
    log::fatal("{}", controller.error().text);
  }
  log::info("slurmctld version {} started", kSlurmVersion);
  background.ready();
  daemon::choose_folder(a, log_file, folder);
  signals.run([&](int signal) {
    if (signal == SIGHUP) return (void)(*controller)->reconfigure(), true;
    if (signal == SIGUSR2) return (*controller)->reopen_logs(), true;
    if (signal == SIGUSR1) return true;
    log::info("signal {}: shutting down", signal);
    return false;
  });
  return 0;
}

// At a terminal it is asked, else it is told only.
bool may_restore(const std::vector<std::string>& lost, bool ask) {
  if (lost.empty()) return true;
  constexpr size_t kMost = 20;
  std::vector<std::string> named = lost;
  named.resize(std::min(lost.size(), kMost));
  std::string text = join(named, ", ");
  if (lost.size() > kMost) text += fmt::format(" and {} more", lost.size() - kMost);
  std::printf("jobs that run and that the backup does not have as running, which end: %s\n",
              text.c_str());
  if (!ask || ::isatty(STDIN_FILENO) == 0) return true;
  std::printf("Put the backup back all the same? (y/N): ");
  std::fflush(stdout);
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

// sluice backup and sluice restore: no daemon is started.
int copy_state(const Arguments& a, const ClusterConfig& config) {
  const bool saves = !a.backup_to.empty();
  Result<ctld::Restored> done = ctld::Restored{};
  if (saves)
    done = ctld::back_up(config.state_save_location, a.backup_to).map([](auto content) {
      return ctld::Restored{.content = content};
    });
  else
    done = ctld::restore(
        a.restore_from, config.state_save_location, config.slurm_user_id,
        [&a](const std::vector<std::string>& lost) { return may_restore(lost, !a.ignore_errors); });
  if (!done) {
    std::fprintf(stderr, "sluice %s: error: %s\n", saves ? "backup" : "restore",
                 done.error().text.c_str());
    return 1;
  }
  const ctld::BackupContent& content = done->content;
  std::printf("%s: cluster %s, %zu jobs, next job id %u\n",
              saves ? a.backup_to.c_str() : config.state_save_location.c_str(),
              content.cluster_id.c_str(), content.jobs, content.next_job_id);
  if (!done->set_aside.empty())
    std::printf("the journal that was there is %s now\n", done->set_aside.c_str());
  if (!done->key_set_aside.empty())
    std::printf(
        "the credential.key that was there is another one, and is %s now: nodes that know it take the "
        "backup's over once slurmctld was started with --new-credential-key\n",
        done->key_set_aside.c_str());
  if (done->ended > 0)
    std::printf("%zu jobs of the backup have ended since, and do not run again\n", done->ended);
  return 0;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): what nobody caught is told by std::terminate
int main(int argc, char** argv) {
  Arguments a;
  a.program = "slurmctld";
  if (const auto code = parse(argc, argv, a)) return *code;
  if (a.test) {
    ConfigCheck check = check_config(config_path(a.config));
    if (!check.config.controllers.empty()) ctld::add_start_checks(check);
    std::fputs(check_text(check).c_str(), stdout);
    return check.errors.empty() ? 0 : 1;
  }
  std::vector<std::string> warnings;
  auto config = load_config(config_path(a.config), &warnings);
  if (!config) return daemon::refuse(a, config.error().text);
  if (!a.backup_to.empty() || !a.restore_from.empty()) return copy_state(a, *config);
  if (std::string none = warning_without_partitions(*config); !none.empty())
    warnings.push_back(std::move(none));
  if (auto ok = check_stopping_keys(*config); !ok) return daemon::refuse(a, ok.error().text);
  if (a.make_certificates) return make_certificates(a, *config);
  auto background = daemon::leave_terminal(a);
  daemon::Signals signals;
  daemon::LogSettings settings;
  settings.file = a.log_file.empty() ? config->slurmctld_log_file : a.log_file;
  settings.level = config->slurmctld_debug;
  settings.syslog_level = config->slurmctld_syslog_debug;
  settings.debug_flags = config->debug_flags;
  settings.time_format = config->log_time_format;
  settings.json = daemon::wants_json(*config);
  const auto certificates = ctld::make_first_certificates(*config, now());
  if (!certificates) return daemon::refuse(a, certificates.error().text);
  // first, so that nothing is opened by root in folders of SlurmUser
  const std::vector<std::string> files = {config->slurmctld_pid_file, settings.file,
                                          config->slurm_sched_log_file};
  if (auto ok = daemon::become_user(config->slurm_user_id, files); !ok) {
    return daemon::refuse(a, ok.error().text);
  }
  if (auto ok = daemon::settle(a, settings, warnings); !ok)
    return daemon::refuse(a, ok.error().text);
  if (const std::string ignored = tables::ignored_summary(*config); !ignored.empty())
    log::warning("{}: {}", config->config_path, ignored);
  for (const std::string& file : *certificates) log::info("TLS: {} was made", file);
  return serve(a, settings.file, std::move(*config), background, signals);
}
