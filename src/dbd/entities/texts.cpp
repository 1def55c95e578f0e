// The words of the answers, as sacctmgr prints them, and what transactions keep.
#include <algorithm>

#include "common/accounting/limit_fields.hpp"
#include "common/base/text.hpp"
#include "dbd/entities/draft.hpp"

namespace sluice::dbd {

using accounting::LimitRow;
using protocol::AccountingSettings;
using protocol::LimitField;
using protocol::LimitSetting;
using protocol::NameSet;
using protocol::SetChange;

namespace {

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

// "high,normal", "+low,-high"
std::string qos_words(const std::vector<NameSet>& sets) {
  std::string out;
  for (const NameSet& set : sets) {
    const char* sign = set.change == SetChange::kAdd      ? "+"
                       : set.change == SetChange::kRemove ? "-"
                                                          : "";
    for (const std::string& name : set.names)
      out.append(out.empty() ? "" : ",").append(sign).append(name);
  }
  return out;
}

std::string limit_words(const Entities& entities, const LimitSetting& setting,
                        const LimitRow& row) {
  using accounting::LimitKind;
  if (row.kind == LimitKind::kTres) return accounting::tres_text(setting.tres, tres_list(entities));
  if (row.kind == LimitKind::kReal)
    return setting.real ? fmt::format("{:.6f}", *setting.real) : "NONE";
  if (!setting.number || *setting.number < 0) return "NONE";
  AssociationRecord as_association;
  QosRecord as_qos;
  accounting::LimitRef ref = accounting::limit_of(as_association, setting.field);
  if (std::holds_alternative<std::monostate>(ref))
    ref = accounting::limit_of(as_qos, setting.field);
  accounting::set_limit(ref, setting);
  return accounting::limit_text(ref, row.kind, {});
}

// The setting of a limit that was given last; null: it was not given.
const LimitSetting* given(const AccountingSettings& settings, LimitField field) {
  const LimitSetting* out = nullptr;
  for (const LimitSetting& limit : settings.limits)
    if (limit.field == field) out = &limit;
  return out;
}

}  // namespace

std::string modified_line(const Entities& entities, const AssociationRecord& record) {
  std::string out = fmt::format("C = {:<10} ", record.cluster);
  if (record.user.empty()) {
    const auto above = entities.associations.find(record.parent);
    out += "A = " + record.account;
    if (above != entities.associations.end()) out += " of " + above->second.record.account;
    return out;
  }
  out += fmt::format("A = {:<20} U = {:<9}", record.account, record.user);
  if (!record.partition.empty()) out += " P = " + record.partition;
  return out;
}

std::string deleted_line(const AssociationRecord& record) {
  std::string out =
      fmt::format("C = {:<10} A = {:<10} U = {:<9}", record.cluster, record.account, record.user);
  if (record.user.empty())
    out = fmt::format("C = {:<10} A = {:<10}", record.cluster, record.account);
  if (!record.partition.empty()) out += " P = " + record.partition;
  return out;
}

bool sets_association(const AccountingSettings& settings) {
  return !settings.limits.empty() || !settings.qos.empty() || settings.default_qos ||
         settings.parent || settings.comment;
}

std::string association_settings(const Entities& entities, const AccountingSettings& settings) {
  std::string out;
  const auto line = [&](std::string_view name, std::string_view value) {
    out += fmt::format("  {:<14}= {}\n", name, value);
  };
  const auto limit = [&](const LimitRow& row) {
    const LimitSetting* setting = given(settings, row.field);
    if (row.association == nullptr || setting == nullptr) return;
    const std::string value = limit_words(entities, *setting, row);
    if (row.field == LimitField::kGrpJobsAccrue) {
      out += fmt::format("  {:<25}= {}\n", row.association, value);
    } else {
      line(row.field == LimitField::kMaxJobsAccrue ? "MaxJobsPrioAcc" : row.association, value);
    }
  };
  for (const LimitRow& row : accounting::limit_rows())
    if (row.field != LimitField::kPriority) limit(row);
  if (settings.parent) line("Parent", *settings.parent);
  limit(accounting::limit_row(LimitField::kPriority));
  if (!settings.qos.empty()) line("QOS", qos_words(settings.qos));
  if (settings.default_qos) line("DefQOS", *settings.default_qos);
  return out;
}

namespace {

// In Slurm's order, and as it names them here.
struct QosLine {
  LimitField field;
  std::string_view name;
};
constexpr QosLine kQosLines[] = {
    {LimitField::kGraceTime, "GraceTime"},
    {LimitField::kGrpJobs, "GrpJobs"},
    {LimitField::kGrpJobsAccrue, "GrpJobsAccrue"},
    {LimitField::kGrpSubmitJobs, "GrpSubmitJobs"},
    {LimitField::kGrpTres, "GrpTRES"},
    {LimitField::kGrpTresMins, "GrpTRESMins"},
    {LimitField::kGrpTresRunMins, "GrpTRESRunMins"},
    {LimitField::kGrpWall, "GrpWall"},
    {LimitField::kMaxJobsAccruePerAccount, "MaxJobsAccruePerAccount"},
    {LimitField::kMaxJobsAccrue, "MaxJobsAccruePerUser"},
    {LimitField::kMaxJobsPerAccount, "MaxJobsPerAccount"},
    {LimitField::kMaxJobs, "MaxJobsPerUser"},
    {LimitField::kMaxSubmitJobsPerAccount, "MaxSubmitJobsPerAccount"},
    {LimitField::kMaxSubmitJobs, "MaxSubmitJobsPerUser"},
    {LimitField::kMaxTresPerAccount, "MaxTRESPerAccount"},
    {LimitField::kMaxTresPerJob, "MaxTRESPerJob"},
    {LimitField::kMaxTresPerNode, "MaxTRESPerNode"},
    {LimitField::kMaxTresPerUser, "MaxTRESPerUser"},
    {LimitField::kMinPrioThreshold, "MinPrioThresh"},
    {LimitField::kMinTresPerJob, "MinTRESPerJob"},
    {LimitField::kMaxTresMinsPerJob, "MaxTRESMins"},
    {LimitField::kMaxTresRunMinsPerAccount, "MaxTRESRUNMinsPerAccount"},
    {LimitField::kMaxTresRunMins, "MaxTRESRUNMinsPerUser"},
    {LimitField::kMaxWall, "MaxWall"},
    {LimitField::kPreemptExemptTime, "PreemptExemptTime"},  // behind Preempt and PreemptMode
    {LimitField::kPriority, "Priority"},
    {LimitField::kUsageFactor, "UsageFactor"},
    {LimitField::kUsageThreshold, "UsageThreshold"},
    {LimitField::kLimitFactor, "LimitFactor"},
};

}  // namespace

std::string qos_settings(const Entities& entities, const AccountingSettings& settings) {
  std::string out;
  const auto line = [&](std::string_view name, std::string_view value) {
    out += fmt::format("  {:<25}= {}\n", name, value);
  };
  QosFlags flags = 0;
  for (const protocol::FlagSet& set : settings.qos_flags)
    flags = set.change == SetChange::kRemove ? flags & ~set.flags : flags | set.flags;
  if (!settings.qos_flags.empty()) line("Flags", accounting::qos_flags_text(flags));
  for (const QosLine& one : kQosLines) {
    if (one.field == LimitField::kPreemptExemptTime) {
      if (!settings.preempt.empty()) line("Preempt", qos_words(settings.preempt));
      if (settings.preempt_mode)
        line("PreemptMode", to_upper(accounting::preempt_mode_text(*settings.preempt_mode)));
    }
    const LimitSetting* setting = given(settings, one.field);
    if (setting == nullptr) continue;
    const LimitRow& row = accounting::limit_row(one.field);
    if (one.field == LimitField::kGraceTime && setting->number)
      line(one.name, std::to_string(*setting->number));
    else if (setting->real) line(one.name, fmt::format("{:.4f}", *setting->real));
    else line(one.name, limit_words(entities, *setting, row));
  }
  return out;
}

namespace {

// "shares=1, grp_jobs=NULL, …": every number that is none of TRES.
template <class Record>
std::string number_columns(Record record, const Entities& entities, bool association) {
  std::string numbers;
  std::string tres;
  for (const LimitRow& row : accounting::limit_rows()) {
    const auto ref = accounting::limit_of(record, row.field);
    if (std::holds_alternative<std::monostate>(ref)) continue;
    if (association && row.association == nullptr) continue;
    const std::string value = accounting::limit_text(ref, row.kind, tres_list(entities), true);
    if (row.kind == accounting::LimitKind::kTres) {
      if (!value.empty()) tres += fmt::format(", {}='{}'", row.column, value);
    } else {
      numbers += fmt::format(", {}={}", row.column, value.empty() ? "NULL" : value);
    }
  }
  return numbers + tres;
}

int64_t seconds(Time now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
}

std::string id_list(const std::vector<QosId>& ids) {
  return ids.empty() ? std::string() : fmt::format(",{},", fmt::join(ids, ","));
}

}  // namespace

std::string association_info(const Entities& entities, const AssociationRecord& record, Time now) {
  std::string out = fmt::format("mod_time={}, acct='{}', is_def={}", seconds(now), record.account,
                                record.is_default ? 1 : 0);
  const auto above = entities.associations.find(record.parent);
  if (record.user.empty() && above != entities.associations.end())
    out += fmt::format(", parent_acct='{}'", above->second.record.account);
  out += fmt::format(", user='{}'", record.user);
  if (!record.user.empty()) out += fmt::format(", `partition`='{}'", record.partition);
  out += fmt::format(", id_parent='{}', lineage='{}'", record.parent, record.lineage);
  out += number_columns(record, entities, true);
  out += record.default_qos == 0 ? ", def_qos_id=NULL"
                                 : fmt::format(", def_qos_id={}", record.default_qos);
  return out + fmt::format(", qos='{}'", id_list(record.qos));
}

// As Slurm's database has it.
uint32_t stored_mode(QosPreemptMode mode) {
  constexpr uint32_t kWithin = 0x4000, kGang = 0x8000;
  const uint32_t within = is_within(mode) ? kWithin : 0;
  switch (mode_beside_within(mode)) {
    case QosPreemptMode::kSuspend: return within | 1;
    case QosPreemptMode::kRequeue: return within | 2;
    case QosPreemptMode::kCancel: return within | 8;
    case QosPreemptMode::kGang: return within | kGang;
    default: return within;
  }
}

std::string qos_info(const Entities& entities, const QosRecord& record, Time now) {
  std::string out = fmt::format("mod_time={}, description='{}', flags={}", seconds(now),
                                record.description, record.flags);
  if (!record.preempt.empty()) out += fmt::format(", preempt='{}'", id_list(record.preempt));
  out += fmt::format(", preempt_mode={}", stored_mode(record.preempt_mode));
  return out + number_columns(record, entities, false);
}

std::string settings_info(const Entities& entities, const AccountingSettings& settings) {
  std::vector<std::string> out;
  const auto text = [&](const char* name, const std::optional<std::string>& value) {
    if (value) out.push_back(fmt::format("{}='{}'", name, *value));
  };
  text("name", settings.new_name);
  text("description", settings.description);
  text("organization", settings.organization);
  if (settings.users_are_coordinators)
    out.push_back(fmt::format("flags='{}'", *settings.users_are_coordinators ? 1 : 0));
  if (settings.admin_level)
    out.push_back(fmt::format("admin_level={}", static_cast<int>(*settings.admin_level) + 1));
  text("parent_acct", settings.parent);
  text("default_acct", settings.default_account);
  text("default_wckey", settings.default_wckey);
  text("comment", settings.comment);
  for (const protocol::FlagSet& set : settings.qos_flags) {
    const char* sign = set.change == SetChange::kAdd      ? "+"
                       : set.change == SetChange::kRemove ? "-"
                                                          : "";
    out.push_back(fmt::format("flags{}='{}'", sign, accounting::qos_flags_text(set.flags)));
  }
  if (settings.preempt_mode)
    out.push_back(fmt::format("preempt_mode={}", stored_mode(*settings.preempt_mode)));
  for (const LimitSetting& limit : settings.limits) {
    const LimitRow& row = accounting::limit_row(limit.field);
    out.push_back(fmt::format("{}={}", row.column, limit_words(entities, limit, row)));
  }
  for (const auto* sets : {&settings.qos, &settings.preempt}) {
    const char* name = sets == &settings.qos ? "qos" : "preempt";
    for (const NameSet& set : *sets) {
      const char* sign = set.change == SetChange::kAdd      ? "+"
                         : set.change == SetChange::kRemove ? "-"
                                                            : "";
      out.push_back(fmt::format("{}{}='{}'", name, sign, joined(set.names)));
    }
  }
  text("def_qos", settings.default_qos);
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace sluice::dbd
