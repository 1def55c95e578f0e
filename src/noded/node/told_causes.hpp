// Which causes of failures the log of this agent has: each once, and again each hour that it lasts.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/os/is_away.hpp"
#include "common/rpc/refusal_log.hpp"

namespace sluice::noded {

class ToldCauses {
 public:
  // This failure is to have a line.
  [[nodiscard]] bool is_due(const Error& why, SteadyTime now) {
    // that nobody answers is one cause, whatever the words
    const std::string key = is_away(why.code) ? std::string() : net::cause_key(why);
    if (told_.size() >= kMost) told_.clear();
    const auto [entry, is_new] = told_.try_emplace(key, now);
    if (!is_new && now - entry->second < kAgain) return false;
    entry->second = now;
    return true;
  }
  void clear() { told_.clear(); }  // all is well

 private:
  static constexpr size_t kMost = 32;
  static constexpr Duration kAgain = std::chrono::hours(1);
  std::map<std::string, SteadyTime> told_;  // when, by cause
};

}  // namespace sluice::noded
