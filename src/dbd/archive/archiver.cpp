#include "dbd/archive/archiver.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>
#include <sys/wait.h>

#include "common/daemon/run_program.hpp"
#include "common/log/log.hpp"
#include "dbd/store/usage_store.hpp"

namespace sluice::dbd {
namespace {

constexpr auto kLongestScript = std::chrono::hours(1);

// By Purged.
constexpr std::array<std::pair<const char*, const char*>, kPurgedKinds> kNames = {{
    {"JOBS", "LAST_JOB"},
    {"STEPS", "LAST_STEP"},
    {"EVENTS", "LAST_EVENT"},
    {"RESV", "LAST_RESV"},
    {"TXN", "LAST_TXN"},
    {"USAGE", "LAST_USAGE"},
    {"SUSPEND", "LAST_SUSPEND"},
    {"JOB_SCRIPT", "LAST_JOB_SCRIPT"},
    {"JOB_ENV", "LAST_JOB_ENV"},
}};

// Jobs and events before this may be gone when a script has ended.
Time gone_before(const PurgeRules& rules, Time now) {
  Time out = kNoTime;
  for (const Purged kind : {Purged::kJobs, Purged::kEvents})
    if (const auto& age = rules.of(kind).age) out = std::max(out, purge_before(*age, now));
  return out;
}

}  // namespace

ScriptVariables script_variables(const PurgeRules& rules, const std::string& cluster, Time now) {
  ScriptVariables out = {{"PATH", "/bin:/usr/bin"}, {"SLURM_ARCHIVE_CLUSTER", cluster}};
  for (size_t i = 0; i < kPurgedKinds; ++i) {
    const PurgeRule& rule = rules.rules[i];
    if (!rule.age) continue;
    const auto& [what, last] = kNames[i];
    out[fmt::format("SLURM_ARCHIVE_{}", what)] = rule.archive ? "1" : "0";
    out[fmt::format("SLURM_ARCHIVE_{}", last)] =
        std::to_string(to_seconds(purge_before(*rule.age, now)) - 1);
  }
  return out;
}

Result<PurgeResult> Archiver::by_clock(Time now) {
  const std::lock_guard lock(one_at_a_time_);
  const PurgeRules by = rules();
  const ScriptVariables variables = script_variables(by, {}, now);
  if (!by.script.empty() && variables == done_) return PurgeResult{};
  auto result = purge_by(by, now);
  if (result) done_ = variables;
  return result;
}

Result<PurgeResult> Archiver::as_asked(const protocol::DumpArchiveRequest& request, Time now) {
  const auto rules = asked_rules(this->rules(), request);
  if (!rules) return tl::unexpected<Error>(rules.error());
  const std::unique_lock lock(one_at_a_time_, std::try_to_lock);
  if (!lock) return failure(ErrorCode::kRetry, "history is being purged just now; try again later");
  return purge_by(*rules, now);
}

void Archiver::use(PurgeRules rules) {
  const std::lock_guard lock(rules_mutex_);
  rules_ = std::move(rules);
}

PurgeRules Archiver::rules() const {
  const std::lock_guard lock(rules_mutex_);
  return rules_;
}

void Archiver::end() {
  ending_ = true;
  running_.end(std::chrono::milliseconds(0));
}

Result<PurgeResult> Archiver::purge_by(const PurgeRules& rules, Time now) {
  if (rules.script.empty()) return purge(database_, rules, now);
  if (!purges_anything(rules)) return PurgeResult{};
  if (Status rolled = roll_up(database_, now); !rolled)
    return tl::unexpected<Error>(rolled.error());
  const auto clusters = cluster_names(database_);
  if (!clusters) return tl::unexpected<Error>(clusters.error());
  const auto before = gone_before(rules, now).time_since_epoch().count();
  for (const auto& [id, name] : *clusters) {
    if (Status ran = run_script(rules, name, now); !ran) return tl::unexpected<Error>(ran.error());
    Status raised = database_.write([&, id = id](Session& sql) -> Status {
      const long long summed = summed_until(sql, id);
      if (before > 0 && summed > 0) raise_floor(sql, id, std::min<long long>(before, summed));
      return {};
    });
    if (!raised) return tl::unexpected<Error>(raised.error());
  }
  return PurgeResult{};
}

Status Archiver::run_script(const PurgeRules& rules, const std::string& cluster, Time now) {
  const daemon::RunningPrograms::Here here(running_,
                                           fmt::format("the archive script {}", rules.script));
  if (ending_) return failure(ErrorCode::kRetry, "the accounting daemon ends");
  log::info("runs the archive script {} for cluster {}", rules.script, cluster);
  const int status = daemon::run_program({rules.script}, script_variables(rules, cluster, now), {},
                                         kLongestScript);
  if (status == 0) return {};
  if (status == -1) return failure(fmt::format("{} cannot be run", rules.script));
  return failure(WIFSIGNALED(status)
                     ? fmt::format("{} was ended by signal {}", rules.script, WTERMSIG(status))
                     : fmt::format("{} ended with status {}", rules.script, WEXITSTATUS(status)));
}

}  // namespace sluice::dbd
