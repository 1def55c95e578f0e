// What the daemons' command lines have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/daemon/daemon.hpp"
#include "common/daemon/log_setup.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace sluice::daemon {

struct ProgramOptions {
  std::string program;  // "slurmctld"
  std::string config, log_file;
  bool foreground = false, systemd = false, version = false, change_folder = false;
  int verbose = 0, quiet = 0, nice = 0;
};

// The keys of the configuration that are meant in the texts, and where that is by default.
struct ProgramKeys {
  std::string log_file, folder;
  std::string config = "$SLURM_CONF or /etc/slurm/slurm.conf";
};
// -f, -L, -n, -D, -v, -q, -s, -V and --systemd.
void add_options(CLI::App& app, ProgramOptions& options, const ProgramKeys& keys);
// The exit status when there is nothing left to do: an error, --help or --version.
[[nodiscard]] std::optional<int> parse(CLI::App& app, int argc, char** argv,
                                       const ProgramOptions& options);

// Sets the nice value, while the daemon is who was started, and leaves the terminal unless it is to
// stay in front. Descriptors that it was started with are not for the programs that it starts.
// Before any thread starts.
[[nodiscard]] Background leave_terminal(const ProgramOptions& options);
// Opens the log, with `settings` as the configuration says, and tells it what loading the
// configuration found. Errors: the log cannot be opened.
[[nodiscard]] Status settle(const ProgramOptions& options, LogSettings settings,
                            const std::vector<std::string>& warnings);

// With -s the daemon, which is who it will be and in the background by now, works where a core of
// it shall land: beside its log, else in `folder`, else in /var/tmp.
void choose_folder(const ProgramOptions& options, const std::string& log_file,
                   const std::string& folder);

// Says why the daemon cannot start, before there is a log; gives its exit status.
int refuse(const ProgramOptions& options, const std::string& why);

}  // namespace sluice::daemon
