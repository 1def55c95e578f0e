// The tables of job, step, node and partition states.
#include "common/tables/job_states.hpp"

#include <algorithm>
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
// The strongest first. LAUNCH_FAILED never shows as the state.
constexpr FlagRow kJobFlags[] = {
    {kJobCompleting, "COMPLETING", "CG"},
    {kJobStageOut, "STAGE_OUT", "SO"},
    {kJobConfiguring, "CONFIGURING", "CF"},
    {kJobResizing, "RESIZING", "RS"},
    {kJobRequeued, "REQUEUED", "RQ"},
    {kJobRequeueHold, "REQUEUE_HOLD", "RH"},
    {kJobSpecialExit, "SPECIAL_EXIT", "SE"},
    {kJobStopped, "STOPPED", "ST"},
    {kJobRevoked, "REVOKED", "RV"},
    {kJobReservationDeletedHold, "RESV_DEL_HOLD", "RD"},
    {kJobSignaling, "SIGNALING", "SI"},
};
constexpr FlagRow kJobHiddenFlags[] = {{kJobLaunchFailed, "LAUNCH_FAILED", ""}};

const FlagRow* shown_flag(JobFlags flags) {
  for (const FlagRow& row : kJobFlags) {
    if ((flags & row.flag) != 0) return &row;
  }
  return nullptr;
}

// In the order of NodeBaseState.
constexpr StateRow kNodeStates[] = {
    {"UNKNOWN", "unk"}, {"DOWN", "down"}, {"IDLE", "idle"},   {"ALLOCATED", "alloc"},
    {"ERROR", "err"},   {"MIXED", "mix"}, {"FUTURE", "futr"},
};
constexpr FlagRow kNodeFlags[] = {
    {kNodeCloud, "CLOUD", "cloud"},
    {kNodeCompleting, "COMPLETING", "comp"},
    {kNodeDrain, "DRAIN", "drain"},
    {kNodeDynamicNorm, "DYNAMIC_NORM", ""},
    {kNodeInvalidReg, "INVALID_REG", "inval"},
    {kNodeFailing, "FAIL", "fail"},
    {kNodeMaint, "MAINTENANCE", "maint"},
    {kNodePowerDown, "POWER_DOWN", "pow_dn"},
    {kNodePoweringDown, "POWERING_DOWN", "powring_dn"},
    {kNodePoweredDown, "POWERED_DOWN", "powered_dn"},
    {kNodePowerUp, "POWER_UP", "pow_up"},
    {kNodePoweringUp, "POWERING_UP", "powering_up"},
    {kNodeRebootIssued, "REBOOT_ISSUED", "boot"},
    {kNodeRebootRequested, "REBOOT_REQUESTED", ""},
    {kNodeReserved, "RESERVED", "resv"},
    {kNodeNoRespond, "NOT_RESPONDING", "no_respond"},
    {kNodePlanned, "PLANNED", "plnd"},
};

bool in_use(NodeBaseState base, NodeFlags flags) {
  return base == NodeBaseState::kAllocated || base == NodeBaseState::kMixed ||
         (flags & kNodeCompleting) != 0;
}

// What one word says of base and flags; the suffix is worked out apart.
StateRow node_word(NodeBaseState base, NodeFlags flags) {
  const bool busy = in_use(base, flags);
  if ((flags & kNodeMaint) != 0 && !busy && (flags & kNodeDrain) == 0 &&
      base != NodeBaseState::kDown) {
    return {"MAINT", "maint"};
  }
  if ((flags & (kNodeRebootRequested | kNodeRebootIssued)) != 0 && !busy &&
      (flags & kNodeRebootIssued) != 0) {
    return {"REBOOT", "boot"};
  }
  if ((flags & kNodeDrain) != 0) {
    return busy ? StateRow{"DRAINING", "drng"} : StateRow{"DRAINED", "drain"};
  }
  if ((flags & kNodeFailing) != 0) {
    return busy ? StateRow{"FAILING", "failg"} : StateRow{"FAIL", "fail"};
  }
  if ((flags & kNodeInvalidReg) != 0) return {"INVAL", "inval"};
  if ((flags & kNodeCompleting) != 0 && base != NodeBaseState::kAllocated &&
      base != NodeBaseState::kMixed && base != NodeBaseState::kDown) {
    return {"COMPLETING", "comp"};
  }
  if (base == NodeBaseState::kIdle) {
    if ((flags & kNodeReserved) != 0) return {"RESERVED", "resv"};
    if ((flags & kNodePlanned) != 0) return {"PLANNED", "plnd"};
  }
  return kNodeStates[static_cast<size_t>(base) % std::size(kNodeStates)];
}

char node_suffix(NodeBaseState base, NodeFlags flags) {
  if ((flags & kNodeMaint) != 0 && node_word(base, flags).name != "MAINT") return '$';
  if ((flags & kNodeRebootIssued) != 0) return '^';
  if ((flags & kNodeRebootRequested) != 0) return '@';
  if ((flags & (kNodePoweringUp | kNodePowerUp)) != 0) return '#';
  if ((flags & kNodePoweringDown) != 0) return '%';
  if ((flags & kNodePoweredDown) != 0) return '~';
  if ((flags & kNodePowerDown) != 0) return '!';
  if ((flags & kNodeNoRespond) != 0) return '*';
  if ((flags & kNodePlanned) != 0 && base == NodeBaseState::kMixed) return '-';
  const bool plain_use = base == NodeBaseState::kAllocated &&
                         (flags & (kNodeDrain | kNodeFailing | kNodeMaint | kNodeReserved)) == 0;
  if (plain_use && (flags & kNodeCompleting) != 0) return '+';
  return '\0';
}

std::string with_suffix(std::string_view word, NodeBaseState base, NodeFlags flags) {
  std::string out(word);
  if (const char suffix = node_suffix(base, flags)) out += suffix;
  return out;
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
  for (const StateRow& row : kJobStates) out.append(out.empty() ? "" : ",").append(row.name);
  for (const FlagRow& row : kJobFlags) out.append(",").append(row.name);
  return out;
}

std::string_view step_state_text(StepState state) {
  constexpr std::string_view kNames[] = {"PENDING", "RUNNING", "COMPLETED", "CANCELLED",
                                         "FAILED",  "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"};
  return kNames[static_cast<size_t>(state) % std::size(kNames)];
}

std::string_view partition_state_text(PartitionState state) {
  constexpr std::string_view kNames[] = {"UP", "DOWN", "DRAIN", "INACTIVE"};
  return kNames[static_cast<size_t>(state) % std::size(kNames)];
}
std::string_view partition_state_short(PartitionState state) {
  constexpr std::string_view kNames[] = {"up", "down", "drain", "inact"};
  return kNames[static_cast<size_t>(state) % std::size(kNames)];
}

std::string node_state_long(NodeBaseState base, NodeFlags flags) {
  return with_suffix(node_word(base, flags).name, base, flags);
}
std::string node_state_short(NodeBaseState base, NodeFlags flags) {
  return with_suffix(node_word(base, flags).code, base, flags);
}

std::string node_state_complete(NodeBaseState base, NodeFlags flags) {
  std::string out(node_base_text(base));
  for (const std::string_view name : node_flag_list(flags)) out.append("+").append(name);
  return out;
}

std::vector<std::string_view> node_flag_list(NodeFlags flags) {
  std::vector<std::string_view> out;
  for (const FlagRow& row : kNodeFlags) {
    if ((flags & row.flag) != 0) out.push_back(row.name);
  }
  return out;
}

std::string_view node_base_text(NodeBaseState base) {
  return kNodeStates[static_cast<size_t>(base) % std::size(kNodeStates)].name;
}

bool NodeStateName::matches(NodeBaseState shown, NodeFlags shown_flags) const {
  const bool drain = (shown_flags & kNodeDrain) != 0;
  if (drained) return drain && !in_use(shown, shown_flags);
  if (draining) return drain && in_use(shown, shown_flags);
  if (failing) return (shown_flags & kNodeFailing) != 0 && in_use(shown, shown_flags);
  if (base && *base != shown) return false;
  // A node that is drained or fails is no candidate for "idle", but it is "down" when it is down.
  if (base && *base == NodeBaseState::kIdle && flags == 0 &&
      (shown_flags & (kNodeDrain | kNodeFailing | kNodeCompleting | kNodeMaint)) != 0) {
    return false;
  }
  return (shown_flags & flags) == flags;
}

std::optional<NodeStateName> parse_node_state(std::string_view text) {
  NodeStateName made;
  for (size_t i = 0; i < std::size(kNodeStates); ++i) {
    if (iequals(text, kNodeStates[i].name) || iequals(text, kNodeStates[i].code)) {
      made.base = static_cast<NodeBaseState>(i);
      return made;
    }
  }
  if (iequals(text, "drain")) made.flags = kNodeDrain;
  else if (iequals(text, "drained")) made.drained = true;
  else if (iequals(text, "draining") || iequals(text, "drng")) made.draining = true;
  else if (iequals(text, "failing") || iequals(text, "failg")) made.failing = true;
  else if (iequals(text, "maint")) made.flags = kNodeMaint;
  else if (iequals(text, "no_respond") || iequals(text, "nr")) made.flags = kNodeNoRespond;
  else if (iequals(text, "reboot") || iequals(text, "boot")) made.flags = kNodeRebootIssued;
  else if (iequals(text, "inval")) made.flags = kNodeInvalidReg;
  if (made.flags != 0 || made.drained || made.draining || made.failing) return made;
  for (const FlagRow& row : kNodeFlags) {
    if (iequals(text, row.name) || (!row.code.empty() && iequals(text, row.code))) {
      made.flags = row.flag;
      return made;
    }
  }
  return std::nullopt;
}

std::string node_state_names() {
  return "ALLOC,ALLOCATED,CLOUD,COMP,COMPLETING,DOWN,DRAIN,DRAINED,DRAINING,FAIL,FUTURE,FUTR,"
         "IDLE,MAINT,MIX,MIXED,NO_RESPOND,PLANNED,POWER_DOWN,POWERING_DOWN,POWERED_DOWN,POWERING_UP,"
         "REBOOT_ISSUED,REBOOT_REQUESTED,RESV,RESERVED,UNK,UNKNOWN";
}

}  // namespace sluice
