// sluice backup and sluice restore, on the controller's host: they run the controller's program,
// which knows the files.
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "cli/commands.hpp"
#include "common/base/errno_text.hpp"

namespace sluice::cli {
namespace {

struct StateCopy {
  const char* name;  // as in "sluice backup"
  const char* what;
  const char* folder;  // what the folder is
  const char* option;  // of sluicectld
};

int run_controller(const StateCopy& copy, int argc, char** argv) {
  std::string config, folder;
  CLI::App app(copy.what, copy.name);
  app.add_option("-f", config,
                 "configuration file (default: $SLURM_CONF or /etc/slurm/slurm.conf)");
  app.add_option("FOLDER", folder, copy.folder)->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : 1; }
  std::error_code ignored;
  const auto bin = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::string program = bin.parent_path() / "sbin/sluicectld";
  std::string name = copy.name, option = copy.option, file_option = "-f";
  char* words[] = {name.data(),   option.data(),
                   folder.data(), config.empty() ? nullptr : file_option.data(),
                   config.data(), nullptr};
  std::fflush(nullptr);
  ::execv(program.c_str(), words);
  std::fprintf(stderr, "%s: error: %s: %s\n", copy.name, program.c_str(), errno_text(errno));
  return 1;
}

}  // namespace

int backup_main(int argc, char** argv) {
  return run_controller(
      {"sluice backup", "Copies the state of this host's controller, which may run, to a folder.",
       "new or empty folder of the copy", "--backup-to"},
      argc, argv);
}

int restore_main(int argc, char** argv) {
  return run_controller(
      {"sluice restore",
       "Puts a copy that sluice backup made back in place of the controller's state. "
       "The controller must not run; jobs may.",
       "folder of the copy", "--restore-from"},
      argc, argv);
}

}  // namespace sluice::cli
