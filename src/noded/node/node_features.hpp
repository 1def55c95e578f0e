// The helpers of helpers.conf on this node: programs that tell which of their features are active,
// and make others so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noded/process/child_processes.hpp"
#include "noded/node/node_state.hpp"

namespace sluice::noded {

class NodeFeatures {
 public:
  NodeFeatures(NodeState& node, ChildProcesses& children) : node_(node), children_(children) {}

  // Asks all helpers anew, one after the other; `done` gets "a,b": the active ones of the features
  // that they manage. Not set: the node has no helpers. What a program that fails, or takes longer
  // than ExecTime, manages is not active.
  void find(std::function<void(std::optional<std::string> active)> done);

  enum class Change : uint8_t { kDone, kNeedsReboot, kFailed };
  // Makes those active that are not yet; `done` is told whether they are, or will be with a reboot.
  void change(std::vector<std::string> features, std::function<void(Change)> done);

 private:
  struct Question;
  void set_next(std::vector<std::string> missing, Change so_far, std::function<void(Change)> done);
  // Runs a helper to its end; `done` gets its status as wait(2) gives it, and what it has printed.
  void run(const std::string& program, const std::vector<std::string>& arguments,
           std::function<void(int status, std::string output)> done);
  void ask_next(const std::shared_ptr<Question>& question);

  NodeState& node_;
  ChildProcesses& children_;
};

}  // namespace sluice::noded
