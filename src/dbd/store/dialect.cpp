#include "dbd/store/dialect.hpp"

#include <utility>

namespace sluice::dbd {
namespace {

// The row that writers lock is the schema's version: it is always there, and one.
constexpr std::string_view kLockRow = "SELECT version FROM accounting_version FOR UPDATE";

const Dialect& sqlite() {
  static const Dialect dialect = {
      .engine = Engine::kSqlite,
      .title = "SQLite",
      .backend = {},
      .package = {},
      .about_server = {},
      .server_is = {},
      .connected = {"PRAGMA foreign_keys = ON", "PRAGMA temp_store = MEMORY"},
      .begin_write = {"BEGIN IMMEDIATE"},
      .begin_read = "BEGIN",
      .lock_schema = "BEGIN IMMEDIATE",
      .unlock_schema = "COMMIT",
      .count_table =
          "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = "
          "'accounting_version'",
      .count_tables = "SELECT count(*) FROM sqlite_schema",
  };
  return dialect;
}

const Dialect& mariadb() {
  static const Dialect dialect = {
      .engine = Engine::kMariaDb,
      .title = "MariaDB",
      .backend = "mysql",
      .package = "libsoci-mysql4.0",
      .about_server = "SELECT version()",
      .server_is = "MariaDB",
      // what a daemon that is gone had begun does not keep others waiting
      .connected = {"SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
                    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                    "SET SESSION innodb_lock_wait_timeout = 30",
                    "SET SESSION idle_write_transaction_timeout = 60"},
      // its view begins with the first read that does not lock, which is behind this one
      .begin_write = {"START TRANSACTION", kLockRow},
      .begin_read = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
      .lock_schema = "SELECT GET_LOCK(concat(database(), '.accounting'), 60)",
      .unlock_schema = "SELECT RELEASE_LOCK(concat(database(), '.accounting'))",
      .count_table =
          "SELECT count(*) FROM information_schema.tables WHERE table_schema = "
          "database() AND table_name = 'accounting_version'",
      .count_tables =
          "SELECT count(*) FROM information_schema.tables WHERE table_schema = "
          "database()",
  };
  return dialect;
}

const Dialect& postgresql() {
  static const Dialect dialect = {
      .engine = Engine::kPostgresql,
      .title = "PostgreSQL",
      .backend = "postgresql",
      .package = "libsoci-postgresql4.0",
      .about_server = "SHOW server_encoding",
      .server_is = "UTF8",
      .connected = {"SET bytea_output = 'hex'", "SET standard_conforming_strings = on",
                    "SET lock_timeout = '30s'", "SET client_min_messages = 'warning'",
                    "SET idle_in_transaction_session_timeout = '60s'"},
      .begin_write = {"BEGIN ISOLATION LEVEL READ COMMITTED", kLockRow},
      .begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
      .lock_schema = "SELECT pg_advisory_lock(7033190)",
      .unlock_schema = "SELECT pg_advisory_unlock(7033190)",
      .count_table =
          "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = "
          "current_schema() AND tablename = 'accounting_version'",
      .count_tables =
          "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = "
          "current_schema()",
      .set_number = "SELECT setval(pg_get_serial_sequence('{0}', 'id'), max(id)) FROM {0}",
      .hex_bytes = true,
  };
  return dialect;
}

using Words = std::vector<std::pair<std::string_view, std::string_view>>;

const Words& words_of(Engine engine) {
  static const Words sqlite = {{"$ID", "INTEGER PRIMARY KEY"}, {"$TEXT", "TEXT NOT NULL"},
                               {"$NAME", "TEXT NOT NULL"},     {"$BYTES", "BLOB NOT NULL"},
                               {"$KEY", "BLOB NOT NULL"},      {"$TABLE", ""}};
  static const Words mariadb = {
      {"$ID", "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY"},
      {"$TEXT", "LONGTEXT NOT NULL"},
      {"$NAME", "VARCHAR(250) NOT NULL"},
      {"$BYTES", "LONGBLOB NOT NULL"},
      {"$KEY", "VARBINARY(250) NOT NULL"},
      // compares as SQLite does: by bytes, spaces at the end among them
      {"$TABLE", " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin"}};
  static const Words postgresql = {{"$ID", "BIGSERIAL PRIMARY KEY"},
                                   {"$TEXT", "TEXT COLLATE \"C\" NOT NULL"},
                                   {"$NAME", "TEXT COLLATE \"C\" NOT NULL"},
                                   {"$BYTES", "BYTEA NOT NULL"},
                                   {"$KEY", "BYTEA NOT NULL"},
                                   {"$TABLE", ""}};
  switch (engine) {
    case Engine::kMariaDb: return mariadb;
    case Engine::kPostgresql: return postgresql;
    case Engine::kSqlite: break;
  }
  return sqlite;
}

}  // namespace

std::string Dialect::schema(std::string_view statement) const {
  std::string out(statement);
  for (const auto& [mark, word] : words_of(engine)) {
    for (size_t at = out.find(mark); at != std::string::npos; at = out.find(mark, at + word.size()))
      out.replace(at, mark.size(), word);
  }
  return out;
}

const Dialect& dialect_of(Engine engine) {
  switch (engine) {
    case Engine::kMariaDb: return mariadb();
    case Engine::kPostgresql: return postgresql();
    case Engine::kSqlite: break;
  }
  return sqlite();
}

}  // namespace sluice::dbd
