// The tables of job, step and partition states.
#include "common/names/job_states.hpp"

#include <iterator>

#include "common/names/state_tables.hpp"

namespace sluice {
namespace {

// In the order of JobState.
constexpr StateRow kJobStates[] = {
    {"PENDING", "PD"},   {"RUNNING", "R"},    {"SUSPENDED", "S"}, {"COMPLETED", "CD"},
    {"CANCELLED", "CA"}, {"FAILED", "F"},     {"TIMEOUT", "TO"},  {"NODE_FAIL", "NF"},
    {"PREEMPTED", "PR"}, {"BOOT_FAIL", "BF"}, {"DEADLINE", "DL"}, {"OUT_OF_MEMORY", "OOM"},
};
static_assert(std::size(kJobStates) == static_cast<size_t>(JobState::kOutOfMemory) + 1);

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
  return row_of(kJobStates, state).name;
}

std::string_view job_state_short(JobState state, JobFlags flags) {
  if (const FlagRow* row = shown_flag(flags)) return row->code;
  return row_of(kJobStates, state).code;
}

std::vector<std::string_view> job_state_list(JobState state, JobFlags flags) {
  std::vector<std::string_view> out{job_state_text(state)};
  append_flags(kJobFlags, flags, out);
  append_flags(kJobHiddenFlags, flags, out);
  return out;
}

std::optional<JobStateName> parse_job_state(std::string_view text) {
  if (const auto state = find_state<JobState>(kJobStates, text)) return JobStateName{*state, 0};
  const FlagRow* flag = find_flag(kJobFlags, text);
  if (flag == nullptr) flag = find_flag(kJobHiddenFlags, text);
  if (flag == nullptr) return std::nullopt;
  return JobStateName{std::nullopt, flag->flag};
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
  return row_of(kPartitionStates, state).name;
}
std::string_view partition_state_short(PartitionState state) {
  return row_of(kPartitionStates, state).code;
}
std::optional<PartitionState> parse_partition_state(std::string_view text) {
  return find_state<PartitionState>(kPartitionStates, text);
}

}  // namespace sluice
