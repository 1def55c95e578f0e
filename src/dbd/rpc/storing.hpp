// Whose newest records could not be stored, and since when: their controllers have them, and send
// them again. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/protocol/accounting.hpp"

namespace sluice::dbd {

class Storing {
 public:
  // What came of a controller's records.
  void count(const std::string& cluster, const Status& stored, Time now);
  // Of these clusters (none: of all), by name. The reason names no file.
  [[nodiscard]] std::vector<protocol::WaitingHistory> waiting(
      const std::vector<std::string>& clusters) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, protocol::WaitingHistory> waiting_;  // guarded by mutex_
};

}  // namespace sluice::dbd
