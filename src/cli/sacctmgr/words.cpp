// What the words of a sacctmgr command mean.
#include <algorithm>
#include <cstdio>
#include <limits>

#include <fmt/format.h>

#include "cli/sacctmgr/session.hpp"
#include "common/accounting/conditions.hpp"
#include "common/accounting/limit_fields.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/cluster_config.hpp"
#include "common/os/clock.hpp"

namespace sluice::cli::sacctmgr {

using protocol::AccountingConditions;
using protocol::AccountingEntity;
using protocol::AccountingSettings;
using protocol::LimitField;
using protocol::SetChange;

bool Option::is(std::string_view name, size_t least) const {
  return key.size() >= std::min(least, name.size()) && starts_with_i(name, key);
}

std::vector<std::string> Option::list() const {
  std::vector<std::string> out;
  for (const std::string& piece : split_list(value)) {
    const std::string plain(unquote(trim(piece)));
    if (!plain.empty()) out.push_back(plain);
  }
  return out;
}

Option split_option(const std::string& word) {
  Option out;
  const size_t equals = word.find('=');
  if (equals == std::string::npos) {
    out.key = word;
    out.value = std::string(unquote(word));
    return out;
  }
  out.has_value = true;
  size_t end = equals;
  if (end > 0 && word[end - 1] == '+') out.change = SetChange::kAdd, --end;
  else if (end > 0 && word[end - 1] == '-') out.change = SetChange::kRemove, --end;
  out.key = word.substr(0, end);
  out.value = std::string(unquote(std::string_view(word).substr(equals + 1)));
  return out;
}

std::optional<AccountingEntity> entity_of(std::string_view word) {
  struct Row {
    const char* name;
    size_t least;
    AccountingEntity entity;
  };
  static constexpr Row kRows[] = {
      {"Accounts", 2, AccountingEntity::kAccount},
      {"Acct", 4, AccountingEntity::kAccount},
      {"Associations", 2, AccountingEntity::kAssociation},
      {"Clusters", 2, AccountingEntity::kCluster},
      {"Coordinators", 2, AccountingEntity::kCoordinator},
      {"Problems", 1, AccountingEntity::kProblem},
      {"QOS", 1, AccountingEntity::kQos},
      {"TRES", 2, AccountingEntity::kTres},
      {"Transactions", 1, AccountingEntity::kTransaction},
      {"Txn", 1, AccountingEntity::kTransaction},
      {"Users", 1, AccountingEntity::kUser},
      {"WCKeys", 1, AccountingEntity::kWckey},
  };
  for (const Row& row : kRows)
    if (word.size() >= row.least && starts_with_i(row.name, word)) return row.entity;
  return std::nullopt;
}

namespace {

void put(std::vector<std::string>& list, const Option& option) {
  for (std::string& name : option.list()) list.push_back(std::move(name));
}

// Bare names are the entity's own.
std::vector<std::string>* own_names(AccountingEntity entity, AccountingConditions& where) {
  switch (entity) {
    case AccountingEntity::kAccount: return &where.accounts;
    case AccountingEntity::kUser:
    case AccountingEntity::kCoordinator: return &where.users;
    case AccountingEntity::kCluster: return &where.clusters;
    case AccountingEntity::kQos:
    case AccountingEntity::kTres: return &where.names;
    case AccountingEntity::kWckey: return &where.wckeys;
    default: return nullptr;
  }
}

bool take_flag(const Option& option, AccountingConditions& where) {
  if (option.is("WithDeleted", 5)) where.with_deleted = true;
  else if (option.is("WithSubAccounts", 5)) where.with_sub_accounts = true;
  else if (option.is("OnlyDefaults", 2)) where.only_defaults = true;
  else if (option.is("WOPLimits", 4) || option.is("WOPInfo", 4)) where.own_values = true;
  else return option.is("WOLimits", 3) || option.is("WithRawQOSLevel", 5) || option.is("where", 5);
  return true;
}

bool take_time(const Option& option, std::optional<Time>& at) {
  const auto when = parse_time(option.value, net::now(), TimeBias::kPast);
  if (when) at = *when;
  return when.has_value();
}

bool take_numbers(const Option& option, std::vector<uint32_t>& ids) {
  for (const std::string& text : option.list()) {
    const auto id = to_number<uint32_t>(text);
    if (!id) return false;
    ids.push_back(*id);
  }
  return true;
}

}  // namespace

// Those of Slurm that no record has are known, too.
bool is_action(std::string_view word) {
  static constexpr const char* kActions[] = {
      "Account Coord", "Account Coords", "Accounts",  "Associations", "Clusters",
      "Events",        "Federations",    "Job",       "Problems",     "QOS",
      "Reservation",   "Reservations",   "Resources", "Transactions", "TRES",
      "Users",         "WCKeys",
  };
  static constexpr const char* kOthers[] = {
      "Archive Dump",  "Archive Load",
      "Cluster TRES",  "Fini",
      "Flush Jobs",    "Get Config",
      "Job Complete",  "Job Start",
      "Job Suspend",   "Node State",
      "Reconfigure",   "Register Cluster",
      "Roll Usage",    "Send Multiple Job Starts",
      "Step Complete", "Step Start",
  };
  const auto is_in = [](const auto& list, std::string_view one) {
    return std::ranges::any_of(list, [&](const char* name) { return iequals(name, one); });
  };
  const size_t blank = word.find(' ');
  const std::string_view verb = word.substr(0, blank);
  const bool changes = iequals(verb, "Add") || iequals(verb, "Modify") || iequals(verb, "Remove") ||
                       iequals(verb, "Get");
  return is_in(kOthers, word) ||
         (changes && blank != std::string_view::npos && is_in(kActions, word.substr(blank + 1)));
}

bool take_condition(AccountingEntity entity, const Option& option, AccountingConditions& where,
                    bool& bad_value) {
  bad_value = false;
  if (!option.has_value) {
    if (take_flag(option, where)) return true;
    if (entity == AccountingEntity::kAssociation)
      return bad_value = !take_numbers(option, where.ids), !bad_value;
    std::vector<std::string>* names = own_names(entity, where);
    if (names != nullptr) put(*names, option);
    return names != nullptr;
  }
  const bool of_user = entity == AccountingEntity::kUser;
  const bool of_tres = entity == AccountingEntity::kTres;
  if (option.is("Clusters", 1)) put(where.clusters, option);
  else if (option.is("Accounts", 2) || (option.is("Acct", 4))) put(where.accounts, option);
  else if (entity == AccountingEntity::kTransaction && option.is("Actors", 4))
    put(where.actors, option);
  else if (entity == AccountingEntity::kTransaction && option.is("Actions", 4)) {
    put(where.actions, option);
    return bad_value = !std::ranges::all_of(where.actions, is_action), !bad_value;
  } else if (option.is("Users", 1) && entity == AccountingEntity::kAssociation &&
             option.list().empty())
    where.users.emplace_back();  // those of accounts alone
  else if (option.is("Users", 1)) put(where.users, option);
  else if (option.is("Names", 1) && own_names(entity, where) != nullptr)
    put(*own_names(entity, where), option);
  else if (option.is("Partitions", 3)) put(where.partitions, option);
  else if (option.is("Parents", 2)) put(where.parents, option);
  else if (option.is("WCKeys", 1)) put(where.wckeys, option);
  else if (option.is("Descriptions", 1) && !option.is("DefaultQOS", 1))
    put(where.descriptions, option);
  else if (option.is("Organizations", 1)) put(where.organizations, option);
  else if (of_user && option.is("DefaultAccount", 8)) put(where.default_accounts, option);
  else if (option.is("DefaultQOS", 8)) put(where.default_qos, option);
  else if (option.is("QosLevel", 1)) put(where.qos, option);
  else if (of_tres && option.is("Type", 1)) put(where.types, option);
  else if (option.is("IDs", 1)) return bad_value = !take_numbers(option, where.ids), !bad_value;
  else if (option.is("Start", 1)) return bad_value = !take_time(option, where.start), !bad_value;
  else if (option.is("End", 1)) return bad_value = !take_time(option, where.end), !bad_value;
  else if (of_user && option.is("AdminLevel", 2)) {
    where.admin_level = accounting::admin_level(option.value);
    bad_value = !where.admin_level;
    return !bad_value;
  } else {
    return false;
  }
  return accounting::ignored_condition(entity, where).empty();
}

namespace {

struct LimitName {
  const char* name;
  size_t least;
  LimitField field;
};
// The longer name stands before those that begin alike.
constexpr LimitName kLimitNames[] = {
    {"Fairshare", 1, LimitField::kFairshare},
    {"Shares", 1, LimitField::kFairshare},
    {"GraceTime", 3, LimitField::kGraceTime},
    {"GrpJobsAccrue", 8, LimitField::kGrpJobsAccrue},
    {"GrpJobs", 4, LimitField::kGrpJobs},
    {"GrpSubmitJobs", 4, LimitField::kGrpSubmitJobs},
    {"GrpTRESMins", 8, LimitField::kGrpTresMins},
    {"GrpTRESRunMins", 8, LimitField::kGrpTresRunMins},
    {"GrpTRES", 7, LimitField::kGrpTres},
    {"GrpWall", 4, LimitField::kGrpWall},
    {"MaxJobsAccruePerAccount", 16, LimitField::kMaxJobsAccruePerAccount},
    {"MaxJobsAccruePA", 15, LimitField::kMaxJobsAccruePerAccount},
    {"MaxJobsAccruePerUser", 8, LimitField::kMaxJobsAccrue},
    {"MaxJobsAccruePU", 8, LimitField::kMaxJobsAccrue},
    {"MaxJobsPerAccount", 11, LimitField::kMaxJobsPerAccount},
    {"MaxJobsPA", 9, LimitField::kMaxJobsPerAccount},
    {"MaxJobsPerUser", 4, LimitField::kMaxJobs},
    {"MaxJobsPU", 9, LimitField::kMaxJobs},
    {"MaxSubmitJobsPerAccount", 17, LimitField::kMaxSubmitJobsPerAccount},
    {"MaxSubmitJobsPA", 15, LimitField::kMaxSubmitJobsPerAccount},
    {"MaxSubmitPA", 11, LimitField::kMaxSubmitJobsPerAccount},
    {"MaxSubmitJobsPerUser", 4, LimitField::kMaxSubmitJobs},
    {"MaxSubmitJobsPU", 15, LimitField::kMaxSubmitJobs},
    {"MaxSubmitPU", 11, LimitField::kMaxSubmitJobs},
    {"MaxTRESMinsPerJob", 8, LimitField::kMaxTresMinsPerJob},
    {"MaxTRESMinsPJ", 13, LimitField::kMaxTresMinsPerJob},
    {"MaxTRESRunMinsPerAccount", 18, LimitField::kMaxTresRunMinsPerAccount},
    {"MaxTRESRunMinsPA", 16, LimitField::kMaxTresRunMinsPerAccount},
    {"MaxTRESRunMinsPerUser", 8, LimitField::kMaxTresRunMins},
    {"MaxTRESRunMinsPU", 16, LimitField::kMaxTresRunMins},
    {"MaxTRESPerAccount", 11, LimitField::kMaxTresPerAccount},
    {"MaxTRESPA", 9, LimitField::kMaxTresPerAccount},
    {"MaxTRESPerNode", 11, LimitField::kMaxTresPerNode},
    {"MaxTRESPN", 9, LimitField::kMaxTresPerNode},
    {"MaxTRESPerUser", 11, LimitField::kMaxTresPerUser},
    {"MaxTRESPU", 9, LimitField::kMaxTresPerUser},
    {"MaxTRESPerJob", 7, LimitField::kMaxTresPerJob},
    {"MaxTRESPJ", 9, LimitField::kMaxTresPerJob},
    {"MaxWallDurationPerJob", 4, LimitField::kMaxWall},
    {"MinPrioThreshold", 4, LimitField::kMinPrioThreshold},
    {"MinTRESPerJob", 7, LimitField::kMinTresPerJob},
    {"PreemptExemptTime", 9, LimitField::kPreemptExemptTime},
    {"Priority", 3, LimitField::kPriority},
    {"UsageFactor", 6, LimitField::kUsageFactor},
    {"UsageThreshold", 6, LimitField::kUsageThreshold},
    {"LimitFactor", 6, LimitField::kLimitFactor},
};

std::optional<LimitField> limit_named(const Option& option) {
  for (const LimitName& row : kLimitNames)
    if (option.is(row.name, row.least)) return row.field;
  return std::nullopt;
}

// What a limit is set to; nothing where it is no such number.
std::optional<protocol::LimitSetting> limit_value(LimitField field, const Option& option) {
  const accounting::LimitRow& row = accounting::limit_row(field);
  protocol::LimitSetting out;
  out.field = field;
  const std::string& text = option.value;
  if (text == "-1" || text.empty() || iequals(text, "unlimited") || iequals(text, "infinite"))
    return out;
  if (row.kind == accounting::LimitKind::kShares && iequals(text, "parent")) {
    out.number = kSharesOfParent;
    return out;
  }
  if (row.kind == accounting::LimitKind::kReal) {
    out.real = to_number<double>(text);
    return out.real ? std::optional(out) : std::nullopt;
  }
  if (row.kind == accounting::LimitKind::kWall || row.kind == accounting::LimitKind::kSeconds) {
    const bool in_seconds = field == LimitField::kGraceTime;  // a number alone
    const Duration unit =
        in_seconds ? Duration(std::chrono::seconds(1)) : Duration(std::chrono::minutes(1));
    const auto span = parse_span(text, unit);
    if (!span || *span < Duration(0)) return std::nullopt;
    out.number = *span / std::chrono::seconds(1);
    return out;
  }
  const auto number = to_number<uint32_t>(text);
  if (!number) return std::nullopt;
  // the largest is none, as -1 is
  if (*number != std::numeric_limits<uint32_t>::max()) out.number = *number;
  return out;
}

// TRES limits of earlier versions: GrpNodes=3 is GrpTRES=node=3. The longer name stands before
// those that begin alike.
struct OldName {
  const char* name;
  size_t least;
  LimitField field;
  TresId id;
};
constexpr OldName kOldNames[] = {
    {"GrpCPUMins", 7, LimitField::kGrpTresMins, kTresCpu},
    {"GrpCPURunMins", 7, LimitField::kGrpTresRunMins, kTresCpu},
    {"GrpCPUs", 7, LimitField::kGrpTres, kTresCpu},
    {"GrpMemory", 4, LimitField::kGrpTres, kTresMem},
    {"GrpNodes", 4, LimitField::kGrpTres, kTresNode},
    {"MaxCPUMinsPerJob", 7, LimitField::kMaxTresMinsPerJob, kTresCpu},
    {"MaxCPUsPerUser", 11, LimitField::kMaxTresPerUser, kTresCpu},
    {"MaxCPUsPU", 9, LimitField::kMaxTresPerUser, kTresCpu},
    {"MaxCPUsPerJob", 7, LimitField::kMaxTresPerJob, kTresCpu},
    {"MaxNodesPerUser", 12, LimitField::kMaxTresPerUser, kTresNode},
    {"MaxNodesPU", 10, LimitField::kMaxTresPerUser, kTresNode},
    {"MaxNodesPerJob", 4, LimitField::kMaxTresPerJob, kTresNode},
    {"MinCPUsPerJob", 7, LimitField::kMinTresPerJob, kTresCpu},
};

bool take_old_name(Session& session, const Option& option, AccountingSettings& settings,
                   bool of_qos = false) {
  for (const OldName& row : kOldNames) {
    if (!option.is(row.name, row.least)) continue;
    if (!of_qos && accounting::limit_row(row.field).association == nullptr) return false;
    protocol::LimitSetting limit;
    limit.field = row.field;
    const auto count = to_number<uint64_t>(option.value);
    if (!count && option.value != "-1")
      return session.complain(fmt::format("Invalid value for {} ({})", row.name, option.value));
    limit.tres = {{row.id, count.value_or(protocol::kClearTres)}};
    settings.limits.push_back(std::move(limit));
    return true;
  }
  return false;
}

// In the words of Slurm, which has names of its own for some.
bool complain_of_value(Session& session, const accounting::LimitRow& row, const Option& option,
                       bool of_qos) {
  std::string name = of_qos || row.association == nullptr ? row.qos : row.association;
  if (row.kind == accounting::LimitKind::kWall || row.field == LimitField::kPreemptExemptTime) {
    session.complained = true;
    const char* what = row.kind == accounting::LimitKind::kWall ? " time" : "";
    return session.fail(
        fmt::format(" Bad {}{} format: {}={}", name, what, option.key, option.value));
  }
  if (row.field == LimitField::kFairshare) name = "FairShare";
  if (row.field == LimitField::kMinPrioThreshold) name = "MinPrioThresh";
  for (const auto& [written, shown] : {std::pair{"PerUser", "PU"}, {"PerAccount", "PA"}}) {
    const size_t at = name.find(written);
    if (at != std::string::npos) name.replace(at, std::string_view(written).size(), shown);
  }
  return session.complain(fmt::format("Invalid value for {} ({})", name, option.value));
}

bool take_limit(Session& session, LimitField field, const Option& option,
                AccountingSettings& settings, bool of_qos = false) {
  const accounting::LimitRow& row = accounting::limit_row(field);
  if (row.kind != accounting::LimitKind::kTres) {
    auto setting = limit_value(field, option);
    if (!setting) return complain_of_value(session, row, option, of_qos);
    settings.limits.push_back(std::move(*setting));
    return true;
  }
  const auto* known = session.known();
  if (known == nullptr) return !(session.told = true);
  Result<TresAmounts> amounts = accounting::parse_tres(option.value, known->all_tres);
  if (!amounts) return session.complain(amounts.error().text);
  protocol::LimitSetting setting;
  setting.field = field;
  setting.tres = std::move(*amounts);
  settings.limits.push_back(std::move(setting));
  return true;
}

// Lists of QOS: of an association's (QosLevel=), and of those that one preempts. Names in a list
// may have a sign of their own: "+low,-high".
bool take_qos(Session& session, const Option& option, std::vector<protocol::NameSet>& sets) {
  const auto* known = session.known();
  if (known == nullptr) return !(session.told = true);
  protocol::NameSet set;
  set.change = option.change;
  for (std::string name : option.list()) {
    SetChange change = option.change;
    if (option.change == SetChange::kReplace && name.size() > 1 &&
        (name[0] == '+' || name[0] == '-')) {
      change = name[0] == '+' ? SetChange::kAdd : SetChange::kRemove;
      name.erase(0, 1);
    }
    const bool there = std::any_of(known->all_qos.begin(), known->all_qos.end(),
                                   [&](const QosRecord& qos) { return iequals(qos.name, name); });
    if (!there) {
      std::vector<std::string> names;
      for (const QosRecord& qos : known->all_qos) names.push_back(qos.name);
      return session.complain(
          fmt::format("You gave a bad qos '{}'. Valid QOS's are {}", name, join(names, ",")));
    }
    if (change != set.change) {
      if (!set.names.empty()) sets.push_back(set);
      set = {};
      set.change = change;
    }
    set.names.push_back(name);
  }
  if (!set.names.empty() || set.change == SetChange::kReplace) sets.push_back(std::move(set));
  return true;
}

bool take_qos_flags(Session& session, const Option& option, AccountingSettings& settings) {
  protocol::FlagSet set;
  set.change = option.change;
  for (std::string word : option.list()) {
    if (word == "-1") continue;
    if (option.change == SetChange::kReplace && word.size() > 1 &&
        (word[0] == '+' || word[0] == '-')) {
      set.change = word[0] == '+' ? SetChange::kAdd : SetChange::kRemove;
      word.erase(0, 1);
    }
    const auto flag = accounting::qos_flag(word);
    if (!flag) {
      std::string names;
      for (const accounting::FlagName& row : accounting::qos_flag_names())
        names.append(names.empty() ? "" : ",").append(row.name);
      std::fprintf(stdout, " Unknown QOS flag used in:\n  '%s'\n Valid QOS flags are\n  '%s'\n",
                   option.value.c_str(), names.c_str());
      session.told = true;
      return false;
    }
    set.flags |= *flag;
  }
  settings.qos_flags.push_back(set);
  return true;
}

bool take_account_flags(Session& session, const Option& option, AccountingSettings& settings) {
  for (const std::string& word : option.list()) {
    const bool on = iequals(word, "UsersAreCoords");
    if (!on && !iequals(word, "NoUsersAreCoords"))
      return session.complain(fmt::format("Unknown account flag '{}'", word));
    settings.users_are_coordinators = on && option.change != SetChange::kRemove;
  }
  return true;
}

// As it is named: WITHIN first, and a mode beside it where there is one.
std::string preempt_mode_word(std::string_view value) {
  std::vector<std::string> words = split_list(to_lower(value));
  const bool within = std::erase(words, "within") > 0;
  std::string mode = join(words, ",");
  if (mode == "off" || mode == "priority") mode = "cluster";
  if (!within) return mode;
  return mode.empty() || mode == "cluster" ? "within" : "within," + mode;
}

bool take_qos_setting(Session& session, const Option& option, AccountingSettings& settings) {
  if (option.is("Description", 1)) return settings.description = to_lower(option.value), true;
  if (option.is("Flags", 2)) return take_qos_flags(session, option, settings);
  if (option.is("PreemptMode", 8)) {
    settings.preempt_mode = accounting::preempt_mode(preempt_mode_word(option.value));
    if (settings.preempt_mode) return true;
    session.told = true;
    return session.fail(fmt::format(" Bad Preempt Mode given: {}={}", option.key, option.value));
  }
  if (option.is("PreemptExemptTime", 9))
    return take_limit(session, LimitField::kPreemptExemptTime, option, settings);
  if (option.is("Preempt", 3)) return take_qos(session, option, settings.preempt);
  const auto field = limit_named(option);
  if (!field || *field == LimitField::kFairshare)
    return take_old_name(session, option, settings, true);
  return take_limit(session, *field, option, settings, true);
}

bool take_default_qos(Session& session, const Option& option, AccountingSettings& settings) {
  const auto* known = session.known();
  if (known == nullptr) return !(session.told = true);
  const bool is_none = option.value.empty() || option.value == "-1";
  if (!is_none && std::ranges::none_of(known->all_qos, [&](const QosRecord& qos) {
        return iequals(qos.name, option.value);
      })) {
    session.told = true;
    return session.fail(fmt::format(
        "You gave a bad default qos '{}'.  Use 'list qos' to get complete list.", option.value));
  }
  settings.default_qos = option.value;
  return true;
}

}  // namespace

bool take_setting(Session& session, AccountingEntity entity, const Option& option,
                  AccountingSettings& settings) {
  if (!option.has_value) return false;
  if (entity == AccountingEntity::kQos) return take_qos_setting(session, option, settings);
  const bool of_user = entity == AccountingEntity::kUser;
  const bool of_account = entity == AccountingEntity::kAccount;
  if (option.is("DefaultQOS", 8)) return take_default_qos(session, option, settings);
  if (of_account) {
    if (option.is("Description", 3)) return settings.description = to_lower(option.value), true;
    if (option.is("Organization", 1)) return settings.organization = to_lower(option.value), true;
    if (option.is("Parents", 1) && !option.is("Priority", 2))
      return settings.parent = option.value, true;
    if (option.is("Flags", 2)) return take_account_flags(session, option, settings);
  }
  if (of_user) {
    if (option.is("AdminLevel", 2)) {
      // a level that there is not sets none, as in Slurm
      settings.admin_level = accounting::admin_level(option.value);
      return true;
    }
    if (option.is("DefaultAccount", 8)) return settings.default_account = option.value, true;
    if (option.is("DefaultWCKey", 8)) return settings.default_wckey = option.value, true;
    if (option.is("NewName", 4)) return settings.new_name = option.value, true;
  }
  if (option.is("Comment", 3)) return settings.comment = option.value, true;
  if (option.is("QosLevel", 1)) return take_qos(session, option, settings.qos);
  const auto field = limit_named(option);
  if (!field) return take_old_name(session, option, settings);
  return take_limit(session, *field, option, settings);
}

}  // namespace sluice::cli::sacctmgr
