// The journal at the controller's start: opened and replayed, or, where the controller is to forget
// everything anyway (slurmctld -c), set aside when it is damaged and begun anew.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "ctld/journal/recovery.hpp"
#include "ctld/journal/sqlite_store.hpp"

namespace sluice::journal {

struct OpenedJournal {
  std::unique_ptr<SqliteStore> store;
  Recovered recovered;
  // what was wrong, where the damaged file is now, and what was kept; empty: nothing was wrong
  std::string set_aside;
};

// Errors: SqliteStore::open()'s and recover()'s. With `start_over` kDamaged is none: the database
// is renamed (never deleted), and the new one begins with the cluster id, the epoch and the state
// before the damage, as far as they can be read, and with a job id beyond all that it may have
// given.
[[nodiscard]] Result<OpenedJournal> open_journal(const std::filesystem::path& folder,
                                                 bool start_over, SqliteOptions options = {});

}  // namespace sluice::journal
