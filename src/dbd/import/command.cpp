#include "dbd/import/command.hpp"

#include <cstdio>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/daemon/daemon.hpp"
#include "common/os/clock.hpp"
#include "dbd/import/copy.hpp"
#include "dbd/import/import.hpp"
#include "dbd/store/file_mark.hpp"

namespace sluice::dbd {
namespace {

Result<daemon::PidFile> hold(const DbdConfig& config) {
  auto held = daemon::PidFile::create(config.pid_file, std::chrono::milliseconds(0));
  if (held) return held;
  return failure("the accounting daemon is not to run meanwhile: " + held.error().text);
}

Status check_other(const DbdConfig& config, const DbdConfig& other) {
  const Storage &mine = config.storage, &theirs = other.storage;
  const bool same = mine.engine == theirs.engine && mine.name == theirs.name &&
                    (mine.engine == Engine::kSqlite || mine.hosts == theirs.hosts);
  if (!same) return {};
  return failure(
      ErrorCode::kInvalidConfig,
      other.path + ": that is the database of this daemon itself; give it one of its own");
}

Result<std::string> import_from(const DbdConfig& config, const DbdConfig& other) {
  if (other.storage.engine != Engine::kMariaDb)
    return failure(ErrorCode::kInvalidConfig,
                   other.path + ": StorageType is not accounting_storage/mysql, as slurmdbd's is");
  if (auto ok = check_other(config, other); !ok) return tl::unexpected<Error>(ok.error());
  auto held = hold(config);
  if (!held) return tl::unexpected<Error>(held.error());
  auto source = connect(other.storage);
  if (!source) return tl::unexpected<Error>(source.error());
  // what it makes is the daemon's
  if (auto ok = daemon::become_user(config.slurm_user_id, {}); !ok)
    return tl::unexpected<Error>(ok.error());
  auto target = Database::open(config.storage);
  if (!target) return tl::unexpected<Error>(target.error());
  const auto counts =
      import_slurmdbd(**source, **target,
                      {split_list(config.default_qos), config.allow_no_default_account,
                       config.disable_coordinators},
                      net::now());
  if (!counts) return tl::unexpected<Error>(counts.error());
  return counts_text(*counts);
}

// Neither daemon is to run: what the other one stored after this would be lost.
Result<std::string> copy_from(const DbdConfig& config, const DbdConfig& other) {
  if (auto ok = check_other(config, other); !ok) return tl::unexpected<Error>(ok.error());
  auto held = hold(config);
  if (!held) return tl::unexpected<Error>(held.error());
  std::optional<daemon::PidFile> other_held;
  if (other.pid_file != config.pid_file) {
    auto file = hold(other);
    if (!file) return tl::unexpected<Error>(file.error());
    other_held.emplace(std::move(*file));
  }
  // what it makes, and the log beside a file that is read, are the daemon's
  if (auto ok = daemon::become_user(config.slurm_user_id, {}); !ok)
    return tl::unexpected<Error>(ok.error());
  if (other.storage.engine == Engine::kSqlite) {
    if (auto ok = FileMark(other.storage.name).check(); !ok)
      return tl::unexpected<Error>(ok.error());
  }
  auto source = connect(other.storage);
  if (!source) return tl::unexpected<Error>(source.error());
  auto target = Database::open(config.storage);
  if (!target) return tl::unexpected<Error>(target.error());
  const auto counts = copy_database(**source, other.storage.text(), **target);
  if (!counts) return tl::unexpected<Error>(counts.error());
  return fmt::format(
      "{} clusters, {} accounts, {} users, {} associations, {} QOS, {} transactions\n"
      "{} jobs, {} steps, {} events, {} reservations",
      counts->of("cluster"), counts->of("account"), counts->of("user"), counts->of("association"),
      counts->of("qos"), counts->of("txn"), counts->of("job"), counts->of("step"),
      counts->of("node_event") + counts->of("cluster_event"), counts->of("reservation"));
}

CLI::App* add_command(CLI::App& app, const char* name, const char* about, std::string& source) {
  CLI::App* command = app.add_subcommand(name, about);
  command->add_option("SLURMDBD.CONF", source, "the configuration that says where the other one is")
      ->required();
  return command;
}

}  // namespace

bool TakeOver::is_asked() const { return import->parsed() || copy->parsed(); }

void add_take_over(CLI::App& app, TakeOver& asked) {
  asked.import = add_command(
      app, "import", "Copies what a slurmdbd of Slurm 22.05 has in MariaDB into the own database.",
      asked.source);
  asked.copy =
      add_command(app, "copy",
                  "Copies what another database of this daemon has into the own one, which is new.",
                  asked.source);
}

int run_take_over(const DbdConfig& config, const TakeOver& asked) {
  const bool copies = asked.copy->parsed();
  Result<std::string> done = failure("");
  if (auto other = load_dbd_config(asked.source); !other)
    done = tl::unexpected<Error>(other.error());
  else done = copies ? copy_from(config, *other) : import_from(config, *other);
  if (!done) {
    std::fprintf(stderr, "slurmdbd: error: %s: %s\n", copies ? "copy" : "import",
                 done.error().text.c_str());
    return 1;
  }
  std::printf("%s\n", done->c_str());
  return 0;
}

}  // namespace sluice::dbd
