#include "sim/run/trace_ids.hpp"

#include <algorithm>

namespace sluice::sim {

TraceIds::TraceIds(const Trace& trace) : trace_(trace), jobs_(trace.jobs.size(), kNoJob) {
  const bool wanted = std::ranges::any_of(trace.jobs, [](const TraceJob& job) {
    return !job.dependency.empty() || !job.preceding.empty();
  });
  if (!wanted) return;
  for (uint32_t at = 0; at < trace.jobs.size(); ++at) {
    const std::string& id = trace.jobs[at].id;
    places_.emplace(id, at);
    const size_t end = id.find_first_of("_+");
    if (end != std::string::npos && id[end] == '_') tasks_[id.substr(0, end)].push_back(at);
    else if (end != std::string::npos) places_.emplace(id.substr(0, end), at);  // the first of it
  }
}

uint32_t TraceIds::place(const std::string& id) const {
  const auto at = places_.find(id);
  return at == places_.end() ? kNowhere : at->second;
}

std::vector<JobId> TraceIds::jobs_of(const state::DependencyItem& item,
                                     std::string_view own) const {
  std::vector<JobId> jobs;
  const auto add = [&](uint32_t place) {
    if (place != kNowhere && jobs_[place] != kNoJob) jobs.push_back(jobs_[place]);
  };
  const std::string id = std::to_string(item.job);
  const auto array = tasks_.find(id);
  if (item.component) {
    add(place(id + "+" + std::to_string(*item.component)));
  } else if (array == tasks_.end()) {
    add(place(id));
  } else if (item.kind == state::DependencyKind::kAfterCorr) {
    const size_t task = own.find('_');
    if (task != std::string_view::npos) add(place(id + std::string(own.substr(task))));
  } else if (!item.tasks.empty()) {
    item.tasks.for_each([&](uint32_t task) { add(place(id + "_" + std::to_string(task))); });
  } else {
    for (const uint32_t place : array->second) add(place);
  }
  return jobs;
}

std::string TraceIds::dependency(uint32_t place) const {
  const TraceJob& job = trace_.jobs[place];
  if (job.dependency.empty()) return {};
  const auto given = state::parse_dependency(job.dependency, state::DependencyText::kKept);
  if (!given) return {};
  state::Dependency here;
  here.any = given->any;
  for (const state::DependencyItem& item : given->items) {
    if (item.kind == state::DependencyKind::kAfterBurstBuffer) continue;
    if (item.kind == state::DependencyKind::kSingleton) {
      here.items.push_back(item);
      continue;
    }
    const std::vector<JobId> jobs = jobs_of(item, job.id);
    if (jobs.empty() && given->any) return {};
    for (const JobId id : jobs) {
      state::DependencyItem& made = here.items.emplace_back();
      made.kind = item.kind == state::DependencyKind::kAfterCorr ? state::DependencyKind::kAfterOk
                                                                 : item.kind;
      made.job = id;
      made.delay = item.delay;
    }
  }
  return here.items.empty() ? std::string() : state::format_dependency(here);
}

}  // namespace sluice::sim
