// One row per error code.
#include "common/names/errors.hpp"

#include <iterator>

namespace sluice {
namespace {

struct Row {
  ErrorCode code;
  std::string_view sentence;
};

// In the order of the codes, so that a code is its row's index.
constexpr Row kRows[] = {
    {ErrorCode::kOk, "No error"},
    {ErrorCode::kError, "Unspecified error"},
    {ErrorCode::kInvalidJobId, "Invalid job id specified"},
    {ErrorCode::kAccessDenied, "Access/permission denied"},
    {ErrorCode::kInvalidPartition, "Invalid partition name specified"},
    {ErrorCode::kInvalidNodeName, "Invalid node name specified"},
    {ErrorCode::kNodesNotAvailable, "Requested node configuration is not available"},
    {ErrorCode::kNodesBusy, "Requested nodes are busy"},
    {ErrorCode::kInvalidTimeLimit,
     "Requested time limit is invalid (missing or exceeds some limit)"},
    {ErrorCode::kInvalidFeature, "Invalid feature specification"},
    {ErrorCode::kInvalidAccount, "Invalid account or account/partition combination specified"},
    {ErrorCode::kInvalidQos, "Invalid qos specification"},
    {ErrorCode::kAlreadyDone, "Job/step already completing or completed"},
    {ErrorCode::kJobPending, "Job is pending execution"},
    {ErrorCode::kJobNotPending, "Job is no longer pending execution"},
    {ErrorCode::kJobNotRunning, "Job is not running"},
    {ErrorCode::kInvalidStepId, "Invalid job step id"},
    {ErrorCode::kDisabled, "Requested operation is presently disabled"},
    {ErrorCode::kPathMissing, "No such file or directory"},
    {ErrorCode::kInvalidArray, "Invalid job array specification"},
    {ErrorCode::kInvalidDependency, "Job dependency problem"},
    {ErrorCode::kTooManyJobs, "Resource temporarily unavailable"},
    {ErrorCode::kInvalidTaskCount, "Task count specification invalid"},
    {ErrorCode::kInvalidCpuCount, "More processors requested than permitted"},
    {ErrorCode::kInvalidMemory, "Memory specification can not be satisfied"},
    {ErrorCode::kInvalidReservation, "Requested reservation is invalid"},
    {ErrorCode::kInvalidGres, "Invalid generic resource (gres) specification"},
    {ErrorCode::kInvalidLicense, "Invalid license specification"},
    {ErrorCode::kPartitionNotAvailable, "Required partition not available (inactive or drain)"},
    {ErrorCode::kAuthentication, "Protocol authentication error"},
    {ErrorCode::kUnreachable, "Unable to contact slurm controller (connect failure)"},
    {ErrorCode::kTimedOut, "Socket timed out on send/recv operation"},
    {ErrorCode::kInvalidConfig, "Invalid configuration"},
    {ErrorCode::kStorageFull, "No space left on device"},
    {ErrorCode::kRetry, "Resource temporarily unavailable"},
    {ErrorCode::kInvalidSignal, "Invalid argument"},
    {ErrorCode::kStepsBusy, "Requested nodes are busy"},
    {ErrorCode::kBadRequest, "Unexpected message received"},
    {ErrorCode::kNotSupported, "Requested operation not supported on this system"},
    {ErrorCode::kInvalidState, "Invalid node state specified"},
    {ErrorCode::kDuplicateName, "Name already in use"},
    {ErrorCode::kPartitionInUse, "Partition is in use"},
    {ErrorCode::kRequeueDisabled, "Requested operation is presently disabled"},
    {ErrorCode::kTooManyNodes, "Node count specification invalid"},
    {ErrorCode::kMaxSubmitLimit,
     "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"},
    {ErrorCode::kInvalidUpdate, "Update of this parameter is not supported"},
    {ErrorCode::kNotFound, "No such file or directory"},
    {ErrorCode::kInvalidCredential, "Invalid job credential"},
    {ErrorCode::kWrongCluster, "Incompatible cluster"},
    {ErrorCode::kPartitionAccess, "User's group not permitted to use this partition"},
    {ErrorCode::kConnectionLost, "Zero Bytes were transmitted or received"},
    {ErrorCode::kInvalidUser, "Invalid user id"},
    {ErrorCode::kTaskMemory, "Memory required by task is not available"},
    {ErrorCode::kPartitionNotNow, "Requested partition configuration not available now"},
    {ErrorCode::kJobFinished, "Job has already finished"},
    {ErrorCode::kTooManyCpus, "More processors requested than permitted"},
    {ErrorCode::kBatchOnly, "Only batch jobs are accepted or processed"},
    {ErrorCode::kInvalidTimeMin,
     "Invalid time-min specification (exceeds job's time or other limits)"},
    {ErrorCode::kJobHeld, "Job is in held state, pending scheduler release"},
    {ErrorCode::kInvalidNice, "Invalid --nice value"},
    {ErrorCode::kFeaturesNotSubset, "Active features not subset of available features"},
    {ErrorCode::kGresInsufficient, "Insufficient GRES available in allocation"},
    {ErrorCode::kGresTypes, "Invalid GRES specification (with and without type identification)"},
    {ErrorCode::kInvalidTres, "Invalid Trackable RESource (TRES) specification"},
    {ErrorCode::kHetComponent,
     "Operation not permitted on individual component of heterogeneous job"},
    {ErrorCode::kNotHetLeader, "Job not heterogeneous job leader"},
    {ErrorCode::kReservationAccess, "Access denied to requested reservation"},
    {ErrorCode::kReservationInUse, "Requested reservation is in use"},
    {ErrorCode::kReservationOverlap, "Requested reservation overlaps with another reservation"},
    {ErrorCode::kReservationForNobody, "Reservation request lacks users, groups or accounts"},
    {ErrorCode::kReservationNotSkipable, "Reservation given is not skipable, try deleting instead"},
    {ErrorCode::kReservationStarted, "Reservation already started"},
    {ErrorCode::kInvalidTime, "Invalid time specified"},
    {ErrorCode::kDuplicateReservation, "Duplicate reservation name"},
    {ErrorCode::kDamaged, "Stored data is damaged"},
    {ErrorCode::kMissingTimeLimit, "Time limit specification required, but not provided"},
    {ErrorCode::kReservationForBoth,
     "Reservations can't have users and groups specified, only one or the other"},
    {ErrorCode::kInvalidGroup, "Invalid group id"},
    {ErrorCode::kIncompatibleVersion, "Incompatible versions of client and server code"},
};
constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].code) != i) return false;
  }
  return std::size(kRows) == static_cast<size_t>(ErrorCode::kLastCode);
}
static_assert(in_order(), "a row for each code, in the order of the values");

}  // namespace

std::string_view error_sentence(ErrorCode code) {
  const auto index = static_cast<size_t>(code);
  return index < std::size(kRows) ? kRows[index].sentence : kRows[1].sentence;
}

ErrorCode error_code_of(std::string_view sentence) {
  for (const Row& row : kRows) {
    if (row.sentence == sentence && row.code != ErrorCode::kOk) return row.code;
  }
  return ErrorCode::kError;
}

std::string error_text(const Error& error) {
  return error.text.empty() ? std::string(error_sentence(error.code)) : error.text;
}

}  // namespace sluice
