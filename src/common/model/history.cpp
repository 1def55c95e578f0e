#include "common/model/history.hpp"

namespace sluice {
namespace {

UsageExtent sum_of(const UsageExtent& a, const UsageExtent& b) {
  UsageExtent out = a.max >= b.max ? a : b;
  const UsageExtent& least = a.min <= b.min ? a : b;
  out.min = least.min;
  out.min_node = least.min_node;
  out.min_task = least.min_task;
  out.total = a.total + b.total;
  return out;
}

}  // namespace

UsageHistory sum_of(const UsageHistory& a, const UsageHistory& b) {
  if (a.tasks == 0) return b;
  if (b.tasks == 0) return a;
  UsageHistory out;
  out.tasks = a.tasks + b.tasks;
  out.user_cpu = a.user_cpu + b.user_cpu;
  out.system_cpu = a.system_cpu + b.system_cpu;
  for (auto part : {&UsageHistory::cpu, &UsageHistory::memory, &UsageHistory::virtual_memory,
                    &UsageHistory::read, &UsageHistory::written, &UsageHistory::pages})
    out.*part = sum_of(a.*part, b.*part);
  return out;
}

}  // namespace sluice
