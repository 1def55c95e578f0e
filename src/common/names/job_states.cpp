// The tables of job, step and partition states.
#include "common/names/job_states.hpp"

#include <iterator>

#include "common/base/text.hpp"

namespace sluice {
namespace {

struct StateRow {
  std::string_view name;
  std::string_view code;
};
// In the order of JobState.
constexpr StateRow kJobStates[] = {
    {"PENDING", "PD"},   {"RUNNING", "R"},    {"SUSPENDED", "S"}, {"COMPLETED", "CD"},
    {"CANCELLED", "CA"}, {"FAILED", "F"},     {"TIMEOUT", "TO"},  {"NODE_FAIL", "NF"},
    {"PREEMPTED", "PR"}, {"BOOT_FAIL", "BF"}, {"DEADLINE", "DL"}, {"OUT_OF_MEMORY", "OOM"},
};
static_assert(std::size(kJobStates) == static_cast<size_t>(JobState::kOutOfMemory) + 1);

struct FlagRow {
  uint32_t flag;
  std::string_view name;
  std::string_view code;
};
// The strongest first. LAUNCH_FAILED never shows as the state. Bits without a name of ours are
// Slurm's, of states that no job here is in: users may ask for them.
constexpr FlagRow kJobFlags[] = {
    {kJobCompleting, "COMPLETING", "CG"},
    {1U << 2, "STAGE_OUT", "SO"},
    {kJobConfiguring, "CONFIGURING", "CF"},
    {1U << 13, "EXPEDITING", "EXPEDITING"},
    {1U << 3, "RESIZING", "RS"},
    {kJobRequeued, "REQUEUED", "RQ"},
    {1U << 12, "REQUEUE_FED", "RF"},
    {kJobRequeueHold, "REQUEUE_HOLD", "RH"},
    {kJobSpecialExit, "SPECIAL_EXIT", "SE"},
    {kJobStopped, "STOPPED", "ST"},
    {1U << 8, "REVOKED", "RV"},
    {kJobReservationDeletedHold, "RESV_DEL_HOLD", "RD"},
    {1U << 9, "SIGNALING", "SI"},
};
constexpr FlagRow kJobHiddenFlags[] = {{kJobLaunchFailed, "LAUNCH_FAILED", ""}};

const FlagRow* shown_flag(JobFlags flags) {
  for (const FlagRow& row : kJobFlags) {
    if ((flags & row.flag) != 0) return &row;
  }
  return nullptr;
}

}  // namespace

std::string_view job_state_text(JobState state, JobFlags flags) {
  if (const FlagRow* row = shown_flag(flags)) return row->name;
  return kJobStates[static_cast<size_t>(state) % std::size(kJobStates)].name;
}

std::string_view job_state_short(JobState state, JobFlags flags) {
  if (const FlagRow* row = shown_flag(flags)) return row->code;
  return kJobStates[static_cast<size_t>(state) % std::size(kJobStates)].code;
}

std::vector<std::string_view> job_state_list(JobState state, JobFlags flags) {
  std::vector<std::string_view> out{job_state_text(state)};
  for (const FlagRow& row : kJobFlags) {
    if ((flags & row.flag) != 0) out.push_back(row.name);
  }
  for (const FlagRow& row : kJobHiddenFlags) {
    if ((flags & row.flag) != 0) out.push_back(row.name);
  }
  return out;
}

std::optional<JobStateName> parse_job_state(std::string_view text) {
  for (size_t i = 0; i < std::size(kJobStates); ++i) {
    if (iequals(text, kJobStates[i].name) || iequals(text, kJobStates[i].code)) {
      return JobStateName{static_cast<JobState>(i), 0};
    }
  }
  for (const FlagRow& row : kJobFlags) {
    if (iequals(text, row.name) || iequals(text, row.code)) {
      return JobStateName{std::nullopt, row.flag};
    }
  }
  for (const FlagRow& row : kJobHiddenFlags) {
    if (iequals(text, row.name)) return JobStateName{std::nullopt, row.flag};
  }
  return std::nullopt;
}

std::string job_state_names() {
  std::string out;
  for (const StateRow& row : kJobStates) out.append(row.name).append(",");
  return out +
         "COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,"
         "SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED";
}

std::string_view step_state_text(StepState state) {
  constexpr std::string_view kNames[] = {"PENDING", "RUNNING", "COMPLETED", "CANCELLED",
                                         "FAILED",  "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"};
  return kNames[static_cast<size_t>(state) % std::size(kNames)];
}

// In the order of PartitionState.
constexpr StateRow kPartitionStates[] = {
    {"UP", "up"}, {"DOWN", "down"}, {"DRAIN", "drain"}, {"INACTIVE", "inact"}};

std::string_view partition_state_text(PartitionState state) {
  return kPartitionStates[static_cast<size_t>(state) % std::size(kPartitionStates)].name;
}
std::string_view partition_state_short(PartitionState state) {
  return kPartitionStates[static_cast<size_t>(state) % std::size(kPartitionStates)].code;
}
std::optional<PartitionState> parse_partition_state(std::string_view text) {
  for (size_t i = 0; i < std::size(kPartitionStates); ++i) {
    if (iequals(text, kPartitionStates[i].name) || iequals(text, kPartitionStates[i].code)) {
      return static_cast<PartitionState>(i);
    }
  }
  return std::nullopt;
}

}  // namespace sluice
