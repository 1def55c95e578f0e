#include "common/daemon/program.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/os/close_on_exec.hpp"
#include "common/base/version.hpp"
#include "common/log/log.hpp"

namespace sluice::daemon {

void add_options(CLI::App& app, ProgramOptions& options, const ProgramKeys& keys) {
  app.add_option("-f", options.config, "configuration file (default: " + keys.config + ")");
  app.add_option("-L", options.log_file, "log file, instead of " + keys.log_file);
  app.add_option("-n", options.nice, "run at this nice value");
  app.add_flag("-D", options.foreground, "stay in front, log to the standard error as well");
  app.add_flag("-v", options.verbose, "log more; may be repeated");
  app.add_flag("-q", options.quiet, "log errors only");
  app.add_flag("-s", options.change_folder,
               "work in the folder of the log, else in " + keys.folder + ", else in /var/tmp");
  app.add_flag("-V,--version", options.version, "print the version");
  app.add_flag("--systemd", options.systemd, "run under systemd: stay in front");
}

std::optional<int> parse(CLI::App& app, int argc, char** argv, const ProgramOptions& options) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : 1; }
  if (!options.version) return std::nullopt;
  std::printf("slurm %s\n", kSlurmVersion);
  return 0;
}

Background leave_terminal(const ProgramOptions& options) {
  close_on_exec_from(STDERR_FILENO + 1);
  errno = 0;  // -1 is a nice value as well
  if (options.nice != 0 && ::nice(options.nice) == -1 && errno != 0) {
    std::fprintf(stderr, "%s: error: cannot change the nice value\n", options.program.c_str());
  }
  return options.foreground || options.systemd ? Background::stay() : Background::enter();
}

Status settle(const ProgramOptions& options, LogSettings settings,
              const std::vector<std::string>& warnings) {
  settings.program = options.program;
  settings.more = options.verbose - 2 * options.quiet;
  settings.foreground = options.foreground || options.systemd;
  if (auto ok = start_log(settings); !ok) return ok;
  for (const std::string& warning : warnings) log::info("{}", warning);
  return {};
}

void choose_folder(const ProgramOptions& options, const std::string& log_file,
                   const std::string& folder) {
  if (!options.change_folder) return;
  ::prctl(PR_SET_DUMPABLE, 1);  // the kernel takes it from who leaves root
  const std::string beside = std::filesystem::path(log_file).parent_path().string();
  for (const std::string& one : {beside, folder, std::string("/var/tmp")}) {
    if (!one.empty() && ::access(one.c_str(), W_OK | X_OK) == 0 && ::chdir(one.c_str()) == 0)
      return;
  }
  log::error("-s: there is no folder to work in");
}

int refuse(const ProgramOptions& options, const std::string& why) {
  std::fprintf(stderr, "%s: fatal: %s\n", options.program.c_str(), why.c_str());
  return 1;
}

}  // namespace sluice::daemon
