// How long the follower rests after an answer: records that are many take long to send, take and
// compare, and one who changes something again and again must not have all of them fetched each
// time. Changes meanwhile come together with the next answer.
#pragma once

#include <algorithm>

#include "common/model/accounting.hpp"

namespace sluice::ctld {

[[nodiscard]] inline Duration rest_after(const AccountingRecords& records) {
  constexpr Duration kForOne = std::chrono::microseconds(50), kMost = std::chrono::seconds(5);
  const size_t count = records.associations.size() + records.users.size() +
                       records.accounts.size() + records.qos.size() + records.wckeys.size();
  return std::min(kMost, kForOne * static_cast<int64_t>(count));
}

}  // namespace sluice::ctld
