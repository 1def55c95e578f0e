#include "dbd/store/entity_rows.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "common/wire/codec.hpp"

namespace sluice::dbd {

namespace {

template <class T, class Take>
void read_table(Session& sql, const char* table, Take take) {
  std::string bytes;
  // the name of the table is of this file, never of a request
  const std::string query = fmt::format("SELECT record FROM {}", table);
  soci::statement statement = (sql.prepare << query, soci::into(bytes));
  statement.execute();
  while (statement.fetch()) {
    Result<T> record = wire::decode<T>(sql.read_bytes(bytes));
    if (!record) throw std::runtime_error(fmt::format("a record of table {} is damaged", table));
    take(std::move(*record));
  }
}

void write_accounts(Session& sql, const EntityDiff& diff) {
  for (const Stored<AccountRecord>& stored : diff.accounts) {
    const int deleted = stored.deleted ? 1 : 0;
    const std::string description = sql.text(stored.record.description);
    const std::string organization = sql.text(stored.record.organization);
    const std::string bytes = sql.bytes(wire::encode(stored));
    sql << "DELETE FROM account WHERE name = :n", soci::use(stored.record.name);
    sql << "INSERT INTO account(name, description, organization, deleted, record) "
           "VALUES(:n, :d, :o, :x, :r)",
        soci::use(stored.record.name), soci::use(description), soci::use(organization),
        soci::use(deleted), soci::use(bytes);
  }
}

void write_users(Session& sql, const EntityDiff& diff) {
  for (const Stored<UserRecord>& stored : diff.users) {
    const int deleted = stored.deleted ? 1 : 0;
    const int level = static_cast<int>(stored.record.admin_level);
    const std::string bytes = sql.bytes(wire::encode(stored));
    sql << "DELETE FROM \"user\" WHERE name = :n", soci::use(stored.record.name);
    sql << "INSERT INTO \"user\"(name, admin_level, deleted, record) VALUES(:n, :l, :x, :r)",
        soci::use(stored.record.name), soci::use(level), soci::use(deleted), soci::use(bytes);
  }
}

void write_associations(Session& sql, const EntityDiff& diff) {
  // a user's new name may be that of another row that is written, too
  for (const StoredAssociation& stored : diff.associations) {
    const long long id = stored.record.id;
    sql << "DELETE FROM association WHERE id = :i", soci::use(id);
  }
  for (const StoredAssociation& stored : diff.associations) {
    const AssociationRecord& r = stored.record;
    const long long id = r.id;
    const long long parent = r.parent;
    const int deleted = stored.deleted ? 1 : 0;
    const std::string bytes = sql.bytes(wire::encode(stored));
    sql << "INSERT INTO association(id, cluster, account, \"user\", \"partition\", parent, "
           "lineage, deleted, record) VALUES(:i, :c, :a, :u, :p, :t, :l, :x, :r)",
        soci::use(id), soci::use(r.cluster), soci::use(r.account), soci::use(r.user),
        soci::use(r.partition), soci::use(parent), soci::use(r.lineage), soci::use(deleted),
        soci::use(bytes);
  }
}

void write_others(Session& sql, const EntityDiff& diff) {
  // as with associations
  for (const Stored<QosRecord>& stored : diff.qos) {
    const long long id = stored.record.id;
    sql << "DELETE FROM qos WHERE id = :i", soci::use(id);
  }
  for (const Stored<QosRecord>& stored : diff.qos) {
    const long long id = stored.record.id;
    const int deleted = stored.deleted ? 1 : 0;
    const std::string bytes = sql.bytes(wire::encode(stored));
    sql << "INSERT INTO qos(id, name, deleted, record) VALUES(:i, :n, :x, :r)", soci::use(id),
        soci::use(stored.record.name), soci::use(deleted), soci::use(bytes);
  }
  for (const TresRecord& record : diff.tres) {
    const long long id = record.id;
    const std::string bytes = sql.bytes(wire::encode(record));
    sql << "DELETE FROM tres WHERE id = :i", soci::use(id);
    sql << "INSERT INTO tres(id, type, name, record) VALUES(:i, :t, :n, :r)", soci::use(id),
        soci::use(record.type), soci::use(record.name), soci::use(bytes);
  }
  for (const Stored<WckeyRecord>& stored : diff.wckeys) {
    const long long id = stored.record.id;
    const int deleted = stored.deleted ? 1 : 0;
    const std::string bytes = sql.bytes(wire::encode(stored));
    sql << "DELETE FROM wckey WHERE id = :i", soci::use(id);
    sql << "INSERT INTO wckey(id, cluster, \"user\", name, deleted, record) "
           "VALUES(:i, :c, :u, :n, :x, :r)",
        soci::use(id), soci::use(stored.record.cluster), soci::use(stored.record.user),
        soci::use(stored.record.name), soci::use(deleted), soci::use(bytes);
  }
  for (const protocol::ClusterRecord& record : diff.clusters) {
    const int deleted = record.deleted ? 1 : 0;
    const std::string bytes = sql.bytes(wire::encode(record));
    sql << "DELETE FROM site_cluster WHERE name = :n", soci::use(record.name);
    sql << "INSERT INTO site_cluster(name, deleted, record) VALUES(:n, :x, :r)",
        soci::use(record.name), soci::use(deleted), soci::use(bytes);
  }
}

}  // namespace

void write_transactions(Session& sql,
                        const std::vector<protocol::TransactionRecord>& transactions) {
  for (const protocol::TransactionRecord& record : transactions) {
    const auto time = static_cast<long long>(record.time.time_since_epoch().count());
    const std::string bytes = sql.bytes(wire::encode(record));
    const std::string subject = sql.text(record.where);
    const std::string info = sql.text(record.info);
    sql << "INSERT INTO txn(time, action, actor, subject, info, record) "
           "VALUES(:t, :a, :w, :s, :i, :r)",
        soci::use(time), soci::use(record.action), soci::use(record.actor), soci::use(subject),
        soci::use(info), soci::use(bytes);
  }
}

uint64_t stored_version(Session& sql) {
  long long version = 0;
  sql << "SELECT coalesce(max(version), 0) FROM entity_version", soci::into(version);
  return static_cast<uint64_t>(version);
}

Entities read_entities(Session& sql) {
  Entities out;
  out.version = stored_version(sql);
  read_table<Stored<AccountRecord>>(
      sql, "account", [&](Stored<AccountRecord> r) { out.accounts[r.record.name] = std::move(r); });
  read_table<Stored<UserRecord>>(
      sql, "\"user\"", [&](Stored<UserRecord> r) { out.users[r.record.name] = std::move(r); });
  read_table<StoredAssociation>(sql, "association", [&](StoredAssociation r) {
    out.associations[r.record.id] = std::move(r);
  });
  read_table<Stored<QosRecord>>(sql, "qos",
                                [&](Stored<QosRecord> r) { out.qos[r.record.id] = std::move(r); });
  read_table<TresRecord>(sql, "tres", [&](TresRecord r) { out.tres[r.id] = std::move(r); });
  read_table<Stored<WckeyRecord>>(
      sql, "wckey", [&](Stored<WckeyRecord> r) { out.wckeys[r.record.id] = std::move(r); });
  read_table<protocol::ClusterRecord>(
      sql, "site_cluster", [&](protocol::ClusterRecord r) { out.clusters[r.name] = std::move(r); });
  renew_places(out);
  return out;
}

void write_difference(Session& sql, const EntityDiff& diff) {
  write_accounts(sql, diff);
  write_users(sql, diff);
  write_associations(sql, diff);
  write_others(sql, diff);
  write_transactions(sql, diff.transactions);
  const auto version = static_cast<long long>(diff.version);
  sql << "DELETE FROM entity_version";
  sql << "INSERT INTO entity_version(version) VALUES(:v)", soci::use(version);
}

}  // namespace sluice::dbd
