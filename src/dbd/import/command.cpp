#include "dbd/import/command.hpp"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "common/base/text.hpp"
#include "common/daemon/daemon.hpp"
#include "common/os/clock.hpp"
#include "dbd/import/import.hpp"

namespace sluice::dbd {
namespace {

Result<ImportCounts> import_from(const DbdConfig& config, const std::string& path) {
  auto other = load_dbd_config(path);
  if (!other) return tl::unexpected<Error>(other.error());
  if (other->storage.engine != Engine::kMariaDb)
    return failure(ErrorCode::kInvalidConfig,
                   path + ": StorageType is not accounting_storage/mysql, as slurmdbd's is");
  if (config.storage.engine == Engine::kMariaDb && config.storage.name == other->storage.name &&
      config.storage.hosts == other->storage.hosts)
    return failure(ErrorCode::kInvalidConfig,
                   path + ": that is the database of this daemon itself; give it one of its own");
  auto held = daemon::PidFile::create(config.pid_file, std::chrono::milliseconds(0));
  if (!held) return failure("the accounting daemon is not to run meanwhile: " + held.error().text);
  auto source = connect(other->storage);
  if (!source) return tl::unexpected<Error>(source.error());
  auto target = Database::open(config.storage);
  if (!target) return tl::unexpected<Error>(target.error());
  return import_slurmdbd(**source, **target,
                         {split_list(config.default_qos), config.allow_no_default_account,
                          config.disable_coordinators},
                         net::now());
}

}  // namespace

CLI::App* add_import(CLI::App& app, std::string& source) {
  CLI::App* import = app.add_subcommand(
      "import", "Copies what a slurmdbd of Slurm 22.05 has in MariaDB into the own database.");
  import->add_option("SLURMDBD.CONF", source, "the other daemon's configuration")->required();
  return import;
}

int run_import(const DbdConfig& config, const std::string& source) {
  const auto counts = import_from(config, source);
  if (!counts) {
    std::fprintf(stderr, "slurmdbd: error: import: %s\n", counts.error().text.c_str());
    return 1;
  }
  std::printf("%s\n", counts_text(*counts).c_str());
  return 0;
}

}  // namespace sluice::dbd
