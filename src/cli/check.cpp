// sluice check: looks at a whole configuration, as slurmctld -t does, on any host and as any user.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "common/auth/auth_config.hpp"
#include "common/config_files/check.hpp"
#include "common/config_files/load.hpp"

namespace sluice::cli {

int check_main(int argc, char** argv) {
  CLI::App app(
      "Looks at slurm.conf and the files beside it and says what is wrong, all of it at once.",
      "sluice check");
  std::string file;
  app.add_option("-f,--file", file,
                 "slurm.conf to look at (default: $SLURM_CONF or /etc/slurm/slurm.conf)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : 1; }
  ConfigCheck check = check_config(config_path(file));
  if (check.errors.empty()) {
    for (std::string& warning : net::auth_warnings(check.config))
      check.warnings.push_back(std::move(warning));
  }
  std::fputs(check_text(check).c_str(), stdout);
  return check.errors.empty() ? 0 : 1;
}

}  // namespace sluice::cli
