#include "common/accounting/limit_fields.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"

namespace sluice::accounting {

using protocol::LimitField;
using protocol::LimitSetting;

namespace {

using F = LimitField;
using K = LimitKind;
constexpr std::array kRows = {
    LimitRow{F::kFairshare, K::kShares, "Fairshare", nullptr, "Fairshare", "shares", false},
    LimitRow{F::kGraceTime, K::kSeconds, nullptr, "GraceTime", nullptr, "grace_time", false},
    LimitRow{F::kGrpJobs, K::kCount, "GrpJobs", "GrpJobs", "GrpJobs", "grp_jobs", false},
    LimitRow{F::kGrpJobsAccrue, K::kCount, "GrpJobsAccrue", "GrpJobsAccrue", "GrpJobsAccrue",
             "grp_jobs_accrue", false},
    LimitRow{F::kGrpSubmitJobs, K::kCount, "GrpSubmitJobs", "GrpSubmitJobs", "GrpSubmitJobs",
             "grp_submit_jobs", false},
    LimitRow{F::kGrpTres, K::kTres, "GrpTRES", "GrpTRES", "GrpTRES", "grp_tres", false},
    LimitRow{F::kGrpTresMins, K::kTres, "GrpTRESMins", "GrpTRESMins", "GrpTRESMins",
             "grp_tres_mins", false},
    LimitRow{F::kGrpTresRunMins, K::kTres, "GrpTRESRunMins", "GrpTRESRunMins", "GrpTRESRunMins",
             "grp_tres_run_mins", false},
    LimitRow{F::kGrpWall, K::kWall, "GrpWall", "GrpWall", "GrpWall", "grp_wall", false},
    LimitRow{F::kMaxJobs, K::kCount, "MaxJobs", "MaxJobsPerUser", "MaxJobs", "max_jobs", true},
    LimitRow{F::kMaxJobsAccrue, K::kCount, "MaxJobsAccrue", "MaxJobsAccruePerUser", "MaxJobsAccrue",
             "max_jobs_accrue", true},
    LimitRow{F::kMaxSubmitJobs, K::kCount, "MaxSubmitJobs", "MaxSubmitJobsPerUser", "MaxSubmitJobs",
             "max_submit_jobs", true},
    LimitRow{F::kMaxTresPerJob, K::kTres, "MaxTRES", "MaxTRESPerJob", "MaxTRESPerJob",
             "max_tres_pj", true},
    LimitRow{F::kMaxTresPerNode, K::kTres, "MaxTRESPerNode", "MaxTRESPerNode", "MaxTRESPerNode",
             "max_tres_pn", true},
    LimitRow{F::kMaxTresMinsPerJob, K::kTres, "MaxTRESMins", "MaxTRESMinsPerJob",
             "MaxTRESMinsPerJob", "max_tres_mins_pj", true},
    LimitRow{F::kMaxTresRunMins, K::kTres, "MaxTRESRunMins", "MaxTRESRunMinsPerUser",
             "MaxTRESRunMins", "max_tres_run_mins", true},
    LimitRow{F::kMaxTresPerUser, K::kTres, nullptr, "MaxTRESPerUser", nullptr, "max_tres_pu",
             false},
    LimitRow{F::kMaxJobsPerAccount, K::kCount, nullptr, "MaxJobsPerAccount", nullptr, "max_jobs_pa",
             false},
    LimitRow{F::kMaxJobsAccruePerAccount, K::kCount, nullptr, "MaxJobsAccruePerAccount", nullptr,
             "max_jobs_accrue_pa", false},
    LimitRow{F::kMaxSubmitJobsPerAccount, K::kCount, nullptr, "MaxSubmitJobsPerAccount", nullptr,
             "max_submit_jobs_pa", false},
    LimitRow{F::kMaxTresPerAccount, K::kTres, nullptr, "MaxTRESPerAccount", nullptr, "max_tres_pa",
             false},
    LimitRow{F::kMaxTresRunMinsPerAccount, K::kTres, nullptr, "MaxTRESRunMinsPerAccount", nullptr,
             "max_tres_run_mins_pa", false},
    LimitRow{F::kMaxWall, K::kWall, "MaxWall", "MaxWall", "MaxWallDurationPerJob", "max_wall_pj",
             true},
    LimitRow{F::kMinTresPerJob, K::kTres, nullptr, "MinTRESPerJob", nullptr, "min_tres_pj", false},
    LimitRow{F::kMinPrioThreshold, K::kCount, "MinPrioThreshold", "MinPrioThreshold",
             "MinPrioThresh", "min_prio_thresh", true},
    LimitRow{F::kPreemptExemptTime, K::kSeconds, nullptr, "PreemptExemptTime", nullptr,
             "preempt_exempt_time", false},
    LimitRow{F::kPriority, K::kCount, "Priority", "Priority", "Priority", "priority", true},
    LimitRow{F::kUsageFactor, K::kReal, nullptr, "UsageFactor", nullptr, "usage_factor", false},
    LimitRow{F::kUsageThreshold, K::kReal, nullptr, "UsageThreshold", nullptr, "usage_thres",
             false},
    LimitRow{F::kLimitFactor, K::kReal, nullptr, "LimitFactor", nullptr, "limit_factor", false},
};

constexpr std::array kFlagNames = {
    FlagName{kQosDenyOnLimit, "DenyOnLimit"},
    FlagName{kQosEnforceUsageThreshold, "EnforceUsageThreshold"},
    FlagName{kQosNoReserve, "NoReserve"},
    FlagName{kQosPartitionMaxNodes, "PartitionMaxNodes"},
    FlagName{kQosPartitionMinNodes, "PartitionMinNodes"},
    FlagName{kQosOverPartQos, "OverPartQOS"},
    FlagName{kQosPartitionTimeLimit, "PartitionTimeLimit"},
    FlagName{kQosRequiresReservation, "RequiresReservation"},
    FlagName{kQosNoDecay, "NoDecay"},
    FlagName{kQosUsageFactorSafe, "UsageFactorSafe"},
    FlagName{kQosRelative, "Relative"},
};

struct IsSet {
  bool operator()(std::monostate) const { return false; }
  bool operator()(const uint32_t*) const { return true; }
  bool operator()(const double*) const { return true; }
  bool operator()(const TresAmounts* amounts) const { return !amounts->empty(); }
  template <class T>
  bool operator()(const std::optional<T>* value) const {
    return value->has_value();
  }
};

// 10240 MB is 10G, 15680 MB stays: nothing is lost. None has no unit.
std::string exact_memory(uint64_t mebibytes) {
  if (mebibytes == 0) return "0";
  static constexpr std::string_view kUnits = "MGTPE";
  size_t unit = 0;
  while (mebibytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    mebibytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", mebibytes, kUnits[unit]);
}

std::optional<uint64_t> tres_count(const TresRecord& record, std::string_view text) {
  if (text == "-1") return protocol::kClearTres;
  const bool memory = record.id == kTresMem || record.id == kTresVmem;
  if (memory) return parse_memory(text);
  return to_number<uint64_t>(text);
}

}  // namespace

std::span<const LimitRow> limit_rows() { return kRows; }

const LimitRow& limit_row(LimitField field) {
  const auto* row =
      std::find_if(kRows.begin(), kRows.end(), [&](const LimitRow& r) { return r.field == field; });
  return row == kRows.end() ? kRows.front() : *row;
}

LimitRef limit_of(AssociationRecord& r, LimitField field) {
  switch (field) {
    case F::kFairshare: return &r.shares;
    case F::kPriority: return &r.priority;
    case F::kGrpJobs: return &r.group.jobs;
    case F::kGrpJobsAccrue: return &r.group.jobs_accrue;
    case F::kGrpSubmitJobs: return &r.group.submit;
    case F::kGrpTres: return &r.group.tres;
    case F::kGrpTresMins: return &r.group.tres_mins;
    case F::kGrpTresRunMins: return &r.group.tres_run_mins;
    case F::kGrpWall: return &r.group.wall;
    case F::kMaxJobs: return &r.member.jobs;
    case F::kMaxJobsAccrue: return &r.member.jobs_accrue;
    case F::kMaxSubmitJobs: return &r.member.submit;
    case F::kMaxTresRunMins: return &r.member.tres_run_mins;
    case F::kMaxTresPerJob: return &r.job.tres;
    case F::kMaxTresPerNode: return &r.job.tres_node;
    case F::kMaxTresMinsPerJob: return &r.job.tres_mins;
    case F::kMaxWall: return &r.job.wall;
    case F::kMinPrioThreshold: return &r.job.min_priority;
    default: return {};
  }
}

LimitRef limit_of(QosRecord& r, LimitField field) {
  switch (field) {
    case F::kFairshare: return {};
    case F::kPriority: return &r.priority;
    case F::kGrpJobs: return &r.group.jobs;
    case F::kGrpJobsAccrue: return &r.group.jobs_accrue;
    case F::kGrpSubmitJobs: return &r.group.submit;
    case F::kGrpTres: return &r.group.tres;
    case F::kGrpTresMins: return &r.group.tres_mins;
    case F::kGrpTresRunMins: return &r.group.tres_run_mins;
    case F::kGrpWall: return &r.group.wall;
    case F::kMaxJobs: return &r.user.jobs;
    case F::kMaxJobsAccrue: return &r.user.jobs_accrue;
    case F::kMaxSubmitJobs: return &r.user.submit;
    case F::kMaxTresRunMins: return &r.user.tres_run_mins;
    case F::kMaxTresPerUser: return &r.user.tres;
    case F::kMaxJobsPerAccount: return &r.account.jobs;
    case F::kMaxJobsAccruePerAccount: return &r.account.jobs_accrue;
    case F::kMaxSubmitJobsPerAccount: return &r.account.submit;
    case F::kMaxTresPerAccount: return &r.account.tres;
    case F::kMaxTresRunMinsPerAccount: return &r.account.tres_run_mins;
    case F::kMaxTresPerJob: return &r.job.tres;
    case F::kMaxTresPerNode: return &r.job.tres_node;
    case F::kMaxTresMinsPerJob: return &r.job.tres_mins;
    case F::kMinTresPerJob: return &r.job.min_tres;
    case F::kMaxWall: return &r.job.wall;
    case F::kMinPrioThreshold: return &r.job.min_priority;
    case F::kGraceTime: return &r.grace_time;
    case F::kPreemptExemptTime: return &r.preempt_exempt_time;
    case F::kUsageFactor: return &r.usage_factor;
    case F::kUsageThreshold: return &r.usage_threshold;
    case F::kLimitFactor: return &r.limit_factor;
  }
  return {};
}

namespace {

struct SetLimit {
  const LimitSetting& setting;
  [[nodiscard]] std::optional<uint32_t> count() const {
    if (!setting.number || *setting.number < 0) return std::nullopt;
    return static_cast<uint32_t>(std::min<int64_t>(*setting.number, UINT32_MAX - 2));
  }
  void operator()(std::monostate) const {}
  void operator()(std::optional<uint32_t>* value) const { *value = count(); }
  // a number that always is: shares go back to 1, a priority to 0
  void operator()(uint32_t* value) const {
    *value = count().value_or(setting.field == LimitField::kFairshare ? 1 : 0);
  }
  void operator()(std::optional<Duration>* value) const {
    const auto seconds = count();
    *value = seconds ? std::optional<Duration>(std::chrono::seconds(*seconds)) : std::nullopt;
  }
  void operator()(double* value) const {
    *value = setting.real && *setting.real >= 0 ? *setting.real : 1.0;
  }
  void operator()(std::optional<double>* value) const {
    *value = setting.real && *setting.real >= 0 ? setting.real : std::nullopt;
  }
  void operator()(TresAmounts* amounts) const {
    for (const TresAmount& change : setting.tres) {
      const auto at = std::lower_bound(amounts->begin(), amounts->end(), change.id,
                                       [](const TresAmount& a, TresId id) { return a.id < id; });
      const bool there = at != amounts->end() && at->id == change.id;
      if (change.count == protocol::kClearTres) {
        if (there) amounts->erase(at);
      } else if (there) {
        at->count = change.count;
      } else {
        amounts->insert(at, change);
      }
    }
  }
};

struct LimitText {
  LimitKind kind;
  std::span<const TresRecord> tres;
  bool raw;
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(const uint32_t* value) const {
    if (kind == LimitKind::kShares && *value == kSharesOfParent && !raw) return "parent";
    return std::to_string(*value);
  }
  std::string operator()(const std::optional<uint32_t>* value) const {
    return *value ? std::to_string(**value) : std::string();
  }
  std::string operator()(const std::optional<Duration>* value) const {
    if (!*value) return {};
    if (!raw) return format_span(**value);
    return std::to_string(**value / std::chrono::seconds(kind == LimitKind::kWall ? 60 : 1));
  }
  std::string operator()(const TresAmounts* value) const { return tres_text(*value, tres, raw); }
  std::string operator()(const double* value) const { return fmt::format("{:.6f}", *value); }
  std::string operator()(const std::optional<double>* value) const {
    return *value ? fmt::format("{:.6f}", **value) : std::string();
  }
};

}  // namespace

void set_limit(const LimitRef& ref, const LimitSetting& setting) {
  std::visit(SetLimit{setting}, ref);
}
bool is_set(const LimitRef& ref) { return std::visit(IsSet{}, ref); }
std::string limit_text(const LimitRef& ref, LimitKind kind, std::span<const TresRecord> tres,
                       bool raw) {
  return std::visit(LimitText{kind, tres, raw}, ref);
}

std::string tres_name(const TresRecord& record) {
  return record.name.empty() ? record.type : record.type + "/" + record.name;
}

std::string tres_text(const TresAmounts& amounts, std::span<const TresRecord> tres, bool raw) {
  std::vector<std::pair<std::string, std::string>> parts;  // name and number
  for (const TresAmount& amount : amounts) {
    const auto record = std::find_if(tres.begin(), tres.end(),
                                     [&](const TresRecord& r) { return r.id == amount.id; });
    const bool named = !raw && record != tres.end();
    const bool memory = amount.id == kTresMem || amount.id == kTresVmem;
    parts.emplace_back(named ? tres_name(*record) : std::to_string(amount.id),
                       amount.count == protocol::kClearTres ? "-1"
                       : memory && !raw                     ? exact_memory(amount.count)
                                                            : std::to_string(amount.count));
  }
  if (!raw) std::sort(parts.begin(), parts.end());
  std::string out;
  for (const auto& [name, count] : parts) {
    if (!out.empty()) out += ',';
    out += name + '=' + count;
  }
  return out;
}

Result<TresAmounts> parse_tres(std::string_view text, std::span<const TresRecord> tres) {
  TresAmounts out;
  for (const std::string& part : split_list(text)) {
    const size_t equals = part.find('=');
    const std::string name = to_lower(part.substr(0, equals));
    const auto record = std::find_if(tres.begin(), tres.end(), [&](const TresRecord& r) {
      return iequals(tres_name(r), name) || std::to_string(r.id) == name;
    });
    if (record == tres.end())
      return failure(fmt::format("slurmdb_format_tres_str: no TRES known by type {}", name));
    if (equals == std::string::npos)
      return failure(fmt::format("slurmdb_format_tres_str: no TRES id found for {}", name));
    const auto count = tres_count(*record, std::string_view(part).substr(equals + 1));
    if (!count)
      return failure(fmt::format("invalid value '{}' for TRES {}", part.substr(equals + 1), name));
    const auto at = std::lower_bound(out.begin(), out.end(), record->id,
                                     [](const TresAmount& a, TresId id) { return a.id < id; });
    if (at != out.end() && at->id == record->id) at->count = *count;
    else out.insert(at, {record->id, *count});
  }
  return out;
}

std::span<const FlagName> qos_flag_names() { return kFlagNames; }

std::string qos_flags_text(QosFlags flags) {
  std::string out;
  for (const FlagName& row : kFlagNames) {
    if ((flags & row.flag) == 0) continue;
    if (!out.empty()) out += ',';
    out += row.name;
  }
  return out;
}

std::optional<QosFlags> qos_flag(std::string_view word) {
  for (const FlagName& row : kFlagNames)
    if (iequals(row.name, word)) return row.flag;
  return std::nullopt;
}

namespace {
constexpr std::array<const char*, 9> kModes = {"cluster",       "cancel",         "gang",
                                               "requeue",       "suspend",        "within",
                                               "within,cancel", "within,requeue", "within,suspend"};
constexpr std::array<const char*, 3> kLevels = {"None", "Operator", "Administrator"};
}  // namespace

const char* preempt_mode_text(QosPreemptMode mode) {
  const auto index = static_cast<size_t>(mode);
  return index < kModes.size() ? kModes[index] : "cluster";
}
std::optional<QosPreemptMode> preempt_mode(std::string_view word) {
  for (size_t i = 0; i < kModes.size(); ++i)
    if (!word.empty() && iequals(kModes[i], word)) return static_cast<QosPreemptMode>(i);
  return std::nullopt;
}
const char* admin_level_text(AdminLevel level) {
  const auto index = static_cast<size_t>(level);
  return index < kLevels.size() ? kLevels[index] : "None";
}
std::optional<AdminLevel> admin_level(std::string_view word) {
  for (size_t i = 0; i < kLevels.size(); ++i)
    if (!word.empty() && starts_with_i(kLevels[i], word)) return static_cast<AdminLevel>(i);
  return std::nullopt;
}

}  // namespace sluice::accounting
