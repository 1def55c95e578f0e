// The multi-call binary: run under a Slurm command's name it is that command; as `sluice` it takes
// a subcommand, or any command's name, as its first argument.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include <fcntl.h>

#include "cli/commands.hpp"
#include "cli/shared/version.hpp"
#include "common/base/errno_text.hpp"

namespace {

using sluice::cli::Command;

constexpr Command kSlurmCommands[] = {
    {"sacct", sluice::cli::sacct_main},       {"sacctmgr", sluice::cli::sacctmgr_main},
    {"sreport", sluice::cli::sreport_main},   {"salloc", sluice::cli::salloc_main},
    {"sattach", sluice::cli::sattach_main},   {"sbatch", sluice::cli::sbatch_main},
    {"sbcast", sluice::cli::sbcast_main},     {"scancel", sluice::cli::scancel_main},
    {"scontrol", sluice::cli::scontrol_main}, {"scrontab", sluice::cli::scrontab_main},
    {"sdiag", sluice::cli::sdiag_main},       {"sinfo", sluice::cli::sinfo_main},
    {"sprio", sluice::cli::sprio_main},       {"squeue", sluice::cli::squeue_main},
    {"srun", sluice::cli::srun_main},         {"sstat", sluice::cli::sstat_main},
    {"seff", sluice::cli::seff_main},         {"sshare", sluice::cli::sshare_main},
    {"strigger", sluice::cli::strigger_main},
};
constexpr Command kOwnCommands[] = {
    {"backup", sluice::cli::backup_main},
    {"check", sluice::cli::check_main},
    {"compatibility", sluice::cli::compatibility_main},
    {"down", sluice::cli::down_main},
    {"explain", sluice::cli::explain_main},
    {"restore", sluice::cli::restore_main},
    {"sim", sluice::cli::sim_main},
    {"up", sluice::cli::up_main},
    {"usage", sluice::cli::usage_main},
};

const Command* find(std::span<const Command> commands, std::string_view name) {
  for (const Command& command : commands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

void print_help(FILE* out) {
  std::fputs(
      "Usage: sluice COMMAND [ARGUMENT...]\n       sluice --version | --help\n\n"
      "Sluice's own commands:",
      out);
  for (const Command& command : kOwnCommands) std::fprintf(out, " %s", command.name);
  std::fputs("\nSlurm's commands:", out);
  for (const Command& command : kSlurmCommands) std::fprintf(out, " %s", command.name);
  std::fputs("\n", out);
}

// Runs it; what it printed must have arrived, too.
int run_to_the_end(const Command& command, int argc, char** argv) {
  const int status = command.run(argc, argv);
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  // an earlier part
  const char* why = errno != 0 ? sluice::errno_text(errno) : "some of it is lost";
  std::fprintf(stderr, "%s: error: Cannot write to standard output: %s\n", command.name, why);
  return status != 0 ? status : 1;
}

int run_own(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "--help";
  if (first == "--version" || first == "-V") {
    std::printf("sluice %s\n", sluice::kSluiceVersion);
    return 0;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    print_help(stdout);
    return 0;
  }
  if (first == "--names") {  // for the build's own test: the names that are hard links
    for (const Command& command : kSlurmCommands) std::puts(command.name);
    return 0;
  }
  const Command* command = find(kOwnCommands, first);
  if (command == nullptr) command = find(kSlurmCommands, first);
  if (command != nullptr) return run_to_the_end(*command, argc - 1, argv + 1);
  std::fprintf(stderr, "sluice: error: no such command: %s\n", argv[1]);
  print_help(stderr);
  return 1;
}

}  // namespace

// A closed standard stream becomes /dev/null, never what is opened next. This runs before every
// constructor, because libraries open files in theirs.
static void fill_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) ::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
  }
}
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a function is no data
[[gnu::section(".preinit_array"), gnu::used]] static void (*const kBeforeAll)() = fill_descriptors;

int main(int argc, char** argv) {
  const char* slash = argc > 0 ? std::strrchr(argv[0], '/') : nullptr;
  const std::string_view name = argc > 0 ? (slash != nullptr ? slash + 1 : argv[0]) : "sluice";
  if (const Command* command = find(kSlurmCommands, name))
    return run_to_the_end(*command, argc, argv);
  return run_own(argc, argv);
}
