#include "ctld/timeline/free.hpp"

#include <algorithm>

namespace sluice::timeline {
namespace {

void join_user(uint32_t& user, uint32_t other) {
  if (other == fit::kNoUser || user == other) return;
  user = user == fit::kNoUser ? other : fit::kSeveralUsers;
}

// Parts of shared units: of each unit the more of both.
void unite_parts(GresShare& into, const GresShare& other) {
  GresShare joined = into;
  joined.units |= other.units;
  joined.parts.clear();
  joined.count = 0;
  const auto part_of = [](const GresShare& share, size_t unit) -> uint32_t {
    if (!share.units.test(unit)) return 0;
    size_t at = 0;
    for (size_t i = share.units.find_first(); i != unit; i = share.units.find_next(i)) ++at;
    return at < share.parts.size() ? share.parts[at] : 0;
  };
  joined.units.for_each([&](size_t unit) {
    joined.parts.push_back(std::max(part_of(into, unit), part_of(other, unit)));
    joined.count += joined.parts.back();
  });
  into = std::move(joined);
}

}  // namespace

void unite(GresShares& into, const GresShares& other) {
  for (const GresShare& share : other) {
    const auto same = std::ranges::find_if(into, [&](const GresShare& one) {
      return one.name == share.name && one.type == share.type;
    });
    if (same == into.end()) {
      into.push_back(share);
    } else if (!same->parts.empty() || !share.parts.empty()) {
      unite_parts(*same, share);
    } else {
      same->units |= share.units;
      same->count = std::max({same->count, share.count, uint64_t{same->units.count()}});
    }
  }
}

void Free::take(const Claim& claim) {
  if (claim.whole && !claim.parked) cores.clear();
  else if (!claim.parked) cores.and_not(*claim.cores);
  core_count = static_cast<uint32_t>(cores.count());
  memory_mib -= std::min(memory_mib, claim.memory_mib);
  if (claim.gres != nullptr && !claim.gres->empty()) {
    GresShares used = used_gres == nullptr ? GresShares{} : *used_gres;
    add_shares(used, *claim.gres);
    used_gres = std::make_shared<const GresShares>(std::move(used));
  }
  if (claim.parked) return;
  ++jobs;
  join_user(user, claim.uid);
  one_user = one_user || claim.one_user;
}

void Free::intersect(const Free& other) {
  cores &= other.cores;
  core_count = static_cast<uint32_t>(cores.count());
  memory_mib = std::min(memory_mib, other.memory_mib);
  jobs = std::max(jobs, other.jobs);
  join_user(user, other.user);
  one_user = one_user || other.one_user;
  if (other.used_gres == nullptr || other.used_gres == used_gres) return;
  if (used_gres == nullptr) {
    used_gres = other.used_gres;
    return;
  }
  GresShares used = *used_gres;
  unite(used, *other.used_gres);
  used_gres = std::make_shared<const GresShares>(std::move(used));
}

}  // namespace sluice::timeline
