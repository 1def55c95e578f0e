// sluice backup and sluice restore, on the controller's host: they run the controller's program,
// which knows the files.
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

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
  bool asks = false;   // at a terminal
};

int run_controller(const StateCopy& copy, int argc, char** argv) {
  std::string config, folder;
  CLI::App app(copy.what, copy.name);
  app.add_option("-f", config,
                 "configuration file (default: $SLURM_CONF or /etc/slurm/slurm.conf)");
  bool immediate = false;
  if (copy.asks)
    app.add_flag("-i,--immediate", immediate, "do not ask whether jobs that run may be ended");
  app.add_option("FOLDER", folder, copy.folder)->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : 1; }
  std::error_code ignored;
  const auto bin = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::string program = bin.parent_path() / "sbin/sluicectld";
  std::string name = copy.name, option = copy.option, file_option = "-f";
  std::string no_question = "-i";
  std::vector<char*> words = {name.data(), option.data(), folder.data()};
  if (immediate) words.push_back(no_question.data());
  if (!config.empty()) words.insert(words.end(), {file_option.data(), config.data()});
  words.push_back(nullptr);
  std::fflush(nullptr);
  ::execv(program.c_str(), words.data());
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
       "folder of the copy", "--restore-from", true},
      argc, argv);
}

}  // namespace sluice::cli
