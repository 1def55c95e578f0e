#include "ctld/state/core/held.hpp"

#include <algorithm>

#include "common/base/check.hpp"

namespace sluice::state {
namespace {

HeldTres& held_of(Held& held, TresId id) {
  auto at = std::ranges::lower_bound(held.tres, id, {}, &HeldTres::id);
  if (at == held.tres.end() || at->id != id) at = held.tres.insert(at, HeldTres{.id = id});
  return *at;
}

const HeldTres* find_held(const Held& held, TresId id) {
  const auto at = std::ranges::lower_bound(held.tres, id, {}, &HeldTres::id);
  return at != held.tres.end() && at->id == id ? &*at : nullptr;
}

NodeId node_of(const NodeAllocation& node) { return node.node; }

void change(Rate& rate, Wide amount, const JobPart& part) {
  if (!part.is_charged) return;
  rate.per_second += amount;
  rate.since += amount * part.since;
}

void change_running(Held& held, const JobPart& part, int sign) {
  const JobCharge& charge = *part.charge;
  const Wide factor = Wide(sign) * Wide(charge.factor_micro);
  for (const TresAmount& amount : charge.tres) {
    if (amount.count == 0) continue;
    HeldTres& tres = held_of(held, amount.id);
    change(tres.rate, factor * Wide(amount.count), part);
    if (!part.at_once) continue;
    tres.count = sign > 0 ? tres.count + amount.count : tres.count - amount.count;
    tres.until_end += Wide(sign) * Wide(amount.count) * part.end;
  }
  change(held.billing, factor * Wide(charge.billing_micro), part);
  change(held.wall, factor, part);
  if (sign < 0)
    std::erase_if(held.tres, [](const HeldTres& t) { return t == HeldTres{.id = t.id}; });
}

}  // namespace

uint64_t Held::count_of(TresId id) const {
  if (id == kTresNode) return nodes.size();
  const HeldTres* tres_held = find_held(*this, id);
  return tres_held == nullptr ? 0 : tres_held->count;
}

uint64_t Held::left_of(TresId id, int64_t second) const {
  const HeldTres* tres_held = find_held(*this, id);
  return tres_held == nullptr ? 0 : tres_held->left_at(second);
}

void add_part(Held& held, const JobPart& part) {
  if (part.at_once) held.jobs += part.jobs;
  held.accruing += part.accruing;
  held.submit += part.submit;
  if (part.charge != nullptr) change_running(held, part, 1);
  if (part.at_once && part.allocation != nullptr) held.nodes.add(part.allocation->nodes, &node_of);
}

void take_part(Held& held, const JobPart& part) {
  const uint32_t jobs = part.at_once ? part.jobs : 0;
  SLUICE_CHECK(held.jobs >= jobs && held.submit >= part.submit);
  held.jobs -= jobs;
  held.accruing -= part.accruing;
  held.submit -= part.submit;
  if (part.charge != nullptr) change_running(held, part, -1);
  if (part.at_once && part.allocation != nullptr) held.nodes.take(part.allocation->nodes, &node_of);
}

}  // namespace sluice::state
