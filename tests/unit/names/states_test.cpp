// States, reasons and error sentences against the inventory of Slurm's names (tests/data).
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "common/names/job_states.hpp"
#include "common/names/node_events.hpp"
#include "common/format/job_values.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice {
namespace {

struct Row {
  std::string compact, name, kind;
};

std::multimap<std::string, Row> inventory() {
  std::multimap<std::string, Row> rows;
  std::ifstream file("tests/data/job-states-reasons.tsv");
  for (std::string line; std::getline(file, line);) {
    const auto cells = split(line, '\t');
    if (cells.size() >= 4) rows.insert({cells[0], {cells[1], cells[2], cells[3]}});
  }
  return rows;
}

// What its last run ended with is not why a job waits that is to run again.
TEST(JobReasons, AJobThatIsToRunAgainIsBeingCleaned) {
  protocol::JobRecord record;
  record.job.spec = std::make_shared<JobSpec>();
  record.job.state = JobState::kNodeFail;
  record.job.reason = JobReason::kNodeDown;
  record.job.state_description = "n1 is gone";
  record.job.flags = kJobCompleting | kJobRequeued;
  EXPECT_EQ(reason_with_detail({&record, kNoTask, {}}), "Cleaning");
  record.job.flags = kJobCompleting;
  EXPECT_EQ(effective_reason({&record, kNoTask, {}}), JobReason::kNodeDown);
  EXPECT_EQ(reason_with_detail({&record, kNoTask, {}}), "n1 is gone");
}

TEST(JobStates, HaveTheInventorysNames) {
  const auto rows = inventory();
  ASSERT_GT(rows.count("job state"), 20U);
  const std::set<std::string> internal = {"GETENV_FAILED", "RECONFIG_FAIL", "POWER_UP_NODE",
                                          "UPDATE_DB"};
  for (auto [at, end] = rows.equal_range("job state"); at != end; ++at) {
    const Row& row = at->second;
    if (internal.contains(row.name)) continue;
    const auto by_name = parse_job_state(to_lower(row.name));
    ASSERT_TRUE(by_name) << row.name;
    EXPECT_EQ(by_name->state.has_value(), row.kind.starts_with("base")) << row.name;
    if (row.compact == "-") continue;
    const auto by_code = parse_job_state(row.compact);
    ASSERT_TRUE(by_code) << row.compact;
    EXPECT_EQ(by_code->state, by_name->state) << row.name;
    EXPECT_EQ(by_code->flag, by_name->flag) << row.name;
    EXPECT_EQ(job_state_short(by_name->state.value_or(JobState::kRunning), by_name->flag),
              row.compact);
  }
  EXPECT_FALSE(parse_job_state("foo"));
}

TEST(JobStates, FlagsWinInTheInventorysOrder) {
  const auto rows = inventory();
  JobFlags left = ~JobFlags{0};
  for (const std::string& name : split(rows.find("job state order")->second.name, '>')) {
    if (name == "base") break;
    EXPECT_EQ(job_state_text(JobState::kRunning, left), name);
    left &= ~parse_job_state(name)->flag;
  }
  EXPECT_EQ(job_state_text(JobState::kRunning, kJobLaunchFailed), "RUNNING");
  EXPECT_EQ(job_state_list(JobState::kCancelled, kJobCompleting),
            (std::vector<std::string_view>{"CANCELLED", "COMPLETING"}));
  EXPECT_EQ(step_state_text(StepState::kOutOfMemory), "OUT_OF_MEMORY");
}

TEST(JobReasons, AreAllThere) {
  const auto rows = inventory();
  int found = 0;
  for (auto [at, end] = rows.equal_range("reason"); at != end; ++at) {
    const Row& row = at->second;
    if (row.name.starts_with('(') || row.kind.starts_with("documented")) continue;  // free texts
    const auto reason = parse_reason(row.name);
    ASSERT_TRUE(reason) << row.name;
    EXPECT_EQ(reason_text(*reason), row.name);
    ++found;
  }
  EXPECT_EQ(found, static_cast<int>(JobReason::kPowerReserved) + 1);
  EXPECT_EQ(reason_text(JobReason::kReqNodeNotAvail), "ReqNodeNotAvail");
  EXPECT_EQ(reason_text(JobReason::kMpiPortsBusy), "MpiPortsBusy");
}

TEST(PartitionStates, HaveTheInventorysNames) {
  const auto rows = inventory();
  for (auto [at, end] = rows.equal_range("partition state"); at != end; ++at) {
    const auto state = parse_partition_state(at->second.name);
    ASSERT_TRUE(state) << at->second.name;
    EXPECT_EQ(partition_state_text(*state), at->second.name);
    EXPECT_EQ(partition_state_short(*state), at->second.compact);
  }
  EXPECT_FALSE(parse_partition_state("foo"));
}

// What Slurm's scontrol and sinfo printed for nodes brought into these states.
TEST(NodeStates, AreShownAsSlurmDoes) {
  using enum NodeBaseState;
  struct Case {
    NodeBaseState base;
    NodeFlags flags;
    const char* complete;
    const char* long_form;
    const char* compact;
  };
  const Case cases[] = {
      {kIdle, 0, "IDLE", "idle", "idle"},
      {kMixed, kNodeDrain, "MIXED+DRAIN", "draining", "drng"},
      {kMixed, kNodeFailing | kNodeNoRespond, "MIXED+FAIL+NOT_RESPONDING", "fail*", "fail*"},
      {kMixed, kNodeNoRespond, "MIXED+NOT_RESPONDING", "mixed*", "mix*"},
      {kDown, kNodeNoRespond, "DOWN+NOT_RESPONDING", "down*", "down*"},
      {kDown, kNodeDrain | kNodeNoRespond, "DOWN+DRAIN+NOT_RESPONDING", "drained*", "drain*"},
      {kIdle, kNodeDrain, "IDLE+DRAIN", "drained", "drain"},
      {kIdle, kNodeRebootRequested | kNodeNoRespond, "IDLE+REBOOT_REQUESTED+NOT_RESPONDING",
       "reboot*", "boot*"},
      {kIdle, kNodeDrain | kNodeRebootRequested | kNodeNoRespond,
       "IDLE+DRAIN+REBOOT_REQUESTED+NOT_RESPONDING", "reboot*", "boot*"},
      {kIdle, kNodeFailing | kNodeRebootRequested, "IDLE+FAIL+REBOOT_REQUESTED", "reboot", "boot"},
      {kIdle, kNodeFailing | kNodeMaint | kNodeReserved, "IDLE+FAIL+MAINTENANCE+RESERVED", "maint",
       "maint"},
      {kIdle, kNodeMaint | kNodeReserved, "IDLE+MAINTENANCE+RESERVED", "maint", "maint"},
      {kAllocated, 0, "ALLOCATED", "allocated", "alloc"},
      {kAllocated, kNodeCompleting, "ALLOCATED+COMPLETING", "allocated+", "alloc+"},
      {kIdle, kNodeCompleting, "IDLE+COMPLETING", "completing", "comp"},
      {kIdle, kNodePlanned, "IDLE+PLANNED", "planned", "plnd"},
      {kMixed, kNodePlanned, "MIXED+PLANNED", "mixed-", "mix-"},
      {kIdle, kNodeReserved, "IDLE+RESERVED", "reserved", "resv"},
      {kIdle, kNodePoweredDown | kNodeCloud, "IDLE+CLOUD+POWERED_DOWN", "idle~", "idle~"},
      {kIdle, kNodePowerUp | kNodePoweredDown, "IDLE+POWER_UP+POWERED_DOWN", "idle~", "idle~"},
      {kMixed, kNodePowerDown, "MIXED+POWER_DOWN", "mixed!", "mix!"},
      {kMixed, kNodeDrain | kNodePowerDown, "MIXED+DRAIN+POWER_DOWN", "draining!", "drng!"},
      {kIdle, kNodePoweringDown, "IDLE+POWERING_DOWN", "idle%", "idle%"},
      {kMixed, kNodeNoRespond | kNodePoweringUp, "MIXED+NOT_RESPONDING+POWERING_UP", "mixed#",
       "mix#"},
      {kDown, kNodePoweredDown | kNodeNoRespond, "DOWN+POWERED_DOWN+NOT_RESPONDING", "down~",
       "down~"},
      {kMixed, kNodeRebootRequested, "MIXED+REBOOT_REQUESTED", "mixed@", "mix@"},
      {kDown, kNodeRebootIssued, "DOWN+REBOOT_ISSUED", "reboot^", "boot^"},
      {kUnknown, kNodeNoRespond, "UNKNOWN+NOT_RESPONDING", "unknown*", "unk*"},
      {kIdle, kNodeInvalidReg, "IDLE+INVALID_REG", "inval", "inval"},
      {kIdle, kNodeDrain | kNodeInvalidReg, "IDLE+DRAIN+INVALID_REG", "inval", "inval"},
      {kAllocated, kNodeDrain | kNodeInvalidReg, "ALLOCATED+DRAIN+INVALID_REG", "inval", "inval"},
      {kDown, kNodeDrain | kNodeInvalidReg, "DOWN+DRAIN+INVALID_REG", "inval", "inval"}};
  for (const Case& one : cases) {
    EXPECT_EQ(node_state_complete(one.base, one.flags), one.complete);
    EXPECT_EQ(to_lower(node_state_long(one.base, one.flags)), one.long_form) << one.complete;
    EXPECT_EQ(node_state_short(one.base, one.flags), one.compact) << one.complete;
  }
}

TEST(NodeStates, Filters) {
  using enum NodeBaseState;
  EXPECT_TRUE(parse_node_state("alloc")->matches(kAllocated, 0));
  EXPECT_TRUE(parse_node_state("IDLE")->matches(kIdle, kNodeDrain));  // as sinfo -t idle does
  EXPECT_TRUE(parse_node_state("down")->matches(kDown, kNodeDrain));
  EXPECT_TRUE(parse_node_state("drained")->matches(kIdle, kNodeDrain));
  EXPECT_FALSE(parse_node_state("drained")->matches(kMixed, kNodeDrain));
  EXPECT_TRUE(parse_node_state("drng")->matches(kMixed, kNodeDrain));
  EXPECT_TRUE(parse_node_state("boot")->matches(kIdle, kNodeRebootRequested));
  EXPECT_FALSE(parse_node_state("foo"));
}

TEST(NodeStates, TakeTheInventorysWords) {
  const auto rows = inventory();
  for (auto [at, end] = rows.equal_range("node state"); at != end; ++at) {
    const Row& row = at->second;
    if (row.name == "PERFCTRS") continue;  // gone from newer Slurm
    if (row.kind == "update only") {
      EXPECT_TRUE(parse_node_action(row.name)) << row.name;
    } else {
      EXPECT_TRUE(parse_node_state(row.name)) << row.name;
      EXPECT_TRUE(row.compact == "-" || parse_node_state(row.compact)) << row.compact;
    }
  }
  EXPECT_EQ(parse_node_action("resume"), NodeAction::kResume);
  EXPECT_EQ(parse_node_action("DRAI"), NodeAction::kDrain);
  EXPECT_EQ(parse_node_action("power_down"), NodeAction::kPowerDown);
  EXPECT_FALSE(parse_node_action("xyz"));
}

TEST(Errors, SayWhatSlurmSays) {
  EXPECT_EQ(error_text({ErrorCode::kInvalidPartition, ""}), "Invalid partition name specified");
  EXPECT_EQ(error_text({ErrorCode::kError, "my own"}), "my own");
  EXPECT_EQ(error_sentence(ErrorCode::kTaskMemory), "Memory required by task is not available");
}

// A node whose registration is invalid was shown as "IDLE++".
TEST(NodeStates, OfEventsAreOneWord) {
  EXPECT_EQ(node_event_state("IDLE+DRAIN+INVALID_REG"), "INVAL");
  EXPECT_EQ(node_event_state("IDLE+DRAIN"), "DRAIN");
  EXPECT_EQ(node_event_state("MIXED+DRAIN"), "DRNG");
  EXPECT_EQ(node_event_state("DOWN"), "DOWN");
  EXPECT_EQ(node_event_state("something+DRAIN"), "something+DRAIN");
  EXPECT_EQ(node_event_state(""), "");
}

}  // namespace
}  // namespace sluice
