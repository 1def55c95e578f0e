// The error numbers that travel in replies. Values are stable: add, never renumber.
#pragma once

#include <cstdint>

namespace sluice {

enum class ErrorCode : uint32_t {
  kOk = 0,
  kError = 1,                   // anything without a number of its own; the text says what
  kInvalidJobId = 2,            // Invalid job id specified
  kAccessDenied = 3,            // Access/permission denied
  kInvalidPartition = 4,        // Invalid partition name specified
  kInvalidNodeName = 5,         // Invalid node name specified
  kNodesNotAvailable = 6,       // Requested node configuration is not available
  kNodesBusy = 7,               // Requested nodes are busy
  kInvalidTimeLimit = 8,        // Requested time limit is invalid (missing or exceeds some limit)
  kInvalidFeature = 9,          // Invalid feature specification
  kInvalidAccount = 10,         // Invalid account or account/partition combination specified
  kInvalidQos = 11,             // Invalid qos specification
  kAlreadyDone = 12,            // Job/step already completing or completed
  kJobPending = 13,             // Job is pending execution
  kJobNotPending = 14,          // Job is no longer pending execution
  kJobNotRunning = 15,          // the job has no allocation
  kInvalidStepId = 16,          // Invalid job step id
  kDisabled = 17,               // Requested operation is presently disabled
  kPathMissing = 18,            // Invalid directory or file
  kInvalidArray = 19,           // Invalid job array specification
  kInvalidDependency = 20,      // Job dependency problem
  kTooManyJobs = 21,            // Job count limit (MaxJobCount) reached
  kInvalidTaskCount = 22,       // Task count specification invalid
  kInvalidCpuCount = 23,        // More processors requested than permitted
  kInvalidMemory = 24,          // Memory specification can not be satisfied
  kInvalidReservation = 25,     // Requested reservation is invalid
  kInvalidGres = 26,            // Invalid generic resource (gres) specification
  kInvalidLicense = 27,         // Invalid license specification
  kPartitionNotAvailable = 28,  // Required partition not available (inactive or drain)
  kAuthentication = 29,         // Protocol authentication error
  kUnreachable = 30,            // Unable to contact slurm controller (connect failure)
  kTimedOut = 31,               // Socket timed out on send/recv operation
  kInvalidConfig = 32,       // a configuration that cannot be used; the text has file, line and key
  kStorageFull = 33,         // the journal cannot be written; nothing was accepted
  kRetry = 34,               // not now, ask again (starting up, or a hand-over is going on)
  kInvalidSignal = 35,       // Invalid job signal
  kStepsBusy = 36,           // Step creation temporarily disabled, retrying
  kBadRequest = 37,          // a message that cannot be decoded or makes no sense
  kNotSupported = 38,        // the feature is known and not there
  kInvalidState = 39,        // Invalid node or partition state specified
  kDuplicateName = 40,       // the name is in use already
  kPartitionInUse = 41,      // Partition is in use
  kRequeueDisabled = 42,     // Requested operation is presently disabled (requeue)
  kTooManyNodes = 43,        // Node count specification invalid
  kMaxSubmitLimit = 44,      // Job violates accounting/QOS policy (…)
  kInvalidUpdate = 45,       // Update of this parameter is not supported: …
  kNotFound = 46,            // what was named is not there
  kInvalidCredential = 47,   // Invalid job credential
  kWrongCluster = 48,        // the peer belongs to another cluster
  kPartitionAccess = 49,     // User's group not permitted to use this partition
  kConnectionLost = 50,      // the connection broke before the reply; it may or may not be done
  kInvalidUser = 51,         // Invalid user id
  kTaskMemory = 52,          // Memory required by task is not available
  kPartitionNotNow = 53,     // Requested partition configuration not available now
  kJobFinished = 54,         // Job has already finished
  kTooManyCpus = 55,         // More processors requested than permitted
  kBatchOnly = 56,           // Only batch jobs are accepted or processed
  kInvalidTimeMin = 57,      // Invalid time-min specification
  kJobHeld = 58,             // Job is in held state, pending scheduler release
  kInvalidNice = 59,         // Invalid --nice value
  kFeaturesNotSubset = 60,   // Active features not subset of available features
  kGresInsufficient = 61,    // Insufficient GRES available in allocation
  kGresTypes = 62,           // Invalid GRES specification (with and without type identification)
  kInvalidTres = 63,         // Invalid Trackable RESource (TRES) specification
  kHetComponent = 64,        // Operation not permitted on individual component of heterogeneous job
  kNotHetLeader = 65,        // Job not heterogeneous job leader
  kReservationAccess = 66,   // Access denied to requested reservation
  kReservationInUse = 67,    // Requested reservation is in use
  kReservationOverlap = 68,  // Requested reservation overlaps with another reservation
  kReservationForNobody = 69,    // Reservation request lacks users, groups or accounts
  kReservationNotSkipable = 70,  // Reservation given is not skipable, try deleting instead
  kReservationStarted = 71,      // Reservation already started
  kInvalidTime = 72,             // Invalid time specified
  kDuplicateReservation = 73,    // Duplicate reservation name
  kDamaged = 74,                 // what was stored cannot be read; the text says where and why
  kMissingTimeLimit = 75,        // Time limit specification required, but not provided
  // Reservations can't have users and groups specified, only one or the other
  kReservationForBoth = 76,
  kInvalidGroup = 77,         // Invalid group id
  kIncompatibleVersion = 78,  // Incompatible versions of client and server code
  kLastCode = 79,
};

}  // namespace sluice
