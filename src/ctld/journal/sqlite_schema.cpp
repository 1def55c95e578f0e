// Tables, formats and identity of the SQLite store.
#include "ctld/journal/sqlite_schema.hpp"

#include <array>

#include <fmt/format.h>
#include <openssl/rand.h>

#include "common/base/check.hpp"

namespace sluice::journal {

namespace {

// `digest` is the start of the SHA-256 of the bytes: SQLite does not notice a flipped bit in a row.
// A blob's bytes lie apart from its key, so that mentioning it again does not rewrite them.
constexpr const char* kTables = R"sql(
CREATE TABLE meta(
  name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE frame(
  sequence INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, time INTEGER NOT NULL,
  digest BLOB NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE blob(
  key BLOB PRIMARY KEY, mentioned INTEGER NOT NULL, id INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE blob_bytes(
  id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE checkpoint(
  sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, size INTEGER NOT NULL, digest BLOB NOT NULL);
CREATE TABLE checkpoint_part(
  sequence INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY(sequence, part));
CREATE TABLE cursor(
  reader TEXT PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
)sql";

// Step i brings format i + 1 to i + 2. A landed step is never changed.
constexpr std::array<const char*, kStoreFormat - 1> kMigrations = {
    "CREATE TABLE outbox(sequence INTEGER PRIMARY KEY AUTOINCREMENT, bytes BLOB NOT NULL)",
};

}  // namespace

std::string new_uuid() {
  std::array<unsigned char, 16> b{};
  SLUICE_CHECK(RAND_bytes(b.data(), static_cast<int>(b.size())) == 1);
  b[6] = static_cast<unsigned char>((b[6] & 0x0f) | 0x40);  // version 4: random
  b[8] = static_cast<unsigned char>((b[8] & 0x3f) | 0x80);
  std::string text;
  for (size_t i = 0; i < b.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", b[i]);
  }
  return text;
}

namespace {

Status set_meta(Database& database, std::string_view name, const std::string& value) {
  return database.run("INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)", name,
                      std::string_view(value));
}

Status create_tables(Database& database, Time now, const StoreIdentity& identity) {
  std::string tables = kTables;
  for (const char* step : kMigrations) tables.append(step).append(";");
  Status done =
      database.script(fmt::format("{}PRAGMA application_id = {}; PRAGMA user_version = {};", tables,
                                  kApplicationId, kStoreFormat));
  if (done)
    done = set_meta(database, "cluster_id",
                    identity.cluster_id.empty() ? new_uuid() : identity.cluster_id);
  if (done && identity.epoch != 0)
    done = set_meta(database, "epoch", fmt::to_string(identity.epoch));
  if (done) done = set_meta(database, "created", fmt::to_string(now.time_since_epoch().count()));
  return done;
}

Status migrate(Database& database, int64_t format) {
  for (auto at = static_cast<size_t>(format); at < kStoreFormat; ++at) {
    Status done = database.script(
        fmt::format("{}; PRAGMA user_version = {};", kMigrations.at(at - 1), at + 1));
    if (!done) return done;
  }
  return {};
}

bool is_empty(Database& database) {
  const Result<int64_t> tables = database.integer("SELECT count(*) FROM sqlite_schema", -1);
  return tables && *tables == 0;
}

}  // namespace

Status check_format(Database& database) {
  const Result<int64_t> application = database.integer("PRAGMA application_id", 0);
  if (!application) return tl::unexpected(application.error());
  const Result<int64_t> format = database.integer("PRAGMA user_version", 0);
  if (!format) return tl::unexpected(format.error());
  if (*application == 0 && *format == 0 && is_empty(database)) return {};
  if (*application != kApplicationId || *format < 1) {
    return failure(
        fmt::format("{} is not a Sluice journal; move it away or set another "
                    "StateSaveLocation",
                    database.file().string()));
  }
  if (*format > kStoreFormat) {
    return failure(
        fmt::format("the journal {} has format {}, and this version knows up to {}; "
                    "start the newer version again",
                    database.file().string(), *format, kStoreFormat));
  }
  return {};
}

Status prepare_tables(Database& database, Time now, const StoreIdentity& identity) {
  Result<Transaction> transaction = Transaction::begin(database);
  if (!transaction) return tl::unexpected(transaction.error());
  const Result<int64_t> format = database.integer("PRAGMA user_version", 0);
  if (!format) return tl::unexpected(format.error());
  Status done = *format == 0 ? create_tables(database, now, identity) : migrate(database, *format);
  if (!done) return done;
  done = database.run(
      "INSERT INTO meta(name, value) VALUES('epoch', '1') "
      "ON CONFLICT(name) DO UPDATE SET value = CAST(value AS INTEGER) + 1");
  if (!done) return done;
  return transaction->commit();
}

Result<StoreInfo> load_info(Database& database) {
  StoreInfo info;
  const Result<int64_t> format = database.integer("PRAGMA user_version", 0);
  if (!format) return tl::unexpected(format.error());
  info.format = static_cast<uint32_t>(*format);
  Status done =
      database.query("SELECT name, value, CAST(value AS INTEGER) FROM meta", [&](const Row& row) {
        const std::string_view name = row.bytes(0);
        if (name == "cluster_id") info.cluster_id = row.bytes(1);
        if (name == "epoch") info.epoch = row.number(2);
        if (name == "created") info.created = Time(Duration(row.integer(2)));
        return true;
      });
  if (!done) return tl::unexpected(done.error());
  if (info.cluster_id.empty()) {
    return failure(
        ErrorCode::kDamaged,
        fmt::format("the journal {} has no cluster id: it is damaged", database.file().string()));
  }
  return info;
}

}  // namespace sluice::journal
