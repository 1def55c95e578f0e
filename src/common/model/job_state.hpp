// States of jobs, steps and nodes, as Slurm names them (tables/job_states.hpp has the
// texts and the order in which flags win over base states). Values are journaled: add, never
// renumber.
#pragma once

#include <cstdint>

#include "common/model/job_reason.hpp"

namespace sluice {

enum class JobState : uint8_t {
  kPending = 0,
  kRunning = 1,
  kSuspended = 2,
  kCompleted = 3,
  kCancelled = 4,
  kFailed = 5,
  kTimeout = 6,
  kNodeFail = 7,
  kPreempted = 8,
  kBootFail = 9,
  kDeadline = 10,
  kOutOfMemory = 11,
};

[[nodiscard]] constexpr bool is_terminal(JobState s) { return s >= JobState::kCompleted; }

// Flags beside the base state, a bit each.
using JobFlags = uint32_t;
inline constexpr JobFlags kJobCompleting = 1U << 0;   // ended, nodes still being cleaned
inline constexpr JobFlags kJobConfiguring = 1U << 1;  // nodes booting, or prolog running
// bits 2, 3, 8, 9, 12 and 13 are Slurm's, of states that no job here is in
inline constexpr JobFlags kJobRequeued = 1U << 4;
inline constexpr JobFlags kJobRequeueHold = 1U << 5;
inline constexpr JobFlags kJobSpecialExit = 1U << 6;
inline constexpr JobFlags kJobStopped = 1U << 7;
inline constexpr JobFlags kJobLaunchFailed = 1U << 10;
inline constexpr JobFlags kJobReservationDeletedHold = 1U << 11;

// What an operator set of a job (scontrol update): no limit of accounting on that holds the job.
using AdminSet = uint32_t;
inline constexpr AdminSet kAdminSetTime = 1U << 0;
inline constexpr AdminSet kAdminSetCpus = 1U << 1;
inline constexpr AdminSet kAdminSetMemory = 1U << 2;
inline constexpr AdminSet kAdminSetNodes = 1U << 3;
inline constexpr AdminSet kAdminSetGres = 1U << 4;
inline constexpr AdminSet kAdminSetLicenses = 1U << 5;
inline constexpr AdminSet kAdminSetQos = 1U << 6;

enum class HoldKind : uint8_t { kNone = 0, kUser = 1, kAdmin = 2 };

enum class NodeBaseState : uint8_t {
  kUnknown = 0,
  kDown = 1,
  kIdle = 2,
  kAllocated = 3,
  kError = 4,
  kMixed = 5,
  kFuture = 6,
};

// IDLE, ALLOCATED and MIXED follow from what runs on the node; only DOWN, UNKNOWN and FUTURE are
// set.
using NodeFlags = uint32_t;
inline constexpr NodeFlags kNodeDrain = 1U << 0;
inline constexpr NodeFlags kNodeCompleting = 1U << 1;  // derived: a job's end is being cleaned up
inline constexpr NodeFlags kNodeNoRespond = 1U << 2;   // shown as *
inline constexpr NodeFlags kNodeMaint = 1U << 3;
inline constexpr NodeFlags kNodeReserved = 1U << 4;
inline constexpr NodeFlags kNodePlanned = 1U << 5;  // soft: wanted by backfill
inline constexpr NodeFlags kNodeFailing = 1U << 6;  // FAIL, set by an administrator
inline constexpr NodeFlags kNodeRebootRequested = 1U << 7;
inline constexpr NodeFlags kNodeRebootIssued = 1U << 8;
inline constexpr NodeFlags kNodeInvalidReg = 1U << 9;
inline constexpr NodeFlags kNodeCloud = 1U << 10;
inline constexpr NodeFlags kNodePowerDown = 1U << 11;
inline constexpr NodeFlags kNodePoweringDown = 1U << 12;
inline constexpr NodeFlags kNodePoweredDown = 1U << 13;
inline constexpr NodeFlags kNodePowerUp = 1U << 14;
inline constexpr NodeFlags kNodePoweringUp = 1U << 15;
inline constexpr NodeFlags kNodeDynamicNorm = 1U << 16;
inline constexpr NodeFlags kNodeDynamicFuture = 1U << 17;
inline constexpr NodeFlags kNodePowerDrain = 1U << 18;
inline constexpr NodeFlags kNodeBlocked = 1U << 19;
inline constexpr NodeFlags kNodeExternal = 1U << 20;

enum class StepState : uint8_t {
  kPending = 0,
  kRunning = 1,
  kCompleted = 2,
  kCancelled = 3,
  kFailed = 4,
  kTimeout = 5,
  kNodeFail = 6,
  kOutOfMemory = 7,
};

}  // namespace sluice
