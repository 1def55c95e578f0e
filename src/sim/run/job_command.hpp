// A job of a trace as the command that submits it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "common/model/cluster_config.hpp"
#include "ctld/state/messages/commands.hpp"
#include "sim/trace/trace.hpp"

namespace sluice::sim {

// What a processor of the trace is here.
enum class Unit { kCpu, kNode };

class Submissions {
 public:
  Submissions(const ClusterConfig& config, Unit unit);
  // `job` and what follows it in the trace: as many as it has components. What it depends on and
  // its reservation are the caller's to fill in.
  [[nodiscard]] state::SubmitJob command(const TraceJob& job);
  [[nodiscard]] uint32_t uid_of(const std::string& user);

 private:
  [[nodiscard]] std::string known_of(const std::string& partitions) const;
  void set_size(const TraceJob& job, JobSpec& spec) const;
  [[nodiscard]] JobSpec spec_of(const TraceJob& job);

  Unit unit_;
  std::vector<std::string> partitions_;
  std::vector<std::string> groups_;  // that any partition lets in: everybody is in all of them
  std::unordered_map<std::string, uint32_t> uids_;
};

}  // namespace sluice::sim
