// What of history goes after which time, and what of it is kept in files: the Purge… and Archive…
// keys of slurmdbd.conf.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/protocol/accounting_archive.hpp"
#include "dbd/config/dbd_config.hpp"

namespace sluice::dbd {

// "12", "12months", "30days", "48hours".
struct PurgeAge {
  enum class Unit { kHours, kDays, kMonths };
  Unit unit = Unit::kMonths;
  int count = 0;
};
[[nodiscard]] std::optional<PurgeAge> parse_purge_age(const std::string& text);
// What ended before this goes: whole hours, days or months of this host's time.
[[nodiscard]] Time purge_before(const PurgeAge& age, Time now);

// Suspensions are part of their job, and go with it: their rule is for scripts alone.
using Purged = protocol::ArchivedKind;
inline constexpr size_t kPurgedKinds = 9;

struct PurgeRule {
  std::optional<PurgeAge> age;  // nothing: kept for ever
  bool archive = false;
};
struct PurgeRules {
  std::array<PurgeRule, kPurgedKinds> rules;
  std::string folder;  // ArchiveDir
  std::string script;  // ArchiveScript: takes the place of purging and archiving

  [[nodiscard]] const PurgeRule& of(Purged kind) const { return rules[static_cast<size_t>(kind)]; }
};
// Errors name the key.
[[nodiscard]] Result<PurgeRules> purge_rules(const DbdConfig& config);
// ArchiveDir is a folder; where anything is archived into it, one that this process may use.
[[nodiscard]] Status check_archive_folder(const DbdConfig& config, const PurgeRules& rules);
// With what an administrator asks for in place of them. Errors: kBadRequest.
[[nodiscard]] Result<PurgeRules> asked_rules(PurgeRules rules,
                                             const protocol::DumpArchiveRequest& request);
[[nodiscard]] bool purges_anything(const PurgeRules& rules);

}  // namespace sluice::dbd
