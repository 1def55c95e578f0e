#include "dbd/store/migrations.hpp"

#include <string>
#include <string_view>
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

// What administrators keep. `record` is a struct of dbd/entities, encoded; the columns beside it
// are for people and their queries. What is deleted stays.
const std::vector<const char*> kEntities = {
    "CREATE TABLE entity_version(version BIGINT NOT NULL)",
    "CREATE TABLE account(name TEXT PRIMARY KEY, description TEXT NOT NULL, "
    "organization TEXT NOT NULL, deleted INTEGER NOT NULL, record BLOB NOT NULL)",
    "CREATE TABLE user(name TEXT PRIMARY KEY, admin_level INTEGER NOT NULL, "
    "deleted INTEGER NOT NULL, record BLOB NOT NULL)",
    "CREATE TABLE association(id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, "
    "account TEXT NOT NULL, user TEXT NOT NULL, partition TEXT NOT NULL, parent BIGINT NOT NULL, "
    "lineage TEXT NOT NULL, deleted INTEGER NOT NULL, record BLOB NOT NULL, "
    "UNIQUE(cluster, account, user, partition))",
    "CREATE TABLE qos(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "deleted INTEGER NOT NULL, record BLOB NOT NULL)",
    "CREATE TABLE tres(id INTEGER PRIMARY KEY, type TEXT NOT NULL, name TEXT NOT NULL, "
    "record BLOB NOT NULL, UNIQUE(type, name))",
    "CREATE TABLE wckey(id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, user TEXT NOT NULL, "
    "name TEXT NOT NULL, deleted INTEGER NOT NULL, record BLOB NOT NULL)",
    "CREATE TABLE site_cluster(name TEXT PRIMARY KEY, deleted INTEGER NOT NULL, "
    "record BLOB NOT NULL)",
    "CREATE TABLE txn(id INTEGER PRIMARY KEY, time BIGINT NOT NULL, action TEXT NOT NULL, "
    "actor TEXT NOT NULL, subject TEXT NOT NULL, info TEXT NOT NULL, record BLOB NOT NULL)",
    "CREATE INDEX txn_time ON txn(time)",
};

// Sums of usage: amount times seconds, by hour (period 0), day (1) and month (2) from `time` on.
// `rolled` of a cluster: all hours before it are summed up. What changes the past puts it back.
const std::vector<const char*> kUsage = {
    "CREATE TABLE usage_state(cluster INTEGER PRIMARY KEY REFERENCES cluster(id), "
    "rolled BIGINT NOT NULL)",
    "CREATE TABLE job_usage(cluster INTEGER NOT NULL, period INTEGER NOT NULL, "
    "time BIGINT NOT NULL, account TEXT NOT NULL, user TEXT NOT NULL, wckey TEXT NOT NULL, "
    "qos TEXT NOT NULL, tres TEXT NOT NULL, used BIGINT NOT NULL, "
    "PRIMARY KEY(cluster, period, time, account, user, wckey, qos, tres)) WITHOUT ROWID",
    "CREATE TABLE cluster_usage(cluster INTEGER NOT NULL, period INTEGER NOT NULL, "
    "time BIGINT NOT NULL, tres TEXT NOT NULL, count BIGINT NOT NULL, allocated BIGINT NOT NULL, "
    "down BIGINT NOT NULL, planned_down BIGINT NOT NULL, idle BIGINT NOT NULL, "
    "planned BIGINT NOT NULL, over BIGINT NOT NULL, "
    "PRIMARY KEY(cluster, period, time, tres)) WITHOUT ROWID",
    "CREATE TRIGGER usage_of_new_job AFTER INSERT ON job BEGIN "
    "UPDATE usage_state SET rolled = min(rolled, CASE WHEN NEW.eligible > 0 THEN NEW.eligible "
    "WHEN NEW.start > 0 THEN NEW.start ELSE NEW.submit END) WHERE cluster = NEW.cluster; END",
    "CREATE TRIGGER usage_of_changed_job AFTER UPDATE ON job BEGIN "
    "UPDATE usage_state SET rolled = min(rolled, "
    "CASE WHEN OLD.eligible <> NEW.eligible THEN min(max(OLD.eligible, 1), max(NEW.eligible, 1)) "
    "WHEN OLD.start <> NEW.start THEN max(min(OLD.start, NEW.start), "
    "CASE WHEN OLD.start = 0 THEN NEW.start ELSE 1 END) "
    "ELSE min(OLD.ended, NEW.ended) END) WHERE cluster = NEW.cluster; END",
    "CREATE TRIGGER usage_of_new_node_event AFTER INSERT ON node_event BEGIN "
    "UPDATE usage_state SET rolled = min(rolled, NEW.start) WHERE cluster = NEW.cluster; END",
    "CREATE TRIGGER usage_of_changed_node_event AFTER UPDATE ON node_event BEGIN "
    "UPDATE usage_state SET rolled = min(rolled, OLD.ended, NEW.ended) "
    "WHERE cluster = NEW.cluster; END",
    "CREATE TRIGGER usage_of_cluster AFTER INSERT ON cluster_event BEGIN "
    "UPDATE usage_state SET rolled = min(rolled, NEW.start) WHERE cluster = NEW.cluster; END",
};

// What changes the past puts `rolled` back in dbd/history/usage_mark, in any dialect.
const std::vector<const char*> kNoTriggers = {
    "DROP TRIGGER usage_of_new_job",        "DROP TRIGGER usage_of_changed_job",
    "DROP TRIGGER usage_of_new_node_event", "DROP TRIGGER usage_of_changed_node_event",
    "DROP TRIGGER usage_of_cluster",
};

// Before `floor` of a cluster history is not whole any more: nothing there is summed up again.
const std::vector<const char*> kPurging = {
    "CREATE TABLE IF NOT EXISTS purge_state(cluster BIGINT NOT NULL PRIMARY KEY, "
    "floor BIGINT NOT NULL)$TABLE",
};

// When a script or an environment was last used, by BlobRole. How those from before were is not
// known: they count as used by the newest job.
const std::vector<const char*> kBlobUse = {
    "CREATE TABLE IF NOT EXISTS blob_use(cluster BIGINT NOT NULL, \"key\" $KEY, "
    "role BIGINT NOT NULL, used BIGINT NOT NULL, PRIMARY KEY(cluster, \"key\", role))$TABLE",
    "INSERT INTO blob_use(cluster, \"key\", role, used) SELECT b.cluster, b.\"key\", 0, "
    "(SELECT coalesce(max(submit), 0) FROM job WHERE job.cluster = b.cluster) FROM \"blob\" b "
    "WHERE NOT EXISTS (SELECT 1 FROM blob_use u WHERE u.cluster = b.cluster AND "
    "u.\"key\" = b.\"key\")",
};

// Servers begin with version 4, in the words of Dialect::schema(). Texts that users make are in no
// index, which would bound their length; what is one of a kind is so by the lock of writers.
const std::vector<const char*> kServer = {
    "CREATE TABLE IF NOT EXISTS cluster(id $ID, name $NAME UNIQUE, stream $TEXT, "
    "sequence BIGINT NOT NULL DEFAULT 0, control_host $TEXT, "
    "control_port BIGINT NOT NULL DEFAULT 0, protocol_version BIGINT NOT NULL DEFAULT 0, "
    "created BIGINT NOT NULL DEFAULT 0, deleted BIGINT NOT NULL DEFAULT 0)$TABLE",
    "CREATE TABLE IF NOT EXISTS job(id $ID, cluster BIGINT NOT NULL, job_id BIGINT NOT NULL, "
    "submit BIGINT NOT NULL, restarts BIGINT NOT NULL, part BIGINT NOT NULL, "
    "array_job BIGINT NOT NULL, het_job BIGINT NOT NULL, uid BIGINT NOT NULL, "
    "gid BIGINT NOT NULL, account $TEXT, state BIGINT NOT NULL, eligible BIGINT NOT NULL, "
    "start BIGINT NOT NULL, ended BIGINT NOT NULL, record $BYTES)$TABLE",
    "CREATE UNIQUE INDEX IF NOT EXISTS job_key ON job(cluster, job_id, submit, restarts, part)",
    "CREATE INDEX IF NOT EXISTS job_array ON job(cluster, array_job)",
    "CREATE INDEX IF NOT EXISTS job_het ON job(cluster, het_job)",
    "CREATE INDEX IF NOT EXISTS job_user ON job(cluster, uid, ended)",
    "CREATE INDEX IF NOT EXISTS job_ended ON job(cluster, ended)",
    "CREATE TABLE IF NOT EXISTS step(job BIGINT NOT NULL, number BIGINT NOT NULL, "
    "record $BYTES, PRIMARY KEY(job, number))$TABLE",
    "CREATE TABLE IF NOT EXISTS node_event(id $ID, cluster BIGINT NOT NULL, node $TEXT, "
    "start BIGINT NOT NULL, ended BIGINT NOT NULL, record $BYTES)$TABLE",
    "CREATE INDEX IF NOT EXISTS node_event_ended ON node_event(cluster, ended)",
    "CREATE INDEX IF NOT EXISTS node_event_start ON node_event(cluster, start)",
    "CREATE TABLE IF NOT EXISTS cluster_event(cluster BIGINT NOT NULL, start BIGINT NOT NULL, "
    "ended BIGINT NOT NULL, record $BYTES, PRIMARY KEY(cluster, start))$TABLE",
    "CREATE TABLE IF NOT EXISTS reservation(id $ID, cluster BIGINT NOT NULL, name $TEXT, "
    "start BIGINT NOT NULL, ended BIGINT NOT NULL, record $BYTES)$TABLE",
    "CREATE INDEX IF NOT EXISTS reservation_start ON reservation(cluster, start)",
    "CREATE TABLE IF NOT EXISTS \"blob\"(cluster BIGINT NOT NULL, \"key\" $KEY, bytes $BYTES, "
    "PRIMARY KEY(cluster, \"key\"))$TABLE",
    "CREATE TABLE IF NOT EXISTS entity_version(version BIGINT NOT NULL)$TABLE",
    "CREATE TABLE IF NOT EXISTS account(name $NAME PRIMARY KEY, description $TEXT, "
    "organization $TEXT, deleted BIGINT NOT NULL, record $BYTES)$TABLE",
    "CREATE TABLE IF NOT EXISTS \"user\"(name $NAME PRIMARY KEY, admin_level BIGINT NOT NULL, "
    "deleted BIGINT NOT NULL, record $BYTES)$TABLE",
    "CREATE TABLE IF NOT EXISTS association(id BIGINT NOT NULL PRIMARY KEY, cluster $NAME, "
    "account $NAME, \"user\" $NAME, \"partition\" $TEXT, parent BIGINT NOT NULL, lineage $TEXT, "
    "deleted BIGINT NOT NULL, record $BYTES)$TABLE",
    "CREATE TABLE IF NOT EXISTS qos(id BIGINT NOT NULL PRIMARY KEY, name $NAME UNIQUE, "
    "deleted BIGINT NOT NULL, record $BYTES)$TABLE",
    "CREATE TABLE IF NOT EXISTS tres(id BIGINT NOT NULL PRIMARY KEY, type $TEXT, name $TEXT, "
    "record $BYTES)$TABLE",
    "CREATE TABLE IF NOT EXISTS wckey(id BIGINT NOT NULL PRIMARY KEY, cluster $NAME, "
    "\"user\" $NAME, name $TEXT, deleted BIGINT NOT NULL, record $BYTES)$TABLE",
    "CREATE TABLE IF NOT EXISTS site_cluster(name $NAME PRIMARY KEY, deleted BIGINT NOT NULL, "
    "record $BYTES)$TABLE",
    "CREATE TABLE IF NOT EXISTS txn(id $ID, time BIGINT NOT NULL, action $TEXT, actor $TEXT, "
    "subject $TEXT, info $TEXT, record $BYTES)$TABLE",
    "CREATE INDEX IF NOT EXISTS txn_time ON txn(time)",
    "CREATE TABLE IF NOT EXISTS usage_state(cluster BIGINT NOT NULL PRIMARY KEY, "
    "rolled BIGINT NOT NULL)$TABLE",
    "CREATE TABLE IF NOT EXISTS job_usage(id $ID, cluster BIGINT NOT NULL, "
    "period BIGINT NOT NULL, time BIGINT NOT NULL, account $TEXT, \"user\" $TEXT, wckey $TEXT, "
    "qos $TEXT, tres $TEXT, used BIGINT NOT NULL)$TABLE",
    "CREATE INDEX IF NOT EXISTS job_usage_time ON job_usage(cluster, period, time)",
    "CREATE TABLE IF NOT EXISTS cluster_usage(id $ID, cluster BIGINT NOT NULL, "
    "period BIGINT NOT NULL, time BIGINT NOT NULL, tres $TEXT, count BIGINT NOT NULL, "
    "allocated BIGINT NOT NULL, down BIGINT NOT NULL, planned_down BIGINT NOT NULL, "
    "idle BIGINT NOT NULL, planned BIGINT NOT NULL, \"over\" BIGINT NOT NULL)$TABLE",
    "CREATE INDEX IF NOT EXISTS cluster_usage_time ON cluster_usage(cluster, period, time)",
};

// Step i brings version i to i + 1. Those from kServerVersion on are of all databases.
const std::vector<const char*>* const kSteps[] = {&kHistory,    &kEntities, &kUsage,
                                                  &kNoTriggers, &kPurging,  &kBlobUse};
constexpr int kServerVersion = 4;

Status bring_up(Session& sql) {
  const Dialect& dialect = sql.dialect();
  int tables = 0;
  sql << std::string(dialect.count_table), soci::into(tables);
  if (tables == 0) {
    int others = 0;
    sql << std::string(dialect.count_tables), soci::into(others);
    if (others != 0)
      return failure(ErrorCode::kInvalidConfig,
                     dialect.engine == Engine::kSqlite
                         ? "the file is a database of another program"
                         : "the database has tables of another program, such as Slurm's slurmdbd; "
                           "StorageLoc wants one of its own");
    sql << dialect.schema("CREATE TABLE accounting_version(version INTEGER NOT NULL)$TABLE");
  }
  int rows = 0;
  sql << "SELECT count(*) FROM accounting_version", soci::into(rows);
  if (rows == 0) sql << "INSERT INTO accounting_version VALUES(0)";
  int version = 0;
  sql << "SELECT version FROM accounting_version", soci::into(version);
  const int newest = static_cast<int>(std::size(kSteps));
  if (version > newest)
    return failure(
        fmt::format("the database has version {}, and this program knows up to {}; "
                    "start the newer one again",
                    version, newest));
  if (version == newest) return {};
  if (version < kServerVersion && dialect.engine != Engine::kSqlite) {
    for (const char* statement : kServer) sql << dialect.schema(statement);
    version = kServerVersion;
  }
  for (; version < newest; ++version) {
    for (const char* statement : *kSteps[version]) sql << dialect.schema(statement);
  }
  sql << "UPDATE accounting_version SET version = :v", soci::use(version);
  return {};
}

// A statement that may answer with a row, which nobody wants.
void run(Session& sql, std::string_view statement) {
  if (!statement.starts_with("SELECT")) return (void)(sql << std::string(statement));
  std::string row;
  soci::indicator there = soci::i_null;
  sql << std::string(statement), soci::into(row, there);
}

}  // namespace

Status migrate(Session& sql) {
  const Dialect& dialect = sql.dialect();
  run(sql, dialect.lock_schema);
  // who fails here loses the connection, and the lock with it
  if (dialect.engine == Engine::kPostgresql) sql << "BEGIN";
  Status done = bring_up(sql);
  if (!done) return done;
  if (dialect.engine == Engine::kPostgresql) sql << "COMMIT";
  run(sql, dialect.unlock_schema);
  return {};
}

}  // namespace sluice::dbd
