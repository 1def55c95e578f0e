#include "dbd/archive/purge_rules.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "dbd/store/usage_store.hpp"

namespace sluice::dbd {
namespace {

constexpr int kMost = 100'000;

struct Key {
  const char* name;
  std::string DbdConfig::*age;
  bool DbdConfig::*archive;
};
constexpr std::array<Key, kPurgedKinds> kKeys = {{
    {"PurgeJobAfter", &DbdConfig::purge_job, &DbdConfig::archive_job},
    {"PurgeStepAfter", &DbdConfig::purge_step, &DbdConfig::archive_step},
    {"PurgeEventAfter", &DbdConfig::purge_event, &DbdConfig::archive_event},
    {"PurgeResvAfter", &DbdConfig::purge_resv, &DbdConfig::archive_resv},
    {"PurgeTXNAfter", &DbdConfig::purge_txn, &DbdConfig::archive_txn},
    {"PurgeUsageAfter", &DbdConfig::purge_usage, &DbdConfig::archive_usage},
}};

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
  for (size_t i = 0; i < kPurgedKinds; ++i) {
    const std::string& text = config.*kKeys[i].age;
    out.rules[i].archive = config.*kKeys[i].archive;
    if (text.empty()) continue;
    out.rules[i].age = parse_purge_age(text);
    if (!out.rules[i].age)
      return failure(ErrorCode::kInvalidConfig,
                     fmt::format("{}=\"{}\" is not valid; allowed: a number of hours, days or "
                                 "months, such as 30days",
                                 kKeys[i].name, text));
  }
  // suspensions have no table here
  if (!config.purge_suspend.empty() && !parse_purge_age(config.purge_suspend))
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("PurgeSuspendAfter=\"{}\" is not valid", config.purge_suspend));
  return out;
}

}  // namespace sluice::dbd
