#include "dbd/archive/purge_blobs.hpp"

#include <algorithm>
#include <utility>

#include "common/model/history.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/store/blob_role.hpp"
#include "dbd/store/usage_store.hpp"

namespace sluice::dbd {
namespace {

using soci::into;
using soci::use;

// Of a transaction, and of a file.
constexpr int kMostBlobs = 500;
constexpr size_t kMostBytes = size_t{64} << 20;

struct BlobRule {
  BlobRole role = BlobRole::kUnknown;
  const char* kind = nullptr;  // of files
  long long before = 0;
  bool archive = false;
};

struct Used {
  std::string key;  // as the database has it
  long long used = 0;
};

std::vector<BlobRule> blob_rules(const PurgeRules& rules, Time now) {
  std::vector<BlobRule> out;
  const auto add = [&](Purged kind, BlobRole role, const char* name) {
    const PurgeRule& rule = rules.of(kind);
    if (rule.age) out.push_back({role, name, micros(purge_before(*rule.age, now)), rule.archive});
  };
  add(Purged::kJobScripts, BlobRole::kScript, "job_script");
  add(Purged::kJobEnvironments, BlobRole::kEnvironment, "job_env");
  if (out.size() == 2)
    out.push_back({BlobRole::kUnknown, "job_script", std::min(out[0].before, out[1].before),
                   out[0].archive || out[1].archive});
  return out;
}

// Some of those that are to go, the longest unused first. A use whose bytes are gone already has
// no row in the file.
std::vector<Used> read_some(Session& sql, const BlobRule& rule, long long cluster,
                            ArchiveFile& file) {
  std::vector<Used> out;
  Used one;
  std::string bytes;
  soci::indicator there = soci::i_null;
  const int role = static_cast<int>(rule.role);
  size_t size = 0;
  soci::statement list =
      (sql.prepare << "SELECT u.\"key\", u.used, b.bytes FROM blob_use u LEFT JOIN \"blob\" b ON "
                      "b.cluster = u.cluster AND b.\"key\" = u.\"key\" WHERE u.cluster = :c AND "
                      "u.role = :r AND u.used < :t ORDER BY u.used LIMIT :n",
       use(cluster), use(role), use(rule.before), use(kMostBlobs), into(one.key), into(one.used),
       into(bytes, there));
  list.execute();
  while (size < kMostBytes && list.fetch()) {
    out.push_back(one);
    if (!rule.archive || there != soci::i_ok) continue;
    std::string key = one.key;
    const BlobHistory blob{sql.read_bytes(key), sql.read_bytes(bytes)};
    size += blob.bytes.size();
    file.rows.push_back({rule.kind, wire::encode(blob), {static_cast<uint64_t>(one.used)}, {}});
  }
  return out;
}

void erase(Session& sql, const BlobRule& rule, long long cluster, const std::string& key) {
  const int role = static_cast<int>(rule.role);
  int others = 0;
  sql << "DELETE FROM blob_use WHERE cluster = :c AND \"key\" = :k AND role = :r", use(cluster),
      use(key), use(role);
  sql << "SELECT count(*) FROM blob_use WHERE cluster = :c AND \"key\" = :k", use(cluster),
      use(key), into(others);
  if (others == 0)
    sql << "DELETE FROM \"blob\" WHERE cluster = :c AND \"key\" = :k", use(cluster), use(key);
}

}  // namespace

Status purge_blobs(Database& database, const PurgeRules& rules, long long cluster,
                   const std::string& name, Time now, PurgeResult& result) {
  for (const BlobRule& rule : blob_rules(rules, now)) {
    for (bool more = true; more;) {
      Status done = database.write([&](Session& sql) -> Status {
        ArchiveFile file;
        file.cluster = name;
        const std::vector<Used> some = read_some(sql, rule, cluster, file);
        more = !some.empty();
        if (some.empty()) return {};
        if (Status kept = keep_rows(rules, rule.kind, std::move(file), some.front().used,
                                    some.back().used, result);
            !kept)
          return kept;
        for (const Used& one : some) erase(sql, rule, cluster, one.key);
        result.rows += some.size();
        return {};
      });
      if (!done) return done;
    }
  }
  return {};
}

}  // namespace sluice::dbd
