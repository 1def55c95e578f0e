// How strigger and its programs name what a trigger watches and waits for.
#pragma once

#include <string_view>
#include <utility>

#include "common/model/trigger.hpp"

namespace sluice {

inline constexpr std::pair<TriggerEvents, std::string_view> kTriggerNames[] = {
    {kTriggerUp, "up"},
    {kTriggerDown, "down"},
    {kTriggerFail, "fail"},
    {kTriggerTime, "time"},
    {kTriggerFini, "fini"},
    {kTriggerReconfigured, "reconfig"},
    {kTriggerIdle, "idle"},
    {kTriggerDrained, "drained"},
    {kTriggerDraining, "draining"},
    {kTriggerResume, "resume"},
    {kTriggerPrimaryFailure, "primary_slurmctld_failure"},
    {kTriggerPrimaryResumed, "primary_slurmctld_resumed_operation"},
    {kTriggerPrimaryControl, "primary_slurmctld_resumed_control"},
    {kTriggerBackupFailure, "backup_slurmctld_failure"},
    {kTriggerBackupResumed, "backup_slurmctld_resumed_operation"},
    {kTriggerBackupControl, "backup_slurmctld_assumed_control"},
    {kTriggerBufferFull, "primary_slurmctld_acct_buffer_full"},
    {kTriggerDbdFailure, "primary_slurmdbd_failure"},
    {kTriggerDbdResumed, "primary_slurmdbd_resumed_operation"},
    {kTriggerDatabaseFailure, "primary_database_failure"},
    {kTriggerDatabaseResumed, "primary_database_resumed_operation"},
    {kTriggerBurstBuffer, "burst_buffer"},
};

// "unknown" for several at once, as Slurm has it.
[[nodiscard]] inline std::string_view trigger_event_text(TriggerEvents events) {
  for (const auto& [event, name] : kTriggerNames) {
    if (event == events) return name;
  }
  return "unknown";
}

[[nodiscard]] inline std::string_view trigger_resource_text(TriggerResource resource) {
  switch (resource) {
    case TriggerResource::kNode: return "node";
    case TriggerResource::kJob: return "job";
    case TriggerResource::kController: return "slurmctld";
    case TriggerResource::kDbd: return "slurmdbd";
    case TriggerResource::kDatabase: return "database";
    case TriggerResource::kBurstBuffer: return "other";
  }
  return "unknown";
}

}  // namespace sluice
