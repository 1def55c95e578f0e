#include "dbd/store/migrations.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace sluice::dbd {
namespace {

// Times are in microseconds since 1970; 0: not yet, and kNotEnded for ends. `record` is a
// HistoryRecord's part, encoded: the columns beside it are what is looked for.
const std::vector<const char*> kHistory = {
    "CREATE TABLE cluster(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "stream TEXT NOT NULL DEFAULT '', sequence BIGINT NOT NULL DEFAULT 0, "
    "control_host TEXT NOT NULL DEFAULT '', control_port INTEGER NOT NULL DEFAULT 0, "
    "protocol_version INTEGER NOT NULL DEFAULT 0, created BIGINT NOT NULL DEFAULT 0, "
    "deleted INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE job(id INTEGER PRIMARY KEY, cluster INTEGER NOT NULL REFERENCES cluster(id), "
    "job_id BIGINT NOT NULL, submit BIGINT NOT NULL, restarts INTEGER NOT NULL, part BIGINT NOT NULL, "
    "array_job BIGINT NOT NULL, het_job BIGINT NOT NULL, uid BIGINT NOT NULL, gid BIGINT NOT NULL, "
    "account TEXT NOT NULL, state INTEGER NOT NULL, eligible BIGINT NOT NULL, start BIGINT NOT NULL, "
    "ended BIGINT NOT NULL, record BLOB NOT NULL)",
    "CREATE UNIQUE INDEX job_key ON job(cluster, job_id, submit, restarts, part)",
    "CREATE INDEX job_array ON job(cluster, array_job)",
    "CREATE INDEX job_het ON job(cluster, het_job)",
    "CREATE INDEX job_user ON job(cluster, uid, ended)",
    "CREATE INDEX job_ended ON job(cluster, ended)",
    "CREATE TABLE step(job INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE, "
    "number BIGINT NOT NULL, record BLOB NOT NULL, PRIMARY KEY(job, number)) WITHOUT ROWID",
    "CREATE TABLE node_event(cluster INTEGER NOT NULL REFERENCES cluster(id), node TEXT NOT NULL, "
    "start BIGINT NOT NULL, ended BIGINT NOT NULL, record BLOB NOT NULL, "
    "PRIMARY KEY(cluster, node, start)) WITHOUT ROWID",
    "CREATE INDEX node_event_ended ON node_event(cluster, ended)",
    "CREATE TABLE cluster_event(cluster INTEGER NOT NULL REFERENCES cluster(id), "
    "start BIGINT NOT NULL, ended BIGINT NOT NULL, record BLOB NOT NULL, "
    "PRIMARY KEY(cluster, start)) WITHOUT ROWID",
    "CREATE TABLE reservation(cluster INTEGER NOT NULL REFERENCES cluster(id), name TEXT NOT NULL, "
    "start BIGINT NOT NULL, ended BIGINT NOT NULL, record BLOB NOT NULL, "
    "PRIMARY KEY(cluster, name, start)) WITHOUT ROWID",
    "CREATE TABLE blob(cluster INTEGER NOT NULL REFERENCES cluster(id), key BLOB NOT NULL, "
    "bytes BLOB NOT NULL, PRIMARY KEY(cluster, key)) WITHOUT ROWID",
};

// Step i brings version i to i + 1.
const std::vector<const char*>* const kSteps[] = {&kHistory};

}  // namespace

Status migrate(soci::session& sql) {
  int tables = 0;
  sql << "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'accounting_version'",
      soci::into(tables);
  if (tables == 0) {
    int others = 0;
    sql << "SELECT count(*) FROM sqlite_schema", soci::into(others);
    if (others != 0) return failure("the file is a database of another program");
    sql << "CREATE TABLE accounting_version(version INTEGER NOT NULL)";
    sql << "INSERT INTO accounting_version VALUES(0)";
  }
  int version = 0;
  sql << "SELECT version FROM accounting_version", soci::into(version);
  const int newest = static_cast<int>(std::size(kSteps));
  if (version > newest)
    return failure(
        fmt::format("the database has version {}, and this program knows up to {}; "
                    "start the newer one again",
                    version, newest));
  for (; version < newest; ++version) {
    for (const char* statement : *kSteps[version]) sql << statement;
  }
  sql << "UPDATE accounting_version SET version = :v", soci::use(version);
  return {};
}

}  // namespace sluice::dbd
