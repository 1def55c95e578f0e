#include "dbd/rpc/cluster_registry.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/model/history.hpp"
#include "common/wire/codec.hpp"
#include "dbd/entities/change.hpp"

namespace sluice::dbd {
namespace {

// What the cluster had last; empty where it never said.
Result<ClusterHistory> newest_history(const Database& database, const std::string& cluster) {
  ClusterHistory out;
  Status done = database.read([&](Session& sql) -> Status {
    std::string bytes;
    sql << "SELECT record FROM cluster_event WHERE cluster = "
           "(SELECT id FROM cluster WHERE name = :n) ORDER BY start DESC LIMIT 1",
        soci::use(cluster), soci::into(bytes);
    if (!sql.got_data()) return {};
    Result<ClusterHistory> record = wire::decode<ClusterHistory>(sql.read_bytes(bytes));
    if (!record) return failure("a record of table cluster_event is damaged");
    out = std::move(*record);
    return {};
  });
  if (!done) return tl::unexpected<Error>(done.error());
  return out;
}

struct TresName {
  std::string type, name;  // "gres/gpu:a100": the type is before the slash
};
TresName split_name(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return {text, ""};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

const TresRecord* find_tres(const Entities& entities, const TresName& tres) {
  for (const auto& [id, record] : entities.tres)
    if (record.type == tres.type && record.name == tres.name) return &record;
  return nullptr;
}

// As the entities would have it; TRES that they do not know are left out.
protocol::ClusterRecord wanted(const Entities& entities, const std::string& name,
                               const protocol::StoreHistoryRequest& request,
                               const ClusterHistory& history) {
  protocol::ClusterRecord out;
  if (const auto known = entities.clusters.find(name); known != entities.clusters.end())
    out = known->second;
  out.name = name;
  out.deleted = false;
  out.control_host = request.control_host;
  out.control_port = request.control_port;
  out.rpc_version = request.protocol_version;
  if (history.time == kNoTime) return out;
  out.nodes = history.nodes;
  out.tres.clear();
  for (const NamedTres& one : history.tres) {
    if (one.name == "node") out.node_count = static_cast<uint32_t>(one.count);
    if (const TresRecord* record = find_tres(entities, split_name(one.name)))
      out.tres.push_back({record->id, one.count});
  }
  std::sort(out.tres.begin(), out.tres.end(),
            [](const TresAmount& a, const TresAmount& b) { return a.id < b.id; });
  return out;
}

bool knows_all_tres(const Entities& entities, const ClusterHistory& history) {
  return std::all_of(history.tres.begin(), history.tres.end(), [&](const NamedTres& one) {
    return find_tres(entities, split_name(one.name)) != nullptr;
  });
}

// What a controller says of itself.
struct Controller {
  std::string cluster, id, host;
  uint32_t port = 0, protocol_version = 0;
  bool began_elsewhere = false;  // has had a database that knew its cluster
};

Status may_register(const Entities& held, const Controller& one) {
  const auto found = held.clusters.find(one.cluster);
  if (found == held.clusters.end()) {
    if (!one.began_elsewhere) return {};
    return failure(ErrorCode::kWrongCluster,
                   fmt::format("this accounting database does not know cluster {}, whose "
                               "controller on {} follows another one: put that one back, or, to "
                               "begin anew with this one, \"sacctmgr add cluster {}\" or "
                               "\"sacctmgr load\" of a dump",
                               one.cluster, one.host, one.cluster));
  }
  const protocol::ClusterRecord& known = found->second;
  if (known.deleted || known.controller_id.empty() || known.controller_id == one.id) return {};
  return failure(
      ErrorCode::kWrongCluster,
      fmt::format("cluster {} is that of the controller on {}:{} with cluster id {}, and the one "
                  "on {} has {}: see first that the StateSaveLocation of this one is the right "
                  "folder, and mounted. Else give it a ClusterName of its own, or, when the state "
                  "of the first is gone for good, let it in with \"sacctmgr delete cluster {}\"",
                  one.cluster, known.control_host, known.control_port, known.controller_id,
                  one.host, one.id, one.cluster));
}

// As it is to be in the entities.
protocol::ClusterRecord registered(const Entities& held, const Controller& one) {
  protocol::ClusterRecord out;
  if (const auto known = held.clusters.find(one.cluster); known != held.clusters.end())
    out = known->second;
  out.name = one.cluster;
  out.deleted = false;
  out.controller_id = one.id;
  out.control_host = one.host;
  out.control_port = one.port;
  out.rpc_version = one.protocol_version;
  return out;
}

Status admit(EntityStore& entities, const Controller& one, Time now) {
  if (one.id.empty() || !is_name(one.cluster)) return {};
  const auto is_registered = [&](const Entities& held) {
    const auto known = held.clusters.find(one.cluster);
    return known != held.clusters.end() && known->second == registered(held, one);
  };
  if (is_registered(*entities.current())) return {};
  // decided in the transaction: of two controllers one is the first
  Status allowed;
  Status done = entities.update([&](Entities& held, auto& transactions) {
    allowed = may_register(held, one);
    return allowed.has_value() && !is_registered(held) &&
           register_cluster(held, registered(held, one), "root", now, transactions);
  });
  return done ? allowed : done;
}

}  // namespace

Status admit_controller(EntityStore& entities,
                        const protocol::QueryAccountingRecordsRequest& request, Time now) {
  return admit(entities,
               {to_lower(request.cluster), request.cluster_id, request.control_host,
                request.control_port, request.protocol_version, request.known_version != 0},
               now);
}

Status admit_controller(EntityStore& entities, const protocol::StoreHistoryRequest& request,
                        Time now) {
  return admit(
      entities,
      {to_lower(request.cluster), request.cluster_id, request.control_host, request.control_port,
       request.protocol_version, request.known_version != 0 || request.first > 1},
      now);
}

void register_controller(const Database& database, EntityStore& entities,
                         const protocol::StoreHistoryRequest& request, Time now) {
  const std::string name = to_lower(request.cluster);
  if (!is_name(name)) return;
  const Result<ClusterHistory> history = newest_history(database, request.cluster);
  if (!history) return log::error("cluster {}: {}", request.cluster, history.error().text);
  const std::shared_ptr<const Entities> present = entities.current();
  const auto known = present->clusters.find(name);
  if (known != present->clusters.end() && knows_all_tres(*present, *history) &&
      known->second == wanted(*present, name, request, *history))
    return;
  auto done = entities.update([&](Entities& held, auto& transactions) {
    bool changed = false;
    for (const NamedTres& one : history->tres) {
      const TresName tres = split_name(one.name);
      if (find_tres(held, tres) != nullptr) continue;
      const TresId id = tres_id(held, tres.type, tres.name);
      protocol::TransactionRecord t;
      t.time = now;
      t.action = "Add TRES";
      t.actor = "root";
      t.where = fmt::format("id={}", id);
      t.info = fmt::format("type='{}', name='{}'", tres.type, tres.name);
      transactions.push_back(std::move(t));
      changed = true;
    }
    changed |=
        register_cluster(held, wanted(held, name, request, *history), "root", now, transactions);
    return changed;
  });
  if (!done) log::error("cluster {}: {}", request.cluster, done.error().text);
}

}  // namespace sluice::dbd
