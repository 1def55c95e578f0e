// SlurmctldParameters=rl_enable: how many requests a user may send. Each has a bucket of tokens
// that fills at a steady rate; a request takes one, and who has none is told to ask again later.
// Root and SlurmUser are not counted. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

class RateLimits {
 public:
  // Takes the values of a configuration; the buckets stay as they are.
  void use(const ClusterConfig& config);

  // net::back_off(): the user's bucket is empty.
  [[nodiscard]] Status admit(std::string_view method, uint32_t uid, Time now);

 private:
  struct Bucket {
    uint64_t tokens = 0;
    int64_t period = 0;  // that it was filled for
    Time logged = kNoTime;
  };
  struct Limits {
    bool enabled = false;
    uint64_t bucket_size = 30;
    uint64_t refill_rate = 2;
    int64_t refill_seconds = 1;
    size_t table_size = 8192;
    int64_t log_seconds = 0;  // between two lines about one user
  };
  // Null: there is no room for one more user, who is not limited then.
  Bucket* bucket_of(uint32_t uid, int64_t period);
  void fill(Bucket& bucket, int64_t period) const;

  std::mutex mutex_;
  Limits limits_;  // guarded by mutex_, as this:
  std::unordered_map<uint32_t, Bucket> buckets_;
};

}  // namespace sluice::ctld
