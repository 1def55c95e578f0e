// sacctmgr list and show.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cli/sacctmgr/columns.hpp"
#include "cli/sacctmgr/json.hpp"
#include "cli/sacctmgr/session.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/os/clock.hpp"

namespace sluice::cli::sacctmgr {

using protocol::AccountingEntity;
using protocol::QueryAccountingReply;
using protocol::QueryAccountingRequest;

namespace {

constexpr const char* kNoEntity =
    "No valid entity in list command\n"
    "Input line must include \"Account\", \"Association\", \"Cluster\", \"Configuration\",\n"
    "\"Event\", \"Federation\", \"Problem\", \"QOS\", \"Resource\", \"Reservation\",\n"
    "\"RunAwayJobs\", \"Stats\", \"Transaction\", \"TRES\", \"User\", or \"WCKey\"";

// What a list command asks for.
struct Asked {
  QueryAccountingRequest request;
  std::vector<std::string> fields;
  bool tree = false, with_coordinators = false, parents = true, limits = true;
};

// Gives false.
bool tell_unknown(Session& session, AccountingEntity entity, const std::string& word,
                  bool bad_value) {
  const Option option = split_option(word);
  if (bad_value && !option.has_value)
    return session.error(fmt::format("Invalid value for AssocId ({})", word));
  if (bad_value && (option.is("Start", 1) || option.is("End", 1))) {
    const auto time = parse_time(option.value, net::now(), TimeBias::kPast);
    if (!time) return session.fail(time.error().text);
  }
  if (bad_value && entity == AccountingEntity::kTransaction && option.is("Actions", 4)) {
    for (const std::string& one : option.list())
      if (!is_action(one)) session.error(fmt::format("You gave a bad action '{}'.", one));
    return false;
  }
  session.fail(" Unknown condition: " + word);
  switch (entity) {
    case AccountingEntity::kUser:
    case AccountingEntity::kAccount:
    case AccountingEntity::kCluster:
    case AccountingEntity::kTres: return session.fail(" Use keyword 'set' to modify value");
    default: return false;
  }
}

// False where a word is none (then it was told).
bool read_words(Session& session, AccountingEntity entity, const Words& words, Asked& asked) {
  asked.request.entity = entity;
  for (const std::string& word : words) {
    const Option option = split_option(word);
    bool bad_value = false;
    if (iequals(word, "where") || word.empty()) continue;
    if (option.has_value && option.is("Format", 1)) {
      for (std::string& field : split_list(option.value)) asked.fields.push_back(std::move(field));
      continue;
    }
    if (!option.has_value && option.is("Tree", 4)) {
      asked.tree = true;
      continue;
    }
    if (!option.has_value && option.is("WithAssociations", 5)) {
      asked.request.with_associations = true;
      continue;
    }
    if (!option.has_value && option.is("WithCoordinators", 5)) {
      asked.with_coordinators = true;
      continue;
    }
    if (!option.has_value && word == "-s") {
      asked.request.with_associations = true;
      continue;
    }
    if (!option.has_value && (option.is("WOLimits", 3) || option.is("WOPLimits", 4)))
      asked.limits = false;
    if (!option.has_value && option.is("WOPInfo", 4)) asked.parents = false;
    if (take_condition(entity, option, asked.request.where, bad_value)) continue;
    return tell_unknown(session, entity, word, bad_value);
  }
  return true;
}

std::vector<std::string> usual_fields(AccountingEntity entity, const Asked& asked) {
  const bool associations = asked.request.with_associations;
  std::string text;
  switch (entity) {
    case AccountingEntity::kAccount:
      text = "Account,Descr,Org";
      if (associations)
        text +=
            ",Cluster,ParentName,User,Share,Priority,GrpJobs,GrpNodes,GrpCPUs,GrpMem,GrpSubmit,"
            "GrpWall,GrpCPUMins,MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,MaxWall,MaxCPUMins,QOS,"
            "DefaultQOS";
      if (asked.with_coordinators) text += ",Coordinators";
      break;
    case AccountingEntity::kUser:
      text = "User,DefAcct,AdminLevel";
      if (asked.with_coordinators) text += ",Coordinators";
      if (associations)
        text +=
            ",Cluster,Account,Partition,Share,Priority,MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,"
            "MaxWall,MaxCPUMins,QOS,DefaultQOS";
      break;
    case AccountingEntity::kAssociation:
      text = "Cluster,Account,User,Partition";
      if (asked.limits)
        text +=
            ",Share,Priority,GrpJobs,GrpTRES,GrpSubmit,GrpWall,GrpTRESMins,MaxJobs,MaxTRES,"
            "MaxTRESPerNode,MaxSubmit,MaxWall,MaxTRESMins,QOS,DefaultQOS,GrpTRESRunMins";
      break;
    case AccountingEntity::kCluster:
      text = "Cluster,ControlHost,ControlPort,RPC";
      if (asked.limits)
        text += ",Share,GrpJobs,GrpTRES,GrpSubmit,MaxJobs,MaxTRES,MaxSubmit,MaxWall,QOS,DefaultQOS";
      break;
    case AccountingEntity::kQos:
      text =
          "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags%40,UsageThres,"
          "UsageFactor,GrpTRES,GrpTRESMins,GrpTRESRunMins,GrpJobs,GrpSubmit,GrpWall,MaxTRES,"
          "MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPU,MaxJobsPU,MaxSubmitPU,MaxTRESPA,"
          "MaxTRESRunMinsPA%22,MaxTRESRunMinsPU%22,MaxJobsPA,MaxSubmitPA,MinTRES";
      break;
    case AccountingEntity::kTres: text = "Type,Name%15,ID"; break;
    case AccountingEntity::kWckey: text = "WCKey,Cluster,User"; break;
    case AccountingEntity::kTransaction: text = "TimeStamp,Action,Actor,Where,Info"; break;
    case AccountingEntity::kProblem: text = "Cluster,Account,User,Problem"; break;
    case AccountingEntity::kCoordinator: break;
  }
  return split_list(text);
}

// The names that rows need, of the answer's associations.
class RowMaker {
 public:
  explicit RowMaker(const QueryAccountingReply& reply) : reply_(reply) {
    for (const AssociationRecord& record : reply.associations) {
      by_id_[record.id] = &record;
      if (record.is_default) defaults_[record.user].insert(record.account);
    }
    for (const AccountRecord& account : reply.accounts)
      for (const std::string& user : account.coordinators)
        coordinated_[user].push_back(account.name);
    deleted_.insert(reply.deleted.begin(), reply.deleted.end());
  }

  void of_association(Row& row, const AssociationRecord& record, bool tree) const {
    row.association = &record;
    row.parent = record.parent;
    row.deleted = deleted_.count(std::to_string(record.id)) != 0;
    std::vector<std::string> names;
    for (const QosId id : record.qos) names.push_back(qos_name(id));
    for (const protocol::QosDelta& delta : reply_.qos_deltas) {
      if (delta.association != record.id) continue;
      for (const int64_t change : delta.changes)
        names.push_back((change < 0 ? "-" : "+") +
                        qos_name(static_cast<QosId>(change < 0 ? -change : change)));
    }
    std::sort(names.begin(), names.end());
    row.qos_names = join(names, ",");
    const auto above = by_id_.find(record.parent);
    if (record.user.empty() && above != by_id_.end()) row.parent_name = above->second->account;
    for (const protocol::AccountName& parent : reply_.parents)
      if (record.user.empty() && parent.association == record.parent)
        row.parent_name = parent.account;
    if (!tree) return;
    for (auto at = above; at != by_id_.end(); at = by_id_.find(at->second->parent)) {
      row.account_indent += ' ';
      if (at->second->parent == 0 || row.account_indent.size() > 500) break;
    }
  }
  void of_user(Row& row, const UserRecord& record) const {
    row.user = &record;
    const auto defaults = defaults_.find(record.name);
    if (defaults != defaults_.end()) row.default_account = *defaults->second.begin();
    const auto accounts = coordinated_.find(record.name);
    if (accounts != coordinated_.end()) row.coordinators = join(accounts->second, ",");
  }

 private:
  [[nodiscard]] std::string qos_name(QosId id) const {
    for (const QosRecord& qos : reply_.all_qos)
      if (qos.id == id) return qos.name;
    return std::to_string(id);
  }
  const QueryAccountingReply& reply_;
  std::map<AssociationId, const AssociationRecord*> by_id_;
  std::map<std::string, std::set<std::string>> defaults_;
  std::map<std::string, std::vector<std::string>> coordinated_;
  std::set<std::string> deleted_;
};

std::vector<Row> rows_of_accounts(const QueryAccountingReply& reply, const RowMaker& maker,
                                  const Asked& asked) {
  std::vector<Row> out;
  for (const AccountRecord& account : reply.accounts) {
    Row row;
    row.account = &account;
    row.coordinators = join(account.coordinators, ",");
    if (!asked.request.with_associations) {
      out.push_back(row);
      continue;
    }
    for (const AssociationRecord& record : reply.associations) {
      if (record.account != account.name) continue;
      Row one = row;
      maker.of_association(one, record, false);
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::vector<Row> rows_of_users(const QueryAccountingReply& reply, const RowMaker& maker,
                               const Asked& asked) {
  std::vector<Row> out;
  for (const UserRecord& user : reply.users) {
    Row row;
    maker.of_user(row, user);
    if (!asked.request.with_associations) {
      out.push_back(row);
      continue;
    }
    bool any = false;
    for (const AssociationRecord& record : reply.associations) {
      if (record.user != user.name) continue;
      Row one = row;
      maker.of_association(one, record, false);
      out.push_back(std::move(one));
      any = true;
    }
    if (!any) out.push_back(row);
  }
  return out;
}

std::vector<Row> rows_of(AccountingEntity entity, const QueryAccountingReply& reply,
                         const Asked& asked) {
  const RowMaker maker(reply);
  if (entity == AccountingEntity::kAccount) return rows_of_accounts(reply, maker, asked);
  if (entity == AccountingEntity::kUser) return rows_of_users(reply, maker, asked);
  std::vector<Row> out;
  const auto put = [&](auto member, const auto& list) {
    for (const auto& record : list) {
      Row row;
      row.*member = &record;
      out.push_back(std::move(row));
    }
  };
  if (entity == AccountingEntity::kAssociation) {
    for (const AssociationRecord& record : reply.associations) {
      Row row;
      maker.of_association(row, record, asked.tree);
      if (!asked.parents) {
        row.parent_name.clear();
        row.parent = 0;
      }
      out.push_back(std::move(row));
    }
  }
  if (entity == AccountingEntity::kCluster) {
    for (const protocol::ClusterRecord& cluster : reply.clusters) {
      Row row;
      row.cluster = &cluster;
      for (const AssociationRecord& record : reply.associations)
        if (record.cluster == cluster.name) maker.of_association(row, record, false);
      out.push_back(std::move(row));
    }
  }
  put(&Row::qos, reply.qos);
  put(&Row::tres, reply.tres);
  if (entity == AccountingEntity::kWckey) put(&Row::wckey, reply.wckeys);
  put(&Row::transaction, reply.transactions);
  put(&Row::problem, reply.problems);
  return out;
}

// Very many transactions come in several answers.
void print_whole(Session& session, AccountingEntity entity,
                 protocol::QueryAccountingRequest request, QueryAccountingReply reply) {
  while (reply.more_transactions_after != 0) {
    request.transactions_after = reply.more_transactions_after;
    auto more = session.ask<QueryAccountingReply>(request);
    if (!more) return;
    std::ranges::move(more->transactions, std::back_inserter(reply.transactions));
    reply.more_transactions_after = more->more_transactions_after;
  }
  print_json(session, entity, reply);
}

}  // namespace

void list(Session& session, const Words& words) {
  if (words.empty()) return void(session.fail(kNoEntity));
  if (list_other(session, words)) return;
  const auto entity = entity_of(words[0]);
  if (!entity || *entity == AccountingEntity::kCoordinator) return void(session.fail(kNoEntity));
  Asked asked;
  asked.request.with_associations = session.associations;
  if (!read_words(session, *entity, Words(words.begin() + 1, words.end()), asked)) return;
  const bool usual = asked.fields.empty();
  if (usual) asked.fields = usual_fields(*entity, asked);
  std::string unknown;
  std::optional<Layout> layout = Layout::parse(*entity, asked.fields, unknown);
  if (!layout) return void(session.fail(fmt::format("Unknown field '{}'", unknown)));
  // what is asked for of an association is answered with them
  static constexpr const char* kOwn[] = {"account", "acct",     "descr",  "org",      "coord",
                                         "user",    "name",     "defacc", "defaultw", "admin",
                                         "flags",   "defaulta", "defwck"};
  if (!usual && (*entity == AccountingEntity::kUser || *entity == AccountingEntity::kAccount)) {
    for (const std::string& field : asked.fields) {
      const bool own = std::any_of(std::begin(kOwn), std::end(kOwn), [&](const char* name) {
        return starts_with_i(field, name) || starts_with_i(name, field);
      });
      const bool of_account = *entity == AccountingEntity::kUser && starts_with_i(field, "acc");
      asked.request.with_associations |= !own || of_account;
    }
  }
  auto reply = session.ask<QueryAccountingReply>(asked.request);
  if (!reply) return;
  if (session.form) return print_whole(session, *entity, asked.request, std::move(*reply));
  if (asked.tree) layout->widen_account();
  layout->print_header(session);
  while (true) {
    for (const Row& row : rows_of(*entity, *reply, asked)) layout->print(session, row, *reply);
    if (reply->more_transactions_after == 0) return;
    asked.request.transactions_after = reply->more_transactions_after;
    reply = session.ask<QueryAccountingReply>(asked.request);
    if (!reply) return;
  }
}

}  // namespace sluice::cli::sacctmgr
