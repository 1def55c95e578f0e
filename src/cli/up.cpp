// sluice up and sluice down: a trial cluster in one command, and its end.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/trial/trial_cluster.hpp"

namespace sluice::cli {
namespace {

int parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : 1; }
  return -1;
}

}  // namespace

int up_main(int argc, char** argv) {
  TrialOptions options;
  options.dir = default_trial_dir();
  std::string conf;
  CLI::App app("Starts a controller and virtual nodes on this host and waits until all are idle.",
               "sluice up");
  app.add_option("--nodes", options.nodes, "how many nodes")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--cpus", options.cpus, "CPUs of each")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--memory", options.memory_mib, "memory of each in MiB (default: the host's)");
  app.add_option("--dir", options.dir, "folder of the cluster")->capture_default_str();
  app.add_option("--conf", conf, "further slurm.conf lines; they win over the written ones")
      ->check(CLI::ExistingFile);
  bool without_accounting = false;
  app.add_flag("--no-accounting", without_accounting, "without an accounting daemon: no sacct");
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  options.accounting = !without_accounting;
  // it is told to whoever stands elsewhere
  options.dir = std::filesystem::absolute(options.dir).lexically_normal();
  if (!conf.empty()) {
    std::ifstream in(conf);
    std::ostringstream text;
    text << in.rdbuf();
    options.extra_conf = text.str();
  }
  for (const char* name : {"--nodes", "--cpus", "--memory", "--conf", "--no-accounting"})
    options.shaped |= app.count(name) > 0;
  const auto started = start_trial(options);
  if (!started) {
    std::fprintf(stderr, "sluice up: error: %s\n", started.error().text.c_str());
    return 1;
  }
  if (started->own_conf) {
    std::fprintf(
        stderr,
        "sluice up: %s/slurm.conf has been edited and is used as it is; remove it to have it written anew\n",
        options.dir.c_str());
  }
  for (const std::string& nodes : started->unfit)
    std::fprintf(stderr, "sluice up: warning: these nodes run no jobs: %s\n", nodes.c_str());
  std::error_code ignored;
  const std::filesystem::path programs =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::printf("%zu nodes are idle", started->idle);
  if (started->kept_down != 0) std::printf(", %zu are kept down by DownNodes", started->kept_down);
  if (started->later != 0)
    std::printf(", %zu come when they are wanted (State=CLOUD)", started->later);
  std::printf(". To use the cluster:\n\n");
  std::printf("export SLURM_CONF=%s/slurm.conf\nexport PATH=%s:$PATH\n", options.dir.c_str(),
              programs.c_str());
  return 0;
}

int down_main(int argc, char** argv) {
  std::string dir = default_trial_dir();
  CLI::App app("Stops the cluster that sluice up started in a folder.", "sluice down");
  app.add_option("--dir", dir, "folder of the cluster")->capture_default_str();
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  const auto stopped = stop_trial(dir);
  if (!stopped) {
    std::fprintf(stderr, "sluice down: error: %s\n", stopped.error().text.c_str());
    return 1;
  }
  std::printf("%u processes stopped\n", *stopped);
  return 0;
}

}  // namespace sluice::cli
