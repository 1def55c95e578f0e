// The tables of the SQLite store, their format's number, and the steps from older formats.
#pragma once

#include <filesystem>

#include "ctld/journal/sqlite_db.hpp"
#include "ctld/journal/store.hpp"

namespace sluice::journal {

inline constexpr uint32_t kStoreFormat = 2;
inline constexpr int64_t kApplicationId = 0x534c4349;  // "SLCI": the file is a Sluice journal

inline std::filesystem::path database_file(const std::filesystem::path& folder) {
  return folder / "journal.db";
}

// Refuses a file that is no journal or of a newer format; the file stays as it is.
Status check_format(Database& database);

// Makes the tables in an empty file, or brings those of an older format up to date; then counts the
// epoch up. `now` is when the cluster was created and `identity` what it is, should the file be
// empty.
Status prepare_tables(Database& database, Time now, const StoreIdentity& identity = {});

// Random.
std::string new_uuid();

Result<StoreInfo> load_info(Database& database);

}  // namespace sluice::journal
