// Priorities of jobs that wait: they change all the time, and the database does not hold them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cli/shared/client.hpp"
#include "common/protocol/accounting.hpp"

namespace sluice::cli {

class CurrentPriorities {
 public:
  // Asks the controller of this cluster, where jobs of it that wait may be among those that are
  // asked for. One that is away knows none.
  CurrentPriorities(Client& client, const protocol::QueryHistoryRequest& request);
  void fill(protocol::HistoryChunk& chunk) const;

 private:
  std::string cluster_;
  std::map<JobId, uint32_t> priorities_;
};

}  // namespace sluice::cli
