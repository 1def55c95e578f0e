// srun --bcast: the program goes to the nodes before the step begins.
#pragma once

#include <optional>
#include <string>

#include "cli/step/broadcast.hpp"
#include "common/submit/submit_options.hpp"

namespace sluice::cli {

class ProgramBroadcast {
 public:
  ProgramBroadcast(Client& client, const Submission& submission)
      : client_(client), submission_(submission) {}

  // Sends the program of `step` to the job's nodes and says in `step` where it is. No-op without
  // --bcast. An exit status when it cannot be; it was said.
  std::optional<int> send(JobId job, StepSpec& step);
  // The step is on these nodes: the others do not need it. With no layout there is no step.
  void keep(const StepLayout* layout);

 private:
  [[nodiscard]] std::string destination(bool& unnamed, const std::string& folder) const;

  Client& client_;
  const Submission& submission_;
  std::optional<Broadcast> sent_;
  std::vector<std::string> nodes_;  // that have it under a passing name
};

}  // namespace sluice::cli
