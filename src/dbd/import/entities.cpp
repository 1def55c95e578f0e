#include "dbd/import/entities.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "common/accounting/limit_fields.hpp"
#include "common/base/text.hpp"

namespace sluice::dbd {
namespace {

// No number that a site came to in order; behind it are those of what is added later.
constexpr uint32_t kMostId = UINT32_MAX / 2;
constexpr uint64_t kLeastSpecial = UINT64_MAX - 15;  // NO_VAL64, INFINITE64

std::optional<uint32_t> optional_number(const SourceRow& row, std::string_view column) {
  if (row.is_null(column)) return std::nullopt;
  return to_number<uint32_t>(row.text(column));  // -1 and the like: no limit
}
std::optional<Duration> optional_minutes(const SourceRow& row, std::string_view column) {
  const auto minutes = optional_number(row, column);
  if (!minutes) return std::nullopt;
  return std::chrono::minutes(*minutes);
}
std::optional<Duration> optional_seconds(const SourceRow& row, std::string_view column) {
  const auto seconds = optional_number(row, column);
  if (!seconds || *seconds == UINT32_MAX) return std::nullopt;
  return std::chrono::seconds(*seconds);
}
std::optional<double> optional_real(const SourceRow& row, std::string_view column) {
  if (row.is_null(column)) return std::nullopt;
  return std::strtod(row.text(column).c_str(), nullptr);
}

QosPreemptMode preempt_mode_of(uint32_t stored) {
  constexpr uint32_t kSuspend = 1, kRequeue = 2, kCancel = 8, kWithin = 0x4000, kGang = 0x8000;
  using Mode = QosPreemptMode;
  const bool within = (stored & kWithin) != 0;
  if ((stored & kSuspend) != 0) return within ? Mode::kWithinSuspend : Mode::kSuspend;
  if ((stored & kRequeue) != 0) return within ? Mode::kWithinRequeue : Mode::kRequeue;
  if ((stored & kCancel) != 0) return within ? Mode::kWithinCancel : Mode::kCancel;
  if (within) return Mode::kWithin;
  return (stored & kGang) != 0 ? Mode::kGang : Mode::kClusterDefault;
}

// What the source's numbers are here.
class EntityImport {
 public:
  EntityImport(Session& source, Entities& entities, ImportCounts& counts)
      : source_(source), to_(entities), counts_(counts) {}

  void run(const std::vector<std::string>& clusters) {
    read_tres();
    read_qos();
    read_accounts();
    read_users();
    for (const std::string& cluster : clusters) read_cluster(cluster);
    renew_places(to_);
  }

 private:
  template <class Map>
  static uint32_t free_id(const Map& map, uint32_t wanted, uint32_t least, const char* what) {
    if (wanted > kMostId)
      throw std::runtime_error(
          fmt::format("{} {}: numbers above {} are not taken over", what, wanted, kMostId));
    if (wanted != 0 && !map.contains(wanted)) return wanted;
    return std::max(least, map.empty() ? least : map.rbegin()->first + 1);
  }

  void read_tres() {
    each_row(source_, "tres_table", "", "WHERE deleted = 0 ORDER BY id", [&](const SourceRow& row) {
      const auto id = row.number("id");
      const std::string type = row.text("type"), name = row.text("name");
      const auto found = std::ranges::find_if(to_.tres, [&](const auto& one) {
        return one.second.type == type && one.second.name == name;
      });
      const TresId here =
          found != to_.tres.end() ? found->first : free_id(to_.tres, id, kFirstDynamicTres, "TRES");
      tres_[id] = here;
      to_.tres[here] = {here, type, name};
    });
  }

  TresAmounts amounts(const SourceRow& row, std::string_view column) const {
    TresAmounts out;
    for (const auto& [id, count] : parse_amounts(row.text(column))) {
      if (const auto found = tres_.find(id); found != tres_.end())
        out.push_back({found->second, count});
    }
    std::ranges::sort(out, {}, &TresAmount::id);
    return out;
  }

  // ",1,23,", and with signs ",+23,-1,".
  std::vector<int64_t> qos_list(const std::string& text) const {
    std::vector<int64_t> out;
    for (const std::string& word : split_list(text)) {
      const bool less = word.starts_with('-');
      const auto id =
          to_number<uint32_t>(std::string_view(word).substr(less || word.starts_with('+') ? 1 : 0));
      const auto found = id ? qos_.find(*id) : qos_.end();
      if (found == qos_.end()) continue;
      out.push_back(less ? -int64_t{found->second} : int64_t{found->second});
    }
    std::ranges::sort(out);
    return out;
  }
  std::vector<QosId> qos_ids(const std::string& text) const {
    std::vector<QosId> out;
    for (const int64_t id : qos_list(text)) out.push_back(static_cast<QosId>(id));
    return out;
  }

  void read_qos() {
    // first the numbers: lists of those that may be preempted hold them
    each_row(source_, "qos_table", "", "ORDER BY deleted, id", [&](const SourceRow& row) {
      const std::string name = to_lower(row.text("name"));
      const auto found = std::ranges::find_if(
          to_.qos, [&](const auto& one) { return one.second.record.name == name; });
      const QosId here =
          found != to_.qos.end() ? found->first : free_id(to_.qos, row.number("id"), 1, "QOS");
      qos_[row.number("id")] = here;
      if (found == to_.qos.end()) to_.qos[here].record = {.id = here, .name = name};
    });
    each_row(source_, "qos_table", "", "ORDER BY deleted, id", [&](const SourceRow& row) {
      Stored<QosRecord>& stored = to_.qos[qos_.at(row.number("id"))];
      stored.deleted = row.number("deleted") != 0;
      fill(row, stored.record);
      ++counts_.qos;
    });
  }

  void fill(const SourceRow& row, QosRecord& r) const {
    r.description = row.text("description");
    r.flags = row.number<uint64_t>("flags") & (kQosRelative - 1);
    r.priority = row.number("priority");
    r.group = group_limits(row);
    r.user = {amounts(row, "max_tres_pu"), amounts(row, "max_tres_run_mins_pu"),
              optional_number(row, "max_jobs_per_user"), optional_number(row, "max_jobs_accrue_pu"),
              optional_number(row, "max_submit_jobs_per_user")};
    r.account = {amounts(row, "max_tres_pa"), amounts(row, "max_tres_run_mins_pa"),
                 optional_number(row, "max_jobs_pa"), optional_number(row, "max_jobs_accrue_pa"),
                 optional_number(row, "max_submit_jobs_pa")};
    r.job = job_limits(row, "max_wall_duration_per_job");
    r.job.min_tres = amounts(row, "min_tres_pj");
    r.preempt = qos_ids(row.text("preempt"));
    r.preempt_mode = preempt_mode_of(row.number("preempt_mode"));
    r.grace_time = optional_seconds(row, "grace_time");
    if (r.grace_time == Duration(0)) r.grace_time.reset();
    r.preempt_exempt_time = optional_seconds(row, "preempt_exempt_time");
    r.usage_factor = optional_real(row, "usage_factor").value_or(1.0);
    r.usage_threshold = optional_real(row, "usage_thres");
    r.limit_factor = optional_real(row, "limit_factor");
  }
  GroupLimits group_limits(const SourceRow& row) const {
    return {amounts(row, "grp_tres"),
            amounts(row, "grp_tres_mins"),
            amounts(row, "grp_tres_run_mins"),
            optional_number(row, "grp_jobs"),
            optional_number(row, "grp_jobs_accrue"),
            optional_number(row, "grp_submit_jobs"),
            optional_minutes(row, "grp_wall")};
  }
  JobLimits job_limits(const SourceRow& row, std::string_view wall) const {
    JobLimits out;
    out.tres = amounts(row, "max_tres_pj");
    out.tres_node = amounts(row, "max_tres_pn");
    out.tres_mins = amounts(row, "max_tres_mins_pj");
    out.wall = optional_minutes(row, wall);
    out.min_priority = optional_number(row, "min_prio_thresh");
    return out;
  }

  void read_accounts() {
    each_row(source_, "acct_table", "", "", [&](const SourceRow& row) {
      Stored<AccountRecord>& stored = to_.accounts[to_lower(row.text("name"))];
      stored.deleted = row.number("deleted") != 0;
      stored.record.name = to_lower(row.text("name"));
      stored.record.description = row.text("description");
      stored.record.organization = row.text("organization");
      stored.record.coordinators.clear();
      ++counts_.accounts;
    });
    each_row(source_, "acct_coord_table", "", "WHERE deleted = 0", [&](const SourceRow& row) {
      const auto found = to_.accounts.find(to_lower(row.text("acct")));
      if (found == to_.accounts.end()) return;
      found->second.record.coordinators.push_back(to_lower(row.text("user")));
      std::ranges::sort(found->second.record.coordinators);
    });
  }

  void read_users() {
    constexpr uint32_t kOperator = 2, kAdministrator = 3;
    each_row(source_, "user_table", "", "", [&](const SourceRow& row) {
      Stored<UserRecord>& stored = to_.users[to_lower(row.text("name"))];
      const auto level = row.number("admin_level");
      stored.deleted = row.number("deleted") != 0;
      stored.record.name = to_lower(row.text("name"));
      stored.record.admin_level = level == kAdministrator ? AdminLevel::kAdministrator
                                  : level == kOperator    ? AdminLevel::kOperator
                                                          : AdminLevel::kNone;
      ++counts_.users;
    });
  }

  void read_cluster(const std::string& cluster) {
    protocol::ClusterRecord& record = to_.clusters[cluster];
    if (record.name.empty()) {
      record.name = cluster;
      for (const auto& [name, other] : to_.clusters) record.id = std::max(record.id, other.id + 1);
    }
    record.deleted = false;
    ++counts_.clusters;
    renew_places(to_);
    each_row(source_, "assoc_table", cluster, "ORDER BY deleted, id_assoc",
             [&](const SourceRow& row) { read_association(row, cluster); });
    set_parents(cluster);
    each_row(source_, "wckey_table", cluster, "ORDER BY id_wckey",
             [&](const SourceRow& row) { read_wckey(row, cluster); });
  }

  void read_association(const SourceRow& row, const std::string& cluster) {
    StoredAssociation stored;
    AssociationRecord& r = stored.record;
    r.cluster = cluster;
    r.account = to_lower(row.text("acct"));
    r.user = to_lower(row.text("user"));
    r.partition = row.text("partition");
    const auto place = to_.places.find(place_key(r));
    r.id = place != to_.places.end()
               ? place->second
               : free_id(to_.associations, row.number("id_assoc"), 1, "association");
    r.created = place != to_.places.end() ? to_.associations[r.id].record.created
                                          : from_seconds(row.number<int64_t>("creation_time"));
    r.is_default = row.number("is_def") != 0;
    r.shares = row.number("shares", 1U);
    r.group = group_limits(row);
    r.member = {{},
                amounts(row, "max_tres_run_mins"),
                optional_number(row, "max_jobs"),
                optional_number(row, "max_jobs_accrue"),
                optional_number(row, "max_submit_jobs")};
    r.job = job_limits(row, "max_wall_pj");
    r.priority = optional_number(row, "priority");
    r.qos = qos_ids(row.text("qos"));
    stored.qos_delta = qos_list(row.text("delta_qos"));
    const auto default_qos = qos_.find(row.number("def_qos_id"));
    r.default_qos = default_qos != qos_.end() ? default_qos->second : 0;
    stored.deleted = row.number("deleted") != 0;
    parents_[r.id] = r.user.empty() ? to_lower(row.text("parent_acct")) : r.account;
    to_.associations[r.id] = std::move(stored);
    ++counts_.associations;
  }

  void set_parents(const std::string& cluster) {
    std::map<std::string, AssociationId> accounts;
    for (const auto& [id, stored] : to_.associations) {
      const AssociationRecord& r = stored.record;
      if (r.cluster == cluster && r.user.empty()) accounts[r.account] = id;
    }
    for (const auto& [id, parent] : parents_) {
      const auto found = accounts.find(parent);
      to_.associations[id].record.parent = found != accounts.end() ? found->second : 0;
    }
    for (const auto& [id, parent] : parents_) {
      const StoredAssociation& stored = to_.associations[id];
      if (stored.deleted || !stored.record.user.empty()) continue;
      const std::string problem = depth_problem(stored.record.account, cluster, depth_of(to_, id));
      if (!problem.empty()) throw std::runtime_error(problem.substr(1));
    }
    for (const auto& [id, parent] : parents_) {
      AssociationRecord& r = to_.associations[id].record;
      r.lineage = lineage_of(to_, r);
    }
    parents_.clear();
  }

  void read_wckey(const SourceRow& row, const std::string& cluster) {
    WckeyRecord r{row.number("id_wckey"), cluster, to_lower(row.text("user")),
                  row.text("wckey_name"), row.number("is_def") != 0};
    const auto found = std::ranges::find_if(to_.wckeys, [&](const auto& one) {
      const WckeyRecord& other = one.second.record;
      return other.cluster == r.cluster && other.user == r.user && other.name == r.name;
    });
    r.id = found != to_.wckeys.end() ? found->first : free_id(to_.wckeys, r.id, 1, "wckey");
    const bool deleted = row.number("deleted") != 0;
    if (r.is_default && !deleted) {
      if (const auto user = to_.users.find(r.user); user != to_.users.end())
        user->second.record.default_wckey = r.name;
    }
    to_.wckeys[r.id] = {r, deleted};
    ++counts_.wckeys;
  }

  Session& source_;
  Entities& to_;
  ImportCounts& counts_;
  std::map<uint32_t, TresId> tres_;
  std::map<uint32_t, QosId> qos_;
  std::map<AssociationId, std::string> parents_;  // of the cluster that is read
};

}  // namespace

std::vector<std::pair<uint32_t, uint64_t>> parse_amounts(const std::string& text) {
  std::vector<std::pair<uint32_t, uint64_t>> out;
  for (const std::string& one : split_list(text)) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos) continue;
    const auto id = to_number<uint32_t>(std::string_view(one).substr(0, equals));
    const auto count = to_number<uint64_t>(std::string_view(one).substr(equals + 1));
    if (id && count && *count < kLeastSpecial) out.emplace_back(*id, *count);
  }
  return out;
}

void import_entities(Session& source, const std::vector<std::string>& clusters, Entities& entities,
                     ImportCounts& counts) {
  EntityImport(source, entities, counts).run(clusters);
}

SourceNames read_names(Session& source, const std::vector<std::string>& clusters) {
  SourceNames names;
  each_row(source, "tres_table", "", "", [&](const SourceRow& row) {
    names.tres[row.number("id")] =
        accounting::tres_name({row.number("id"), row.text("type"), row.text("name")});
  });
  each_row(source, "qos_table", "", "",
           [&](const SourceRow& row) { names.qos[row.number("id")] = to_lower(row.text("name")); });
  for (const std::string& cluster : clusters) {
    auto& of_cluster = names.associations[cluster];
    each_row(source, "assoc_table", cluster, "", [&](const SourceRow& row) {
      of_cluster[row.number("id_assoc")] = {row.text("acct"), row.text("user")};
    });
  }
  return names;
}

}  // namespace sluice::dbd
