// sstat: what running steps use. The controller asks the agents of a step's nodes for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/noded.hpp"

namespace sluice::protocol {

inline constexpr StepNumber kAnyStep = UINT32_MAX;

// Only for the job's user and administrators. kInvalidJobId, kInvalidStepId, kAccessDenied.
struct QueryUsageRequest {
  static constexpr std::string_view kMethod = "Controller/QueryUsage";
  using Reply = struct QueryUsageReply;
  StepId step;             // kAnyStep: the lowest of the numbered ones …
  bool all_steps = false;  // … or all, named ones too
  template <class V>
  static void describe(V&& field) {
    field(1, "step", &QueryUsageRequest::step);
    field(2, "all_steps", &QueryUsageRequest::all_steps);
  }
};
struct NodeUsage {
  std::string node;
  ErrorCode code = ErrorCode::kOk;  // why it did not answer
  StatStepReply stats;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &NodeUsage::node);
    field(2, "code", &NodeUsage::code);
    field(3, "stats", &NodeUsage::stats);
  }
};
struct StepUsageRecord {
  Step step;
  std::vector<NodeUsage> nodes;
  template <class V>
  static void describe(V&& field) {
    field(1, "step", &StepUsageRecord::step);
    field(2, "nodes", &StepUsageRecord::nodes);
  }
};
struct QueryUsageReply {
  std::vector<StepUsageRecord> steps;
  template <class V>
  static void describe(V&& field) {
    field(1, "steps", &QueryUsageReply::steps);
  }
};

}  // namespace sluice::protocol
