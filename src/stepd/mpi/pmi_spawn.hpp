// MPI_Comm_spawn as PMI-1 and PMI-2 ask for it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/protocol/mpi_spawn.hpp"
#include "stepd/mpi/pmi_wire.hpp"

namespace sluice::stepd {

// PMI-1 has a request for each command of a spawn, and an answer to the last.
class PmiSpawnReader {
 public:
  enum class State { kMore, kWhole, kBad };  // only the last two are to be answered
  State add(const PmiMessage& message);
  // What was read since the last time.
  [[nodiscard]] protocol::MpiSpawnRequest take();

 private:
  protocol::MpiSpawnRequest request_;
  size_t bytes_ = 0;
  bool bad_ = false;  // the rest of its commands is still to come
};

// Nothing when it makes no sense.
[[nodiscard]] std::optional<protocol::MpiSpawnRequest> read_pmi2_spawn(const PmiMessage& message);

// How many tasks it is for; 0: too many to count.
[[nodiscard]] uint32_t tasks_of(const protocol::MpiSpawnRequest& request);

// The command that this rank runs, counted from 0, where each has so many tasks.
[[nodiscard]] uint32_t command_of(const std::vector<uint32_t>& tasks, uint32_t rank);

}  // namespace sluice::stepd
