// Events of steps and of nodes. A part of events.hpp, and of the journal's format in the same way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/base/bitmap.hpp"
#include "common/base/ids.hpp"
#include "common/base/shared_text.hpp"
#include "common/base/time.hpp"
#include "common/model/node.hpp"
#include "common/model/node_config.hpp"
#include "common/model/step.hpp"
#include "common/protocol/node_reports.hpp"

namespace sluice::state {

// --- steps ---------------------------------------------------------------------------------------

struct StepCreated {
  static constexpr uint32_t kTag = 20;
  static constexpr const char* kName = "StepCreated";
  std::shared_ptr<const Step> step;
  template <class V>
  static void describe(V&& field) {
    field(1, "step", &StepCreated::step);
  }
};
// Some nodes of a step are done, others are not. What the whole step used is the sum of these and
// of StepEnded.
struct StepNodesEnded {
  static constexpr uint32_t kTag = 21;
  static constexpr const char* kName = "StepNodesEnded";
  StepId id;
  Bitmap positions;         // in layout->nodes
  int32_t exit_status = 0;  // highest so far
  bool out_of_memory = false;
  Time time = kNoTime;
  std::optional<protocol::StepUsage> usage;  // of these nodes; nothing: none was reported
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &StepNodesEnded::id);
    field(2, "positions", &StepNodesEnded::positions);
    field(3, "exit_status", &StepNodesEnded::exit_status);
    field(4, "out_of_memory", &StepNodesEnded::out_of_memory);
    field(5, "time", &StepNodesEnded::time);
    field(6, "usage", &StepNodesEnded::usage);
  }
};
// The whole step is over and leaves the job's list.
struct StepEnded {
  static constexpr uint32_t kTag = 22;
  static constexpr const char* kName = "StepEnded";
  StepId id;
  StepState state = StepState::kCompleted;
  int32_t exit_status = 0;
  Time time = kNoTime;
  std::optional<protocol::StepUsage> usage;  // of the nodes that ended last
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &StepEnded::id);
    field(2, "state", &StepEnded::state);
    field(3, "exit_status", &StepEnded::exit_status);
    field(4, "time", &StepEnded::time);
    field(5, "usage", &StepEnded::usage);
  }
};
// A step is to end: cancelled by a user, or over its time limit.
struct StepEndOrdered {
  static constexpr uint32_t kTag = 23;
  static constexpr const char* kName = "StepEndOrdered";
  StepId id;
  uint32_t by = UINT32_MAX;  // uid; UINT32_MAX: time limit
  Time time = kNoTime;
  bool at_once = false;  // with KILL; else TERM, KillWait and KILL
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &StepEndOrdered::id);
    field(2, "by", &StepEndOrdered::by);
    field(3, "time", &StepEndOrdered::time);
    field(4, "at_once", &StepEndOrdered::at_once);
  }
};

// --- nodes and partitions ------------------------------------------------------------------------

// A node found out about itself what was not known yet. State changes come as NodeStateChanged.
struct NodeRegistered {
  static constexpr uint32_t kTag = 30;
  static constexpr const char* kName = "NodeRegistered";
  NodeId node = kNoNode;
  std::shared_ptr<const NodeHardware> hardware;
  Time time = kNoTime;
  // the highest id of jobs there that are not known here although they would be to come
  JobId strange_job = kNoJob;
  // its JobNumber::round; not set: the one that ids are given of
  std::optional<uint32_t> strange_round;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &NodeRegistered::node);
    field(2, "hardware", &NodeRegistered::hardware);
    field(3, "time", &NodeRegistered::time);
    field(4, "strange_job", &NodeRegistered::strange_job);
    field(5, "strange_round", &NodeRegistered::strange_round);
  }
};
// All of a node's own state, as it is afterwards.
struct NodeStateChanged {
  static constexpr uint32_t kTag = 31;
  static constexpr const char* kName = "NodeStateChanged";
  NodeId node = kNoNode;
  NodeBaseState base = NodeBaseState::kUnknown;
  NodeFlags flags = 0;
  SharedText reason;
  Time reason_time = kNoTime;
  uint32_t reason_uid = 0;
  Time resume_after = kNoTime;
  Time time = kNoTime;
  AfterReboot after_reboot = AfterReboot::kAsBefore;
  Time reboot_issued = kNoTime;
  SharedText boot_features;
  bool boot_if_needed = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &NodeStateChanged::node);
    field(2, "base", &NodeStateChanged::base);
    field(3, "flags", &NodeStateChanged::flags);
    field(4, "reason", &NodeStateChanged::reason);
    field(5, "reason_time", &NodeStateChanged::reason_time);
    field(6, "reason_uid", &NodeStateChanged::reason_uid);
    field(7, "resume_after", &NodeStateChanged::resume_after);
    field(8, "time", &NodeStateChanged::time);
    field(20, "after_reboot", &NodeStateChanged::after_reboot);
    field(21, "reboot_issued", &NodeStateChanged::reboot_issued);
    field(450, "boot_features", &NodeStateChanged::boot_features);
    field(451, "boot_if_needed", &NodeStateChanged::boot_if_needed);
  }
};
struct NodeUpdated {
  static constexpr uint32_t kTag = 32;
  static constexpr const char* kName = "NodeUpdated";
  NodeId node = kNoNode;
  uint32_t weight = 1;
  SharedText active_features;
  SharedText comment;
  SharedText extra;
  std::shared_ptr<const NodeConfig> config;  // changed features or gres; null: as it was
  bool features_reported = false;            // by its helpers; as in Node
  bool features_chosen = false;              // by scontrol; likewise
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &NodeUpdated::node);
    field(2, "weight", &NodeUpdated::weight);
    field(3, "active_features", &NodeUpdated::active_features);
    field(4, "comment", &NodeUpdated::comment);
    field(5, "extra", &NodeUpdated::extra);
    field(6, "config", &NodeUpdated::config);
    field(450, "features_reported", &NodeUpdated::features_reported);
    field(453, "features_chosen", &NodeUpdated::features_chosen);
  }
};

}  // namespace sluice::state
