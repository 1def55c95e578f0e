#include "common/daemon/program.hpp"

#include <cstdio>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "common/log/log.hpp"

namespace sluice::daemon {

void add_options(CLI::App& app, ProgramOptions& options, const std::string& log_key) {
  app.add_option("-f", options.config, "configuration file (default: $SLURM_CONF or /etc/slurm/slurm.conf)");
  app.add_option("-L", options.log_file, "log file, instead of " + log_key);
  app.add_option("-n", options.nice, "run at this nice value");
  app.add_flag("-D", options.foreground, "stay in front, log to the standard error as well");
  app.add_flag("-v", options.verbose, "log more; may be repeated");
  app.add_flag("-q", options.quiet, "log errors only");
  app.add_flag("-V,--version", options.version, "print the version");
  app.add_flag("--systemd", options.systemd, "run under systemd: stay in front");
}

std::optional<int> parse(CLI::App& app, int argc, char** argv, const ProgramOptions& options) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (!options.version) return std::nullopt;
  std::puts("slurm 25.11.0");
  return 0;
}

Background leave_terminal(const ProgramOptions& options) {
  return options.foreground || options.systemd ? Background::stay() : Background::enter();
}

Status settle(const ProgramOptions& options, LogSettings settings, const std::vector<std::string>& warnings) {
  settings.program = options.program;
  settings.more = options.verbose - 2 * options.quiet;
  settings.foreground = options.foreground || options.systemd;
  if (auto ok = start_log(settings); !ok) return ok;
  for (const std::string& warning : warnings) log::info("{}", warning);
  if (options.nice != 0 && ::nice(options.nice) == -1) log::error("cannot change the nice value");
  return {};
}

int refuse(const ProgramOptions& options, const std::string& why) {
  std::fprintf(stderr, "%s: fatal: %s\n", options.program.c_str(), why.c_str());
  return 1;
}

}  // namespace sluice::daemon
