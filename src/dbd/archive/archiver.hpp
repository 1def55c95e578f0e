// Purges old history by the clock, and as administrators ask: one purge at a time. Where there is
// an ArchiveScript it takes the place of both purging and archiving.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "common/daemon/running_programs.hpp"
#include "dbd/archive/purge.hpp"

namespace sluice::dbd {

using ScriptVariables = std::map<std::string, std::string>;

// What the script is told of a cluster: for what it may archive, and until when.
[[nodiscard]] ScriptVariables script_variables(const PurgeRules& rules, const std::string& cluster,
                                               Time now);

class Archiver {
 public:
  // `database` outlives it.
  Archiver(Database& database, PurgeRules rules) : database_(database), rules_(std::move(rules)) {}
  Archiver(const Archiver&) = delete;
  Archiver& operator=(const Archiver&) = delete;

  // As slurmdbd.conf says; a script only where there may be more for it than the last time.
  [[nodiscard]] Result<PurgeResult> by_clock(Time now);
  // With what is asked for in place of slurmdbd.conf. Errors: kRetry: another purge runs.
  [[nodiscard]] Result<PurgeResult> as_asked(const protocol::DumpArchiveRequest& request, Time now);
  // From the next purge on. Any thread.
  void use(PurgeRules rules);
  // Kills a script that runs; none begins any more. Any thread.
  void end();

 private:
  [[nodiscard]] PurgeRules rules() const;
  Result<PurgeResult> purge_by(const PurgeRules& rules, Time now);
  Status run_script(const PurgeRules& rules, const std::string& cluster, Time now);

  Database& database_;
  mutable std::mutex rules_mutex_;
  PurgeRules rules_;  // guarded by rules_mutex_
  std::mutex one_at_a_time_;
  ScriptVariables done_;  // of the last run by the clock; guarded by one_at_a_time_
  std::atomic<bool> ending_ = false;
  daemon::RunningPrograms running_;
};

}  // namespace sluice::dbd
