#include "ctld/accounting/known_uids.hpp"

namespace sluice::ctld {

std::optional<uint32_t> KnownUids::of(const std::string& user, SteadyTime now) {
  if (const auto at = known_.find(user); at != known_.end()) return at->second;
  const auto unknown = unknown_.find(user);
  if (unknown != unknown_.end() && now < unknown->second) return std::nullopt;
  const std::optional<uint32_t> uid = look_up_(user);
  if (uid) {
    known_.emplace(user, *uid);
    if (unknown != unknown_.end()) unknown_.erase(unknown);
  } else if (unknown != unknown_.end()) {
    unknown->second = now + kStaysUnknown;
  } else if (unknown_.size() < kMostUnknown) {
    unknown_.emplace(user, now + kStaysUnknown);
  }
  return uid;
}

bool KnownUids::has_news(SteadyTime now) {
  bool any = false;
  size_t looked = 0;
  for (auto at = unknown_.begin(); at != unknown_.end() && looked < kMostAtOnce;) {
    if (now < at->second) {
      ++at;
      continue;
    }
    ++looked;
    if (const std::optional<uint32_t> uid = look_up_(at->first)) {
      known_.emplace(at->first, *uid);
      at = unknown_.erase(at);
      any = true;
    } else {
      (at++)->second = now + kStaysUnknown;
    }
  }
  return any;
}

void KnownUids::forget_unknown_but(const std::function<bool(const std::string& user)>& stays) {
  std::erase_if(unknown_, [&](const auto& entry) { return !stays(entry.first); });
}

}  // namespace sluice::ctld
