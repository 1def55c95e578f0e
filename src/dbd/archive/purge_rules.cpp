#include "dbd/archive/purge_rules.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "dbd/archive/archive_file.hpp"
#include "dbd/store/usage_store.hpp"

namespace sluice::dbd {
namespace {

constexpr int kMost = 100'000;

struct Key {
  const char* name;
  const char* what;
  std::string DbdConfig::*age;
  bool DbdConfig::*archive;
};
constexpr std::array<Key, kPurgedKinds> kKeys = {{
    {"PurgeJobAfter", "jobs", &DbdConfig::purge_job, &DbdConfig::archive_job},
    {"PurgeStepAfter", "steps", &DbdConfig::purge_step, &DbdConfig::archive_step},
    {"PurgeEventAfter", "events", &DbdConfig::purge_event, &DbdConfig::archive_event},
    {"PurgeResvAfter", "reservations", &DbdConfig::purge_resv, &DbdConfig::archive_resv},
    {"PurgeTXNAfter", "transactions", &DbdConfig::purge_txn, &DbdConfig::archive_txn},
    {"PurgeUsageAfter", "usage", &DbdConfig::purge_usage, &DbdConfig::archive_usage},
    {"PurgeSuspendAfter", "suspensions", &DbdConfig::purge_suspend, &DbdConfig::archive_suspend},
    {"PurgeJobScriptAfter", "scripts", &DbdConfig::purge_job_script,
     &DbdConfig::archive_job_script},
    {"PurgeJobEnvAfter", "environments", &DbdConfig::purge_job_environment,
     &DbdConfig::archive_job_environment},
}};

Result<PurgeAge> age_of(const char* key, const std::string& text, ErrorCode code) {
  const auto age = parse_purge_age(text);
  if (age) return *age;
  return failure(code, fmt::format("{}=\"{}\" is not valid; allowed: a number of hours, days or "
                                   "months, such as 30days",
                                   key, text));
}

}  // namespace

std::optional<PurgeAge> parse_purge_age(const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = to_number<int>(text.substr(0, digits));
  if (!count || *count < 1 || *count > kMost) return std::nullopt;
  const std::string unit = to_lower(text.substr(digits));
  if (unit.empty() || unit == "month" || unit == "months")
    return PurgeAge{PurgeAge::Unit::kMonths, *count};
  if (unit == "day" || unit == "days") return PurgeAge{PurgeAge::Unit::kDays, *count};
  if (unit == "hour" || unit == "hours") return PurgeAge{PurgeAge::Unit::kHours, *count};
  return std::nullopt;
}

Time purge_before(const PurgeAge& age, Time now) {
  switch (age.unit) {
    case PurgeAge::Unit::kDays: return day_of(now, -age.count);
    case PurgeAge::Unit::kHours: {
      const Duration hour = std::chrono::hours(1);
      return now - now.time_since_epoch() % hour - hour * age.count;
    }
    case PurgeAge::Unit::kMonths: break;
  }
  return month_of(now, -age.count);
}

Result<PurgeRules> purge_rules(const DbdConfig& config) {
  PurgeRules out;
  out.folder = config.archive_folder;
  out.script = config.archive_script;
  if (!out.script.empty() && ::access(out.script.c_str(), X_OK) != 0)
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("{}: ArchiveScript=\"{}\": {}", place_of(config, "ArchiveScript"),
                               out.script, errno_text(errno)));
  for (size_t i = 0; i < kPurgedKinds; ++i) {
    const std::string& text = config.*kKeys[i].age;
    out.rules[i].archive = config.*kKeys[i].archive;
    if (text.empty()) continue;
    const auto age = age_of(kKeys[i].name, text, ErrorCode::kInvalidConfig);
    if (!age)
      return failure(age.error().code,
                     fmt::format("{}: {}", place_of(config, kKeys[i].name), age.error().text));
    out.rules[i].age = *age;
  }
  return out;
}

Status check_archive_folder(const DbdConfig& config, const PurgeRules& rules) {
  const auto bad = [&](std::string_view why) {
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("{}: ArchiveDir=\"{}\": {}", place_of(config, "ArchiveDir"),
                               config.archive_folder, why));
  };
  struct stat folder {};
  if (::stat(config.archive_folder.c_str(), &folder) != 0) return bad(errno_text(errno));
  if (!S_ISDIR(folder.st_mode)) return bad(errno_text(ENOTDIR));
  const bool writes = std::ranges::any_of(
      rules.rules, [](const PurgeRule& rule) { return rule.archive && rule.age.has_value(); });
  if (!writes || !rules.script.empty()) return {};
  if (Status ok = may_write_archives(config.archive_folder); !ok) return bad(ok.error().text);
  return {};
}

Result<PurgeRules> asked_rules(PurgeRules rules, const protocol::DumpArchiveRequest& request) {
  for (const std::string* path : {&request.folder, &request.script})
    if (!path->empty() && !path->starts_with('/'))
      return failure(ErrorCode::kBadRequest, fmt::format("{}: no path that begins with /", *path));
  if (!request.folder.empty()) rules.folder = request.folder;
  if (!request.script.empty()) rules.script = request.script;
  for (const protocol::ArchiveRule& asked : request.rules) {
    const auto place = static_cast<size_t>(asked.kind);
    if (place >= kPurgedKinds)
      return failure(ErrorCode::kBadRequest, "a kind of history that is not known");
    PurgeRule& rule = rules.rules[place];
    rule.archive |= asked.archive;
    if (asked.purge.empty()) continue;
    const auto age = age_of(kKeys[place].name, asked.purge, ErrorCode::kBadRequest);
    if (!age) return tl::unexpected<Error>(age.error());
    rule.age = *age;
  }
  for (const protocol::ArchiveRule& asked : request.rules) {
    const auto place = static_cast<size_t>(asked.kind);
    if (asked.archive && !rules.rules[place].age)
      return failure(ErrorCode::kBadRequest,
                     fmt::format("{} are archived as they are purged: {} is wanted, here or in "
                                 "slurmdbd.conf",
                                 kKeys[place].what, kKeys[place].name));
  }
  return rules;
}

bool purges_anything(const PurgeRules& rules) {
  return std::any_of(rules.rules.begin(), rules.rules.end(),
                     [](const PurgeRule& rule) { return rule.age.has_value(); });
}

}  // namespace sluice::dbd
