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
  [[nodiscard]] state::SubmitJob command(const TraceJob& job);

 private:
  [[nodiscard]] std::string known_of(const std::string& partitions) const;
  void set_size(const TraceJob& job, JobSpec& spec) const;
  [[nodiscard]] uint32_t uid_of(const std::string& user);

  Unit unit_;
  std::vector<std::string> partitions_;
  std::vector<std::string> groups_;  // that any partition lets in: everybody is in all of them
  std::unordered_map<std::string, uint32_t> uids_;
};

}  // namespace sluice::sim
