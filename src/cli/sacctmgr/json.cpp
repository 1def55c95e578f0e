// The order of keys is the parser's (data_parser v0.0.44).
#include "cli/sacctmgr/json.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/accounting/limit_fields.hpp"
#include "common/format/json_parts.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::cli::sacctmgr {

using protocol::AccountingEntity;
using protocol::QueryAccountingReply;

namespace {

// What is not set reads as without a bound.
Json none() { return {{"set", false}, {"infinite", true}, {"number", 0}}; }
Json number(const std::optional<uint32_t>& value) { return value ? json_number(*value) : none(); }
Json minutes(const std::optional<Duration>& value) {
  return value ? json_number(static_cast<uint64_t>(*value / std::chrono::minutes(1))) : none();
}
Json seconds(const std::optional<Duration>& value) {
  return value ? json_number(static_cast<uint64_t>(*value / std::chrono::seconds(1))) : none();
}
Json real(const std::optional<double>& value) {
  if (!value) return {{"set", false}, {"infinite", true}, {"number", 0.0}};
  return {{"set", true}, {"infinite", false}, {"number", *value}};
}
Json tres(const TresAmounts& amounts, const QueryAccountingReply& names) {
  Json out = Json::array();
  for (const TresAmount& amount : amounts) {
    const auto record = std::find_if(names.all_tres.begin(), names.all_tres.end(),
                                     [&](const TresRecord& r) { return r.id == amount.id; });
    const bool known = record != names.all_tres.end();
    out.push_back({{"type", known ? record->type : ""},
                   {"name", known ? record->name : ""},
                   {"id", amount.id},
                   {"count", amount.count}});
  }
  return out;
}
std::string qos_name(const QueryAccountingReply& names, QosId id) {
  for (const QosRecord& qos : names.all_qos)
    if (qos.id == id) return qos.name;
  return {};
}

Json association_json(const AssociationRecord& r, const QueryAccountingReply& names) {
  Json qos = Json::array();
  for (const QosId id : r.qos) qos.push_back(qos_name(names, id));
  std::string parent;
  for (const AssociationRecord& other : names.associations)
    if (other.id == r.parent && r.user.empty()) parent = other.account;
  Json flags = Json::array();
  Json jobs = {{"per",
                {{"count", number(r.group.jobs)},
                 {"accruing", number(r.group.jobs_accrue)},
                 {"submitted", number(r.group.submit)},
                 {"wall_clock", minutes(r.group.wall)}}},
               {"active", number(r.member.jobs)},
               {"accruing", number(r.member.jobs_accrue)},
               {"total", number(r.member.submit)}};
  Json limits = {
      {"total", tres(r.group.tres, names)},
      {"group",
       {{"minutes", tres(r.group.tres_mins, names)},
        {"active", tres(r.group.tres_run_mins, names)}}},
      {"minutes",
       {{"total", tres(r.member.tres_run_mins, names)},
        {"per", {{"job", tres(r.job.tres_mins, names)}}}}},
      {"per", {{"job", tres(r.job.tres, names)}, {"node", tres(r.job.tres_node, names)}}}};
  return {{"accounting", Json::array()},
          {"account", r.account},
          {"cluster", r.cluster},
          {"comment", r.comment},
          {"default", {{"qos", qos_name(names, r.default_qos)}}},
          {"flags", flags},
          {"max",
           {{"jobs", jobs},
            {"tres", limits},
            {"per", {{"account", {{"wall_clock", minutes(r.job.wall)}}}}}}},
          {"id", r.id},
          {"is_default", r.is_default},
          {"lineage", r.lineage},
          {"min", {{"priority_threshold", number(r.job.min_priority)}}},
          {"parent_account", parent},
          {"partition", r.partition},
          {"priority", number(r.priority)},
          {"qos", qos},
          {"shares_raw", r.shares},
          {"user", r.user}};
}

Json qos_json(const QosRecord& r, const QueryAccountingReply& names) {
  Json flags = Json::array();
  for (const accounting::FlagName& flag : accounting::qos_flag_names()) {
    if ((r.flags & flag.flag) == 0) continue;
    std::string name;
    for (const char* c = flag.name; *c != '\0'; ++c) {
      if (c != flag.name && *c >= 'A' && *c <= 'Z' && !(c[-1] >= 'A' && c[-1] <= 'Z')) name += '_';
      name += static_cast<char>(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    }
    flags.push_back(name);
  }
  Json preempt = Json::array();
  for (const QosId id : r.preempt) preempt.push_back(qos_name(names, id));
  Json mode = Json::array();
  static constexpr const char* kModes[] = {"DISABLED", "CANCEL",  "GANG",
                                           "REQUEUE",  "SUSPEND", "WITHIN"};
  const QosPreemptMode beside = mode_beside_within(r.preempt_mode);
  if (is_within(r.preempt_mode)) mode.push_back("WITHIN");
  if (!is_within(r.preempt_mode) || beside != QosPreemptMode::kClusterDefault)
    mode.push_back(kModes[std::min<size_t>(static_cast<size_t>(beside), 5)]);
  Json max_jobs = {
      {"count", number(r.group.submit)},
      {"active_jobs",
       {{"per", {{"account", number(r.account.jobs)}, {"user", number(r.user.jobs)}}}}},
      {"per", {{"account", number(r.account.submit)}, {"user", number(r.user.submit)}}}};
  Json max_tres = {{"total", tres(r.group.tres, names)},
                   {"minutes",
                    {{"total", tres(r.group.tres_mins, names)},
                     {"per",
                      {{"qos", tres(r.group.tres_run_mins, names)},
                       {"job", tres(r.job.tres_mins, names)},
                       {"account", tres(r.account.tres_run_mins, names)},
                       {"user", tres(r.user.tres_run_mins, names)}}}}},
                   {"per",
                    {{"account", tres(r.account.tres, names)},
                     {"job", tres(r.job.tres, names)},
                     {"node", tres(r.job.tres_node, names)},
                     {"user", tres(r.user.tres, names)}}}};
  Json max = {
      {"active_jobs", {{"accruing", number(r.group.jobs_accrue)}, {"count", number(r.group.jobs)}}},
      {"jobs", max_jobs},
      {"tres", max_tres},
      {"wall_clock", {{"per", {{"qos", minutes(r.group.wall)}, {"job", minutes(r.job.wall)}}}}},
      {"accruing",
       {{"per",
         {{"account", number(r.account.jobs_accrue)}, {"user", number(r.user.jobs_accrue)}}}}}};
  const auto grace = r.grace_time.value_or(Duration(0)) / std::chrono::seconds(1);
  return {{"description", r.description},
          {"flags", flags},
          {"id", r.id},
          {"limits",
           {{"grace_time", grace},
            {"max", max},
            {"factor", real(r.limit_factor)},
            {"min",
             {{"priority_threshold", number(r.job.min_priority)},
              {"tres", {{"per", {{"job", tres(r.job.min_tres, names)}}}}}}}}},
          {"name", r.name},
          {"preempt",
           {{"list", preempt}, {"mode", mode}, {"exempt_time", seconds(r.preempt_exempt_time)}}},
          {"priority", json_number(r.priority)},
          {"usage_factor", real(r.usage_factor)},
          {"usage_threshold", real(r.usage_threshold)}};
}

// An association as users and accounts name theirs.
Json short_association(const AssociationRecord& r) {
  return {{"account", r.account},
          {"cluster", r.cluster},
          {"partition", r.partition},
          {"user", r.user},
          {"id", r.id}};
}

Json user_json(const UserRecord& user, const QueryAccountingReply& reply) {
  Json associations = Json::array();
  Json coordinators = Json::array();
  std::string default_account;
  for (const AssociationRecord& r : reply.associations) {
    if (r.user != user.name) continue;
    associations.push_back(short_association(r));
    if (r.is_default) default_account = r.account;
  }
  for (const AccountRecord& account : reply.accounts)
    if (std::find(account.coordinators.begin(), account.coordinators.end(), user.name) !=
        account.coordinators.end())
      coordinators.push_back({{"direct", true}, {"name", account.name}});
  Json level = Json::array();
  level.push_back(accounting::admin_level_text(user.admin_level));
  return {{"administrator_level", level},
          {"associations", associations},
          {"coordinators", coordinators},
          {"default", {{"account", default_account}, {"wckey", user.default_wckey}}},
          {"flags", Json::array()},
          {"name", user.name},
          {"old_name", ""},
          {"wckeys", Json::array()}};
}

Json account_json(const AccountRecord& account, const QueryAccountingReply& reply) {
  Json associations = Json::array();
  for (const AssociationRecord& r : reply.associations)
    if (r.account == account.name) associations.push_back(short_association(r));
  Json coordinators = Json::array();
  for (const std::string& name : account.coordinators)
    coordinators.push_back({{"direct", true}, {"name", name}});
  Json flags = Json::array();
  if (account.users_are_coordinators) flags.push_back("UsersAreCoords");
  return {{"associations", associations},
          {"coordinators", coordinators},
          {"description", account.description},
          {"flags", flags},
          {"name", account.name},
          {"organization", account.organization}};
}

template <class List, class Make>
Json each(const List& list, Make make) {
  Json out = Json::array();
  for (const auto& record : list) out.push_back(make(record));
  return out;
}

}  // namespace

void print_records(const Session& session, std::string key, Json records) {
  StructuredDocument document;
  document.key = std::move(key);
  document.records = std::move(records);
  document.command_line = session.command_line;
  if (session.client) {
    document.cluster = session.client->config().cluster_name;
    document.accounting_storage = session.client->config().accounting_storage_type;
  }
  print_document(session.form, std::move(document));
}

void print_json(const Session& session, AccountingEntity entity,
                const QueryAccountingReply& reply) {
  StructuredDocument document;
  document.records = Json::array();
  switch (entity) {
    case AccountingEntity::kAssociation:
      document.key = "associations";
      document.records =
          each(reply.associations, [&](const auto& r) { return association_json(r, reply); });
      break;
    case AccountingEntity::kQos:
      document.key = "qos";
      document.records = each(reply.qos, [&](const auto& r) { return qos_json(r, reply); });
      break;
    case AccountingEntity::kUser:
      document.key = "users";
      document.records = each(reply.users, [&](const auto& r) { return user_json(r, reply); });
      break;
    case AccountingEntity::kAccount:
      document.key = "accounts";
      document.records =
          each(reply.accounts, [&](const auto& r) { return account_json(r, reply); });
      break;
    case AccountingEntity::kTres:
      document.key = "tres";
      document.records = each(reply.tres, [](const TresRecord& r) {
        return Json{{"type", r.type}, {"name", r.name}, {"id", r.id}, {"count", 0}};
      });
      break;
    case AccountingEntity::kWckey:
      document.key = "wckeys";
      document.records = each(reply.wckeys, [](const WckeyRecord& r) {
        return Json{{"accounting", Json::array()},
                    {"cluster", r.cluster},
                    {"id", r.id},
                    {"name", r.name},
                    {"user", r.user},
                    {"flags", Json::array()}};
      });
      break;
    case AccountingEntity::kCluster:
      document.key = "clusters";
      document.records = each(reply.clusters, [&](const protocol::ClusterRecord& r) {
        return Json{{"controller", {{"host", r.control_host}, {"port", r.control_port}}},
                    {"flags", Json::array()},
                    {"name", r.name},
                    {"nodes", r.nodes},
                    {"associations", {{"root", {{"account", "root"}, {"cluster", r.name}}}}},
                    {"rpc_version", r.rpc_version},
                    {"tres", tres(r.tres, reply)}};
      });
      break;
    case AccountingEntity::kTransaction:
      document.key = "transactions";
      document.records = each(reply.transactions, [](const protocol::TransactionRecord& r) {
        return Json{{"id", r.id},       {"time", to_seconds(r.time)}, {"action", r.action},
                    {"actor", r.actor}, {"where", r.where},           {"info", r.info}};
      });
      break;
    default: document.key = "problems"; break;
  }
  print_records(session, std::move(document.key), std::move(document.records));
}

}  // namespace sluice::cli::sacctmgr
