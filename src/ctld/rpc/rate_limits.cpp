#include "ctld/rpc/rate_limits.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/os/back_off.hpp"

namespace sluice::ctld {
namespace {

// A value that is no number, or 0 where that makes no sense, leaves the default.
template <class Number>
void take(const ClusterConfig& config, std::string_view name, Number least, Number& value) {
  const auto given =
      to_number<uint32_t>(option_value(config.slurmctld_parameters, name).value_or(""));
  if (given && static_cast<Number>(*given) >= least) value = static_cast<Number>(*given);
}

}  // namespace

void RateLimits::use(const ClusterConfig& config) {
  Limits limits;
  limits.enabled = has_option(config.slurmctld_parameters, "rl_enable");
  take<uint64_t>(config, "rl_bucket_size", 1, limits.bucket_size);
  take<uint64_t>(config, "rl_refill_rate", 1, limits.refill_rate);
  take<int64_t>(config, "rl_refill_period", 1, limits.refill_seconds);
  take<size_t>(config, "rl_table_size", 1, limits.table_size);
  take<int64_t>(config, "rl_log_freq", 0, limits.log_seconds);
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

void RateLimits::fill(Bucket& bucket, int64_t period) const {
  if (period <= bucket.period) return;
  const uint64_t missing = limits_.bucket_size - std::min(limits_.bucket_size, bucket.tokens);
  const auto periods = static_cast<uint64_t>(period - bucket.period);
  bucket.tokens += std::min(missing, limits_.refill_rate * std::min(periods, missing));
  bucket.period = period;
}

RateLimits::Bucket* RateLimits::bucket_of(uint32_t uid, int64_t period) {
  if (const auto at = buckets_.find(uid); at != buckets_.end()) return &at->second;
  if (buckets_.size() >= limits_.table_size) {
    // whose bucket is full again needs none
    std::erase_if(buckets_, [&](const auto& entry) {
      Bucket bucket = entry.second;
      fill(bucket, period);
      return bucket.tokens >= limits_.bucket_size;
    });
  }
  if (buckets_.size() >= limits_.table_size) return nullptr;
  return &buckets_.emplace(uid, Bucket{limits_.bucket_size, period}).first->second;
}

Status RateLimits::admit(std::string_view method, uint32_t uid, Time now) {
  const std::lock_guard lock(mutex_);
  if (!limits_.enabled) return {};
  const int64_t period = to_seconds(now) / limits_.refill_seconds;
  Bucket* bucket = bucket_of(uid, period);
  if (bucket == nullptr) return {};
  if (period < bucket->period) bucket->period = period;  // the clock was set back
  fill(*bucket, period);
  if (bucket->tokens > 0) {
    --bucket->tokens;
    return {};
  }
  if (to_seconds(now - bucket->logged) >= limits_.log_seconds) {
    bucket->logged = now;
    log::info("RPC rate limit exceeded by uid {} with {}, telling to back off", uid, method);
  }
  return tl::unexpected(net::back_off());
}

}  // namespace sluice::ctld
