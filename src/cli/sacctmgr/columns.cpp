#include "cli/sacctmgr/columns.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "cli/format/shown_text.hpp"
#include "common/accounting/limit_fields.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"

namespace sluice::cli::sacctmgr {

using protocol::AccountingEntity;
using protocol::LimitField;
using Names = protocol::QueryAccountingReply;

namespace {

std::string qos_name(const Names& names, QosId id) {
  for (const QosRecord& qos : names.all_qos)
    if (qos.id == id) return qos.name;
  return id == 0 ? std::string() : std::to_string(id);
}

template <LimitField field>
std::string limit(const Row& row, const Names& names) {
  const accounting::LimitKind kind = accounting::limit_row(field).kind;
  if (row.qos != nullptr) {
    QosRecord copy = *row.qos;
    return accounting::limit_text(accounting::limit_of(copy, field), kind, names.all_tres);
  }
  if (row.association == nullptr) return {};
  AssociationRecord copy = *row.association;
  return accounting::limit_text(accounting::limit_of(copy, field), kind, names.all_tres);
}

// One TRES of a limit, as columns of earlier versions show it: MaxNodes, GrpCPUs.
template <LimitField field, TresId id, typename Record>
std::string one_tres_of(Record copy) {
  const auto ref = accounting::limit_of(copy, field);
  const auto* amounts = std::get_if<TresAmounts*>(&ref);
  if (amounts == nullptr) return {};
  for (const TresAmount& amount : **amounts)
    if (amount.id == id) return std::to_string(amount.count);
  return {};
}
template <LimitField field, TresId id>
std::string one_tres(const Row& row, const Names&) {
  if (row.qos != nullptr) return one_tres_of<field, id>(*row.qos);
  return row.association == nullptr ? std::string() : one_tres_of<field, id>(*row.association);
}

std::string grace_time(const Row& row, const Names&) {
  return row.qos == nullptr ? "" : format_span(row.qos->grace_time.value_or(Duration(0)));
}
std::string account_name(const Row& row, const Names&) {
  std::string name = row.association != nullptr ? row.association->account
                     : row.account != nullptr   ? row.account->name
                     : row.problem != nullptr   ? row.problem->account
                                                : std::string();
  return row.account_indent + name;
}
std::string user_name(const Row& row, const Names&) {
  if (row.user != nullptr) return row.user->name;
  if (row.wckey != nullptr) return row.wckey->user;
  if (row.problem != nullptr) return row.problem->user;
  return row.association == nullptr ? std::string() : row.association->user;
}
std::string cluster_name(const Row& row, const Names&) {
  if (row.cluster != nullptr) return row.cluster->name;
  if (row.wckey != nullptr) return row.wckey->cluster;
  if (row.problem != nullptr) return row.problem->cluster;
  return row.association == nullptr ? std::string() : row.association->cluster;
}
std::string own_name(const Row& row, const Names& names) {
  if (row.qos != nullptr) return row.qos->name;
  if (row.tres != nullptr) return row.tres->name;
  if (row.wckey != nullptr) return row.wckey->name;
  if (row.user != nullptr) return row.user->name;
  if (row.account != nullptr) return row.account->name;
  return cluster_name(row, names);
}
std::string own_id(const Row& row, const Names&) {
  if (row.qos != nullptr) return std::to_string(row.qos->id);
  if (row.tres != nullptr) return std::to_string(row.tres->id);
  if (row.wckey != nullptr) return std::to_string(row.wckey->id);
  if (row.cluster != nullptr) return std::to_string(row.cluster->id);
  if (row.transaction != nullptr) return std::to_string(row.transaction->id);
  return row.association == nullptr ? std::string() : std::to_string(row.association->id);
}
std::string description(const Row& row, const Names&) {
  if (row.qos != nullptr) return row.qos->description;
  return row.account == nullptr ? std::string() : row.account->description;
}
std::string flags(const Row& row, const Names&) {
  if (row.qos != nullptr) return accounting::qos_flags_text(row.qos->flags);
  if (row.account != nullptr && row.account->users_are_coordinators) return "UsersAreCoords";
  return row.deleted ? "DELETED" : "";
}
std::string qos_list(const Row& row, const Names&) { return row.qos_names; }
std::string qos_raw(const Row& row, const Names&) {
  return row.association == nullptr ? std::string()
                                    : fmt::format("{}", fmt::join(row.association->qos, ","));
}
std::string default_qos(const Row& row, const Names& names) {
  return row.association == nullptr ? std::string() : qos_name(names, row.association->default_qos);
}
std::string preempt(const Row& row, const Names& names) {
  std::vector<std::string> out;
  if (row.qos != nullptr)
    for (const QosId id : row.qos->preempt) out.push_back(qos_name(names, id));
  return join(out, ",");
}
std::string cluster_tres(const Row& row, const Names& names) {
  return row.cluster == nullptr ? std::string()
                                : accounting::tres_text(row.cluster->tres, names.all_tres);
}

constexpr Field kFields[] = {
    {"Account", 3, "Account", 10, account_name},
    {"Acct", 4, "Account", 10, account_name},
    {"Action", 4, "Action", 20,
     [](const Row& r, const Names&) { return r.transaction ? r.transaction->action : ""; }},
    {"Actor", 4, "Actor", 10,
     [](const Row& r, const Names&) { return r.transaction ? r.transaction->actor : ""; }},
    {"AdminLevel", 2, "Admin", 9,
     [](const Row& r, const Names&) {
       return std::string(r.user ? accounting::admin_level_text(r.user->admin_level) : "");
     }},
    {"Classification", 3, "Class", 9,
     [](const Row& r, const Names&) { return r.cluster ? r.cluster->classification : ""; }},
    {"ClusterNodes", 8, "Cluster Nodes", 20,
     [](const Row& r, const Names&) { return r.cluster ? r.cluster->nodes : ""; }},
    {"Cluster", 2, "Cluster", 10, cluster_name},
    {"Comment", 3, "Comment", 20,
     [](const Row& r, const Names&) { return r.association ? r.association->comment : ""; }},
    {"ControlHost", 8, "ControlHost", 15,
     [](const Row& r, const Names&) { return r.cluster ? r.cluster->control_host : ""; }},
    {"ControlPort", 8, "ControlPort", 12,
     [](const Row& r, const Names&) {
       return r.cluster ? std::to_string(r.cluster->control_port) : "";
     }},
    {"Coordinators", 3, "Coord Accounts", 20,
     [](const Row& r, const Names&) { return r.coordinators; }},
    {"DefaultAccount", 8, "Def Acct", 10,
     [](const Row& r, const Names&) { return r.default_account; }},
    {"DefAcct", 4, "Def Acct", 10, [](const Row& r, const Names&) { return r.default_account; }},
    {"DefaultQOS", 8, "Def QOS", 9, default_qos},
    {"DefQOS", 4, "Def QOS", 9, default_qos},
    {"DefaultWCKey", 8, "Def WCKey", 10,
     [](const Row& r, const Names&) { return r.user ? r.user->default_wckey : ""; }},
    {"DefWCKey", 4, "Def WCKey", 10,
     [](const Row& r, const Names&) { return r.user ? r.user->default_wckey : ""; }},
    {"Description", 3, "Descr", 20, description},
    {"Fairshare", 2, "Share", 9, limit<LimitField::kFairshare>},
    {"Features", 3, "Features", 20,
     [](const Row& r, const Names&) {
       return r.cluster ? fmt::format("{}", fmt::join(r.cluster->features, ",")) : "";
     }},
    {"Flags", 2, "Flags", 20, flags},
    {"GraceTime", 3, "GraceTime", 10, grace_time},
    {"GrpCPUMins", 8, "GrpCPUMins", 11, one_tres<LimitField::kGrpTresMins, kTresCpu>},
    {"GrpCPURunMins", 8, "GrpCPURunMins", 13, one_tres<LimitField::kGrpTresRunMins, kTresCpu>},
    {"GrpCPUs", 6, "GrpCPUs", 8, one_tres<LimitField::kGrpTres, kTresCpu>},
    {"GrpJobsAccrue", 8, "GrpJobsAccrue", 13, limit<LimitField::kGrpJobsAccrue>},
    {"GrpJobs", 4, "GrpJobs", 7, limit<LimitField::kGrpJobs>},
    {"GrpMemory", 4, "GrpMem", 7, one_tres<LimitField::kGrpTres, kTresMem>},
    {"GrpNodes", 4, "GrpNodes", 8, one_tres<LimitField::kGrpTres, kTresNode>},
    {"GrpSubmitJobs", 4, "GrpSubmit", 9, limit<LimitField::kGrpSubmitJobs>},
    {"GrpTRESMins", 8, "GrpTRESMins", 13, limit<LimitField::kGrpTresMins>},
    {"GrpTRESRunMins", 8, "GrpTRESRunMins", 13, limit<LimitField::kGrpTresRunMins>},
    {"GrpTRES", 7, "GrpTRES", 13, limit<LimitField::kGrpTres>},
    {"GrpWall", 4, "GrpWall", 11, limit<LimitField::kGrpWall>},
    {"ID", 2, "ID", 6, own_id},
    {"Info", 2, "Info", 20,
     [](const Row& r, const Names&) { return r.transaction ? r.transaction->info : ""; }},
    {"LimitFactor", 6, "LimitFactor", 11, limit<LimitField::kLimitFactor>},
    {"Lineage", 3, "Lineage", 40,
     [](const Row& r, const Names&) { return r.association ? r.association->lineage : ""; }},
    {"MaxCPUMinsPerJob", 8, "MaxCPUMins", 11, one_tres<LimitField::kMaxTresMinsPerJob, kTresCpu>},
    {"MaxCPURunMinsPerUser", 7, "MaxCPURunMinsPU", 15,
     one_tres<LimitField::kMaxTresRunMins, kTresCpu>},
    {"MaxCPURunMinsPU", 15, "MaxCPURunMinsPU", 15,
     one_tres<LimitField::kMaxTresRunMins, kTresCpu>},
    {"MaxCPUsPerUser", 11, "MaxCPUsPU", 9, one_tres<LimitField::kMaxTresPerUser, kTresCpu>},
    {"MaxCPUsPU", 9, "MaxCPUsPU", 9, one_tres<LimitField::kMaxTresPerUser, kTresCpu>},
    {"MaxCPUsPerJob", 7, "MaxCPUs", 8, one_tres<LimitField::kMaxTresPerJob, kTresCpu>},
    {"MaxJobsAccruePerAccount", 16, "MaxJobsAccruePA", 15,
     limit<LimitField::kMaxJobsAccruePerAccount>},
    {"MaxJobsAccruePA", 15, "MaxJobsAccruePA", 15, limit<LimitField::kMaxJobsAccruePerAccount>},
    {"MaxJobsAccruePerUser", 16, "MaxJobsAccruePU", 15, limit<LimitField::kMaxJobsAccrue>},
    {"MaxJobsAccruePU", 15, "MaxJobsAccruePU", 15, limit<LimitField::kMaxJobsAccrue>},
    {"MaxJobsAccrue", 8, "MaxJobsAccrue", 13, limit<LimitField::kMaxJobsAccrue>},
    {"MaxJobsPerAccount", 11, "MaxJobsPA", 9, limit<LimitField::kMaxJobsPerAccount>},
    {"MaxJobsPA", 9, "MaxJobsPA", 9, limit<LimitField::kMaxJobsPerAccount>},
    {"MaxJobsPerUser", 11, "MaxJobsPU", 9, limit<LimitField::kMaxJobs>},
    {"MaxJobsPU", 9, "MaxJobsPU", 9, limit<LimitField::kMaxJobs>},
    {"MaxJobs", 4, "MaxJobs", 7, limit<LimitField::kMaxJobs>},
    {"MaxNodesPerUser", 12, "MaxNodesPU", 10, one_tres<LimitField::kMaxTresPerUser, kTresNode>},
    {"MaxNodesPU", 10, "MaxNodesPU", 10, one_tres<LimitField::kMaxTresPerUser, kTresNode>},
    {"MaxNodesPerJob", 4, "MaxNodes", 8, one_tres<LimitField::kMaxTresPerJob, kTresNode>},
    {"MaxSubmitJobsPerAccount", 17, "MaxSubmitPA", 11, limit<LimitField::kMaxSubmitJobsPerAccount>},
    {"MaxSubmitJobsPA", 15, "MaxSubmitPA", 11, limit<LimitField::kMaxSubmitJobsPerAccount>},
    {"MaxSubmitPA", 11, "MaxSubmitPA", 11, limit<LimitField::kMaxSubmitJobsPerAccount>},
    {"MaxSubmitJobsPerUser", 17, "MaxSubmitPU", 11, limit<LimitField::kMaxSubmitJobs>},
    {"MaxSubmitJobsPU", 15, "MaxSubmitPU", 11, limit<LimitField::kMaxSubmitJobs>},
    {"MaxSubmitPU", 11, "MaxSubmitPU", 11, limit<LimitField::kMaxSubmitJobs>},
    {"MaxSubmitJobs", 4, "MaxSubmit", 9, limit<LimitField::kMaxSubmitJobs>},
    {"MaxTRESMinsPerJob", 8, "MaxTRESMins", 13, limit<LimitField::kMaxTresMinsPerJob>},
    {"MaxTRESMinsPJ", 13, "MaxTRESMins", 13, limit<LimitField::kMaxTresMinsPerJob>},
    {"MaxTRESRunMinsPerAccount", 18, "MaxTRESRunMinsPA", 15,
     limit<LimitField::kMaxTresRunMinsPerAccount>},
    {"MaxTRESRunMinsPA", 16, "MaxTRESRunMinsPA", 15, limit<LimitField::kMaxTresRunMinsPerAccount>},
    {"MaxTRESRunMinsPerUser", 11, "MaxTRESRunMinsPU", 15, limit<LimitField::kMaxTresRunMins>},
    {"MaxTRESRunMinsPU", 16, "MaxTRESRunMinsPU", 15, limit<LimitField::kMaxTresRunMins>},
    {"MaxTRESPerAccount", 11, "MaxTRESPA", 13, limit<LimitField::kMaxTresPerAccount>},
    {"MaxTRESPA", 9, "MaxTRESPA", 13, limit<LimitField::kMaxTresPerAccount>},
    {"MaxTRESPerNode", 11, "MaxTRESPerNode", 14, limit<LimitField::kMaxTresPerNode>},
    {"MaxTRESPN", 9, "MaxTRESPerNode", 14, limit<LimitField::kMaxTresPerNode>},
    {"MaxTRESPerUser", 11, "MaxTRESPU", 13, limit<LimitField::kMaxTresPerUser>},
    {"MaxTRESPU", 9, "MaxTRESPU", 13, limit<LimitField::kMaxTresPerUser>},
    {"MaxTRESPerJob", 7, "MaxTRES", 13, limit<LimitField::kMaxTresPerJob>},
    {"MaxTRESPJ", 9, "MaxTRES", 13, limit<LimitField::kMaxTresPerJob>},
    {"MaxWallDurationPerJob", 4, "MaxWall", 11, limit<LimitField::kMaxWall>},
    {"MinCPUsPerJob", 7, "MinCPUs", 8, one_tres<LimitField::kMinTresPerJob, kTresCpu>},
    {"MinPrioThreshold", 4, "MinPrioThres", 12, limit<LimitField::kMinPrioThreshold>},
    {"MinTRESPerJob", 7, "MinTRES", 13, limit<LimitField::kMinTresPerJob>},
    {"Name", 2, "Name", 10, own_name},
    {"NodeCount", 5, "NodeCount", 9,
     [](const Row& r, const Names&) {
       return r.cluster ? std::to_string(r.cluster->node_count) : "";
     }},
    {"NodeNames", 5, "NodeNames", 20,
     [](const Row& r, const Names&) { return r.cluster ? r.cluster->nodes : ""; }},
    {"Organization", 1, "Org", 20,
     [](const Row& r, const Names&) { return r.account ? r.account->organization : ""; }},
    {"ParentID", 7, "ParentID", 8,
     [](const Row& r, const Names&) {
       return r.association ? std::to_string(r.parent) : "";
     }},
    {"ParentName", 7, "ParentName", 10, [](const Row& r, const Names&) { return r.parent_name; }},
    {"Partition", 4, "Partition", 10,
     [](const Row& r, const Names&) { return r.association ? r.association->partition : ""; }},
    {"PreemptExemptTime", 9, "PreemptExemptTime", 19, limit<LimitField::kPreemptExemptTime>},
    {"PreemptMode", 8, "PreemptMode", 11,
     [](const Row& r, const Names&) {
       return std::string(r.qos ? accounting::preempt_mode_text(r.qos->preempt_mode) : "");
     }},
    {"Preempt", 3, "Preempt", 10, preempt},
    {"Priority", 3, "Priority", 10, limit<LimitField::kPriority>},
    {"Problem", 3, "Problem", 40,
     [](const Row& r, const Names&) { return r.problem ? r.problem->problem : ""; }},
    {"QosRaw", 4, "QOS_RAW", 20, qos_raw},
    {"QOSRAWLevel", 4, "QOS_RAW", 20, qos_raw},
    {"QosLevel", 1, "QOS", 20, qos_list},
    {"RPC", 1, "RPC", 5,
     [](const Row& r, const Names&) {
       return r.cluster ? std::to_string(r.cluster->rpc_version) : "";
     }},
    {"Share", 1, "Share", 9, limit<LimitField::kFairshare>},
    {"TimeStamp", 2, "Time", 19,
     [](const Row& r, const Names&) {
       return r.transaction ? format_time(r.transaction->time) : "";
     }},
    {"TRES", 2, "TRES", 20, cluster_tres},
    {"Type", 2, "Type", 8,
     [](const Row& r, const Names&) { return r.tres ? r.tres->type : ""; }},
    {"UsageFactor", 6, "UsageFactor", 11, limit<LimitField::kUsageFactor>},
    {"UsageThreshold", 6, "UsageThres", 10, limit<LimitField::kUsageThreshold>},
    {"User", 1, "User", 10, user_name},
    {"WCKey", 2, "WCKey", 10, own_name},
    {"Where", 2, "Where", 20,
     [](const Row& r, const Names&) { return r.transaction ? r.transaction->where : ""; }},
};

// Fields that an entity shows in another width than the others.
struct Different {
  AccountingEntity entity;
  std::string_view name;
  int width;
};
constexpr Different kDifferent[] = {{AccountingEntity::kTres, "Name", 15}};

void append_text(std::string& out, std::string_view text, int width, bool cut_mark) {
  const auto room = static_cast<size_t>(std::abs(width));
  std::string shown(text.substr(0, room));
  if (cut_mark && text.size() > room && room > 0) shown.back() = '+';
  out += width < 0 ? fmt::format("{:<{}}", shown, room) : fmt::format("{:>{}}", shown, room);
  out += ' ';
}

}  // namespace

std::optional<Layout> Layout::parse(AccountingEntity entity, const std::vector<std::string>& fields,
                                    std::string& unknown) {
  Layout out;
  for (const std::string& text : fields) {
    const size_t percent = text.find('%');
    Option word;
    word.key = text.substr(0, percent);
    const Field* found = nullptr;
    for (const Field& field : kFields) {
      if (iequals(field.name, word.key)) {
        found = &field;
        break;
      }
      if (found == nullptr && word.is(field.name, field.least)) found = &field;
    }
    if (found == nullptr || word.key.empty()) {
      unknown = word.key;
      return std::nullopt;
    }
    int width = found->width;
    for (const Different& row : kDifferent)
      if (row.entity == entity && row.name == found->name) width = row.width;
    // no number, or none but 0, is its own width
    if (percent != std::string::npos) {
      const long given = std::strtol(text.c_str() + percent + 1, nullptr, 10);
      if (given != 0 && std::in_range<int>(given)) width = static_cast<int>(given);
    }
    out.fields_.push_back({found, width});
  }
  return out;
}

void Layout::widen_account() {
  for (ShownField& shown : fields_)
    if (std::string_view(shown.field->heading) == "Account" && shown.width == 10) shown.width = -20;
}

void Layout::print_header(const Session& session) const {
  if (!session.header) return;
  std::string line;
  std::string dashes;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const ShownField& shown = fields_[i];
    if (session.parsable != Parsable::kNo) {
      line += shown.field->heading;
      if (session.parsable == Parsable::kEnding || i + 1 < fields_.size()) line += '|';
      continue;
    }
    append_text(line, shown.field->heading, shown.width, false);
    dashes.append(static_cast<size_t>(std::abs(shown.width)), '-').push_back(' ');
  }
  std::printf("%s\n", line.c_str());
  if (session.parsable == Parsable::kNo) std::printf("%s\n", dashes.c_str());
}

void Layout::print(const Session& session, const Row& row, const Names& names) const {
  std::string line;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const std::string value = shown_cell(fields_[i].field->value(row, names));
    if (session.parsable == Parsable::kNo) {
      append_text(line, value, fields_[i].width, true);
      continue;
    }
    line += value;
    if (session.parsable == Parsable::kEnding || i + 1 < fields_.size()) line += '|';
  }
  std::printf("%s\n", line.c_str());
}

}  // namespace sluice::cli::sacctmgr
