#include "ctld/journal/sqlite_outbox.hpp"

namespace sluice::journal {

Status add_outgoing(Database& database, const std::vector<std::string>& records) {
  for (const std::string& record : records) {
    Status done = database.run("INSERT INTO outbox(bytes) VALUES(?)", Bytes{record});
    if (!done) return done;
  }
  return {};
}

Result<OutboxBatch> read_outgoing(Database& database, size_t records, size_t bytes) {
  OutboxBatch batch;
  size_t read = 0;
  const Status done = database.query(
      "SELECT sequence, bytes FROM outbox ORDER BY sequence LIMIT ?",
      [&](const Row& row) {
        if (batch.records.empty()) batch.first = row.number(0);
        batch.records.emplace_back(row.bytes(1));
        read += batch.records.back().size();
        return read < bytes;
      },
      records);
  if (!done) return tl::unexpected(done.error());
  return batch;
}

Result<std::string> outbox_stream(Database& database, const std::string& fresh) {
  Status done = database.run("INSERT OR IGNORE INTO meta(name, value) VALUES('outbox_stream', ?)",
                             std::string_view(fresh));
  std::string stream;
  if (done) {
    done =
        database.query("SELECT value FROM meta WHERE name = 'outbox_stream'", [&](const Row& row) {
          stream = row.bytes(0);
          return false;
        });
  }
  if (!done) return tl::unexpected(done.error());
  return stream;
}

Status mark_unchecked(Database& database) {
  return database.run(
      "INSERT OR IGNORE INTO meta(name, value) SELECT 'outbox_unchecked', "
      "CAST(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0) AS TEXT)");
}

Result<int64_t> unchecked_from(Database& database) {
  return database.integer("SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'outbox_unchecked'",
                          0);
}

Status mark_checked(Database& database) {
  return database.run("DELETE FROM meta WHERE name = 'outbox_unchecked'");
}

Status forget_outbox_stream(Database& database) {
  return database.run("DELETE FROM meta WHERE name = 'outbox_stream'");
}

}  // namespace sluice::journal
