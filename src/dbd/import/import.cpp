#include "dbd/import/import.hpp"

#include <fmt/format.h>

#include "dbd/entities/change.hpp"
#include "dbd/import/entities.hpp"
#include "dbd/import/history.hpp"
#include "dbd/import/source.hpp"
#include "dbd/store/entity_store.hpp"
#include "dbd/store/errors.hpp"

namespace sluice::dbd {
namespace {

Status import_all(Session& source, Database& target, const SiteRules& rules, Time now,
                  ImportCounts& counts) {
  // whatever slurmdbd does meanwhile: all that is read is of one moment
  source << "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";
  source << "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
  if (auto ok = check_schema(source, {}); !ok) return ok;
  std::vector<std::string> clusters;
  each_row(source, "cluster_table", "", "WHERE deleted = 0 ORDER BY name",
           [&](const SourceRow& row) { clusters.push_back(row.text("name")); });
  for (const std::string& cluster : clusters) {  // they are parts of the names of its tables
    if (!is_name(cluster))
      return failure(fmt::format("cluster_table: \"{}\" is no name of a cluster", cluster));
  }
  if (auto ok = check_schema(source, clusters); !ok) return ok;
  EntityStore entities(target, rules);
  if (auto ok = entities.open(); !ok) return ok;
  Status done = entities.update([&](Entities& held, std::vector<protocol::TransactionRecord>&) {
    const Entities before = held;
    import_entities(source, clusters, held, counts);
    return held != before;
  });
  if (!done) return done;
  const SourceNames names = read_names(source, clusters);
  for (const std::string& cluster : clusters) {
    if (auto ok = import_history(source, cluster, names, target, counts, now); !ok) return ok;
  }
  return {};
}

}  // namespace

Result<ImportCounts> import_slurmdbd(Session& source, Database& target, const SiteRules& rules,
                                     Time now) {
  ImportCounts counts;
  Status done = guarded("slurmdbd's database",
                        [&] { return import_all(source, target, rules, now, counts); });
  if (!done) return tl::unexpected<Error>(done.error());
  return counts;
}

std::string counts_text(const ImportCounts& counts) {
  std::string out = fmt::format(
      "{} clusters, {} accounts, {} users, {} associations, {} QOS, {} wckeys\n"
      "{} jobs, {} steps, {} events, {} reservations",
      counts.clusters, counts.accounts, counts.users, counts.associations, counts.qos,
      counts.wckeys, counts.jobs, counts.steps, counts.events, counts.reservations);
  if (counts.skipped != 0)
    out += fmt::format("\n{} jobs left out: their state or their array tasks cannot be read",
                       counts.skipped);
  return out;
}

}  // namespace sluice::dbd
