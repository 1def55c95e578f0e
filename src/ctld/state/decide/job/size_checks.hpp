// The sizes of the jobs of one command: what several of them ask for alike is looked at once, and
// different ones all together for no longer than a command may hold the engine.
#pragma once

#include <unordered_map>
#include <vector>

#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

class SizeChecks {
 public:
  // As check_size() and check_reserved_room(). kBadRequest, which neither of them gives: so much
  // was looked at for this command that nothing else is.
  [[nodiscard]] Status size(const ClusterState& state, const JobSpec& spec,
                            const std::vector<const Partition*>& partitions, bool held);
  [[nodiscard]] Status reserved_room(const ClusterState& state, const JobSpec& spec,
                                     const std::vector<const Partition*>& partitions, Time now);

 private:
  enum class Kind : uint8_t { kSize, kHeld, kReserved };
  struct Question {
    Kind kind;
    JobSpec demand;  // all that it asks of nodes
    bool operator==(const Question& other) const;
  };
  struct Hash {
    size_t operator()(const Question& question) const;
  };
  template <class Check>
  Status answer(Kind kind, const JobSpec& spec, const Check& check);

  // Nodes that may be looked at yet: some 10 ms, and 20 us for each job.
  static constexpr int64_t kOfCommand = 100'000, kOfJob = 200;
  int64_t left_ = kOfCommand;  // below 0 after one that took more
  std::unordered_map<Question, Status, Hash> known_;
};

}  // namespace sluice::state
