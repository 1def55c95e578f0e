// The uids of accounting's users, as the system knows them: each name is looked up once, and one
// that it does not know again after a while. Of one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "common/base/time.hpp"

namespace sluice::ctld {

class KnownUids {
 public:
  // nullopt: the system does not know the name.
  using LookUp = std::function<std::optional<uint32_t>(const std::string& user)>;
  static constexpr Duration kStaysUnknown = std::chrono::minutes(1);
  static constexpr size_t kMostUnknown = 100'000;  // that are remembered
  static constexpr size_t kMostAtOnce = 500;       // of them, looked up by has_news()

  explicit KnownUids(LookUp look_up) : look_up_(std::move(look_up)) {}

  std::optional<uint32_t> of(const std::string& user, SteadyTime now);
  // Looks up those that are unknown for long enough: true where the system knows one of them now.
  [[nodiscard]] bool has_news(SteadyTime now);
  // For those of users whom accounting has no more.
  void forget_unknown_but(const std::function<bool(const std::string& user)>& stays);

 private:
  const LookUp look_up_;
  std::map<std::string, uint32_t> known_;
  std::map<std::string, SteadyTime> unknown_;  // until when they are not looked up
};

}  // namespace sluice::ctld
