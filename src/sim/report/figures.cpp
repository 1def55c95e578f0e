#include "sim/report/figures.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace sluice::sim {
namespace {

constexpr double kLeastRun = 10;  // seconds: of the bounded slowdown
constexpr size_t kMostUsers = 10;

double seconds_between(Time from, Time to) {
  return std::chrono::duration<double>(to - from).count();
}

// Jobs that are told of together.
struct Members {
  uint64_t order = 0;
  std::vector<const SimJob*> jobs;
  double work = 0;
};
using Groups = std::map<std::string, Members>;

GroupFigures figures_of(const std::string& name, const Members& members, double work) {
  GroupFigures made;
  made.name = name;
  made.jobs = members.jobs.size();
  made.share = work > 0 ? members.work / work : 0;
  std::vector<double> waits;
  double slowdowns = 0;
  uint64_t ended = 0;
  for (const SimJob* job : members.jobs) {
    waits.push_back(wait_of(*job));
    if (job->end == kNoTime) continue;
    slowdowns += slowdown_of(*job);
    ++ended;
  }
  made.wait = spread_of(std::move(waits));
  made.slowdown = ended > 0 ? slowdowns / static_cast<double>(ended) : 0;
  return made;
}

// "1", "2-3", "4-7", …
std::string size_class(uint32_t cpus) {
  const uint32_t low = std::bit_floor(std::max(1U, cpus));
  return low == 1 ? "1" : fmt::format("{}-{}", low, 2 * uint64_t{low} - 1);
}

std::vector<GroupFigures> in_order(const Groups& groups, double work) {
  std::vector<std::pair<const std::string*, const Members*>> rows;
  for (const auto& [name, members] : groups) rows.emplace_back(&name, &members);
  std::ranges::sort(rows, {}, [](const auto& row) { return row.second->order; });
  std::vector<GroupFigures> made;
  for (const auto& [name, members] : rows) made.push_back(figures_of(*name, *members, work));
  return made;
}

std::vector<GroupFigures> most_work_first(const Groups& groups, double work) {
  std::vector<std::pair<const std::string*, const Members*>> rows;
  for (const auto& [name, members] : groups) rows.emplace_back(&name, &members);
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const auto& row) { return row.second->work; });
  std::vector<GroupFigures> made;
  Members others;
  for (size_t at = 0; at < rows.size(); ++at) {
    const Members& members = *rows[at].second;
    if (at < kMostUsers || rows.size() == kMostUsers + 1) {
      made.push_back(figures_of(*rows[at].first, members, work));
      continue;
    }
    others.jobs.insert(others.jobs.end(), members.jobs.begin(), members.jobs.end());
    others.work += members.work;
  }
  if (!others.jobs.empty()) {
    made.push_back(figures_of(fmt::format("{} others", rows.size() - kMostUsers), others, work));
  }
  return made;
}

void use_machine(const SimResult& result, Figures& figures) {
  double busy = 0;
  for (const SimRun& run : result.runs) {
    uint64_t cpus = 0;
    for (const NodeShare& share : run.nodes) cpus += share.cpus;
    const auto count = static_cast<double>(cpus);
    figures.work += count * seconds_between(run.start, run.end);
    const Time until = std::min(run.end, result.last_submit);
    if (until > run.start) busy += count * seconds_between(run.start, until);
  }
  const auto share = [&](double work, Time end) {
    const double whole = static_cast<double>(result.cpus) * seconds_between(result.begin, end);
    return whole > 0 ? work / whole : 0;
  };
  figures.utilisation = share(figures.work, result.end);
  figures.utilisation_busy = share(busy, result.last_submit);
}

void group_jobs(const SimResult& result, Figures& figures) {
  std::vector<double> work(result.jobs.size());
  for (const SimRun& run : result.runs) {
    for (const NodeShare& share : run.nodes)
      work[run.job] += share.cpus * seconds_between(run.start, run.end);
  }
  Groups sizes, users;
  for (size_t at = 0; at < result.jobs.size(); ++at) {
    const SimJob& job = result.jobs[at];
    if (job.start == kNoTime) continue;
    Members& size = sizes[size_class(job.cpus)];
    size.order = std::bit_floor(job.cpus);
    const std::string& name = job.trace->user;
    for (Members* group : {&size, &users[name.empty() ? "unknown" : name]}) {
      group->jobs.push_back(&job);
      group->work += work[at];
    }
  }
  figures.by_size = in_order(sizes, figures.work);
  figures.by_user = most_work_first(users, figures.work);
}

}  // namespace

double wait_of(const SimJob& job) { return seconds_between(job.submit, job.start); }

double slowdown_of(const SimJob& job) {
  const double run = seconds_between(job.begun, job.end);
  const double response = seconds_between(job.submit, job.end);
  return std::max(1.0, response / std::max(run, kLeastRun));
}

Spread spread_of(std::vector<double> values) {
  Spread made;
  made.count = values.size();
  if (values.empty()) return made;
  std::ranges::sort(values);
  double sum = 0;
  for (const double value : values) sum += value;
  made.mean = sum / static_cast<double>(values.size());
  const auto percentile = [&](double share) {
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<size_t>(std::max(1.0, rank)) - 1];
  };
  made.median = percentile(0.5);
  made.p90 = percentile(0.9);
  made.p95 = percentile(0.95);
  made.p99 = percentile(0.99);
  made.most = values.back();
  return made;
}

Figures make_figures(const SimResult& result) {
  Figures figures;
  figures.passes = result.passes;
  figures.jobs = result.jobs.size();
  std::vector<double> waits, slowdowns, early, errors;
  for (const SimJob& job : result.jobs) {
    if (job.id == kNoJob) {
      ++figures.refused;
      continue;
    }
    if (job.runs > 1) ++figures.run_again;
    if (job.state == JobState::kTimeout) ++figures.timed_out;
    if (job.end != kNoTime) ++figures.ended;
    else ++(job.state == JobState::kPending ? figures.waiting : figures.running);
    if (job.start == kNoTime) continue;
    ++figures.started;
    waits.push_back(wait_of(job));
    if (job.end != kNoTime) slowdowns.push_back(slowdown_of(job));
    if (job.forecast == kNoTime) continue;
    early.push_back(seconds_between(job.start, job.forecast));
    errors.push_back(std::abs(early.back()));
    if (early.back() < 0) ++figures.forecast_late;
  }
  figures.wait = spread_of(std::move(waits));
  figures.slowdown = spread_of(std::move(slowdowns));
  figures.forecast_early = spread_of(std::move(early));
  figures.forecast_error = spread_of(std::move(errors));
  use_machine(result, figures);
  group_jobs(result, figures);
  return figures;
}

}  // namespace sluice::sim
