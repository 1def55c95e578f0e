#include "ctld/state/core/usage.hpp"

#include <algorithm>

namespace sluice::state {
namespace {

double& seconds_of(Usage& usage, TresId id) {
  auto at = std::ranges::lower_bound(usage.tres, id, {}, &TresSeconds::id);
  if (at == usage.tres.end() || at->id != id) at = usage.tres.insert(at, TresSeconds{.id = id});
  return at->seconds;
}

// What was used by then, which is charged to `to`.
void move(Rate& rate, int64_t until, double unit, double& to) {
  const Wide used = rate.used_until(until);
  rate.since = rate.per_second * until;
  to += static_cast<double>(used) / unit;
}

constexpr double kUnit = static_cast<double>(kMicro);

}  // namespace

double Usage::of(TresId tres_id) const {
  const auto at = std::ranges::lower_bound(tres, tres_id, {}, &TresSeconds::id);
  return at != tres.end() && at->id == tres_id ? at->seconds : 0;
}

void add_run(Usage& usage, const JobCharge& charge, int64_t seconds) {
  if (seconds <= 0) return;
  const Wide factor = Wide(charge.factor_micro) * seconds;
  for (const TresAmount& amount : charge.tres) {
    if (amount.count != 0)
      seconds_of(usage, amount.id) += static_cast<double>(factor * Wide(amount.count)) / kUnit;
  }
  usage.raw += static_cast<double>(factor * Wide(charge.billing_micro)) / (kUnit * kUnit);
  usage.wall += static_cast<double>(factor) / kUnit;
}

void add_running(Usage& usage, Held& held, int64_t until) {
  for (HeldTres& tres : held.tres) {
    if (tres.rate.per_second != 0) move(tres.rate, until, kUnit, seconds_of(usage, tres.id));
  }
  move(held.billing, until, kUnit * kUnit, usage.raw);
  move(held.wall, until, kUnit, usage.wall);
}

void take_from(Usage& usage, const Usage& part) {
  usage.raw = std::max(0.0, usage.raw - part.raw);
  usage.wall = std::max(0.0, usage.wall - part.wall);
  for (const TresSeconds& tres : part.tres) {
    double& seconds = seconds_of(usage, tres.id);
    seconds = std::max(0.0, seconds - tres.seconds);
  }
}

void fade(Usage& usage, double factor) {
  usage.raw *= factor;
  usage.wall *= factor;
  for (TresSeconds& tres : usage.tres) tres.seconds *= factor;
  if (factor == 0) usage.tres.clear();
}

void fade(GoneUsages& gone, double factor) {
  for (auto& [name, one] : gone) {
    if (one.decays || factor == 0) fade(one.usage, factor);
  }
  std::erase_if(gone, [](const auto& entry) {
    return entry.second.usage.raw < 1 && entry.second.usage.wall < 1;
  });
}

}  // namespace sluice::state
