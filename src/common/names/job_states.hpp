// The names of states and reasons as the commands show and take them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/job_reason.hpp"
#include "common/model/job_state.hpp"
#include "common/model/partition_config.hpp"

namespace sluice {

// A job's state with its flags: the strongest flag wins ("COMPLETING", "CG"), else the base state.
[[nodiscard]] std::string_view job_state_text(JobState state, JobFlags flags = 0);
[[nodiscard]] std::string_view job_state_short(JobState state, JobFlags flags = 0);
// Every state and flag that holds, as --json lists them: "RUNNING", "COMPLETING".
[[nodiscard]] std::vector<std::string_view> job_state_list(JobState state, JobFlags flags);

// What `squeue -t` names: a base state, or a flag. Short or long, in any case.
struct JobStateName {
  std::optional<JobState> state;
  JobFlags flag = 0;
};
[[nodiscard]] std::optional<JobStateName> parse_job_state(std::string_view text);
// The long names, separated by commas, for messages and help.
[[nodiscard]] std::string job_state_names();

[[nodiscard]] std::string_view reason_text(JobReason reason);  // "JobHeldUser"
[[nodiscard]] std::optional<JobReason> parse_reason(std::string_view text);

[[nodiscard]] std::string_view step_state_text(StepState state);

[[nodiscard]] std::string_view partition_state_text(PartitionState state);   // "UP"
[[nodiscard]] std::string_view partition_state_short(PartitionState state);  // "inact"
[[nodiscard]] std::optional<PartitionState> parse_partition_state(std::string_view text);

// sinfo's one word and at most one suffix, of the state to show. A node that is allocated and of
// which some jobs are completing has a "+".
[[nodiscard]] std::string node_state_long(NodeBaseState base, NodeFlags flags);   // "DRAINING*"
[[nodiscard]] std::string node_state_short(NodeBaseState base, NodeFlags flags);  // "drng*"
// scontrol's: the base state and every flag, joined by "+": "IDLE+DRAIN+NOT_RESPONDING".
[[nodiscard]] std::string node_state_complete(NodeBaseState base, NodeFlags flags);
[[nodiscard]] std::vector<std::string_view> node_flag_list(NodeFlags flags);
[[nodiscard]] std::string_view node_base_text(NodeBaseState base);  // "IDLE"

// What `sinfo -t` names; matches() says whether a node is in it.
struct NodeStateName {
  std::optional<NodeBaseState> base;
  NodeFlags flags = 0;     // all of these
  bool drained = false;    // DRAIN on an idle (or down) node
  bool draining = false;   // DRAIN on a node in use
  bool failing = false;    // FAIL on a node in use
  bool rebooting = false;  // a reboot is wanted or under way
  [[nodiscard]] bool matches(NodeBaseState shown, NodeFlags shown_flags) const;
};
[[nodiscard]] std::optional<NodeStateName> parse_node_state(std::string_view text);
[[nodiscard]] std::string node_state_names();

// The words of `scontrol update NodeName=… State=…`; unambiguous beginnings of three letters will
// do.
enum class NodeAction {
  kCancelReboot,
  kDown,
  kDrain,
  kFail,
  kFuture,
  kIdle,
  kNoRespond,
  kNotByHand,  // what a node is by itself
  kPowerDown,
  kPowerDownAsap,
  kPowerDownForce,
  kPowerUp,
  kResume,
  kUndrain,
};
[[nodiscard]] std::optional<NodeAction> parse_node_action(std::string_view text);

}  // namespace sluice
