// See gathered_tasks.hpp.
#include "common/format/gathered_tasks.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace sluice {
namespace {

using Key = std::tuple<JobId, std::string_view, std::string_view>;

Key key_of(const JobView& view) {
  return {array_job_id(view), view.spec().name.view(), shown_partition(view)};
}

bool is_waiting_task(const JobView& view) {
  const auto& array = view.job().array;
  return array != nullptr && array->task != kNoTask && view.job().state == JobState::kPending;
}

}  // namespace

std::deque<GatheredTasks> gather_waiting_tasks(std::vector<JobView>& rows) {
  std::deque<GatheredTasks> out;  // its elements stay where they are
  std::map<Key, GatheredTasks*> arrays;
  for (JobView& row : rows) {
    if (!is_pending_array(row) || is_last_task(row)) continue;
    out.push_back({row.job().array->pending, {}});
    row.gathered = arrays[key_of(row)] = &out.back();
  }
  if (arrays.empty()) return out;
  std::erase_if(rows, [&](const JobView& row) {
    if (!is_waiting_task(row)) return false;
    const auto found = arrays.find(key_of(row));
    if (found == arrays.end()) return false;
    found->second->tasks.insert(row.job().array->task);
    found->second->records.push_back(row.record);
    return true;
  });
  return out;
}

}  // namespace sluice
