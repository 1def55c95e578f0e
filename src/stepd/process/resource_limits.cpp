#include "stepd/process/resource_limits.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace sluice::stepd {
namespace {

__rlimit_resource_t resource(size_t place) { return static_cast<__rlimit_resource_t>(place / 2); }

}  // namespace

std::vector<uint64_t> own_limits() {
  std::vector<uint64_t> limits;
  for (size_t place = 0; place < size_t{RLIM_NLIMITS} * 2; place += 2) {
    rlimit own{1, 0};
    ::getrlimit(resource(place), &own);
    limits.push_back(own.rlim_cur);
    limits.push_back(own.rlim_max);
  }
  return limits;
}

void set_limits(const std::vector<uint64_t>& limits) {
  for (size_t i = 0; i + 1 < limits.size(); i += 2) {
    const rlimit wanted{limits[i], limits[i + 1]};
    if (wanted.rlim_cur > wanted.rlim_max) continue;  // not given
    if (::setrlimit(resource(i), &wanted) == 0) continue;
    // a hard limit above ours: as much as we have
    rlimit own{};
    if (::getrlimit(resource(i), &own) != 0) continue;
    own.rlim_cur = std::min<rlim_t>(limits[i], own.rlim_max);
    ::setrlimit(resource(i), &own);
  }
}

std::vector<uint64_t> limits_within(const std::vector<uint64_t>& wanted,
                                    const std::vector<uint64_t>& bounds) {
  std::vector<uint64_t> out = bounds;
  for (size_t i = 0; i + 1 < std::min(wanted.size(), bounds.size()); i += 2) {
    if (wanted[i] > wanted[i + 1]) continue;
    out[i] = std::min(wanted[i], bounds[i + 1]);
  }
  return out;
}

void raise_core_limit(std::vector<uint64_t>& limits) {
  limits[size_t{RLIMIT_CORE} * 2] = limits[size_t{RLIMIT_CORE} * 2 + 1];
}

void set_resident_limit(std::vector<uint64_t>& limits, uint64_t bytes) {
  const size_t soft = size_t{RLIMIT_RSS} * 2;
  const uint64_t hard = std::min(bytes, limits[soft + 1]);
  limits[soft] = limits[soft + 1] = hard;
}

}  // namespace sluice::stepd
