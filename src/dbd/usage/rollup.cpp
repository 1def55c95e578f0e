#include "dbd/usage/rollup.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/text.hpp"

namespace sluice::dbd {

namespace {
constexpr Duration kHour = std::chrono::hours(1);
constexpr Duration kSecond = std::chrono::seconds(1);
}  // namespace

Duration suspended_until(const JobHistory& job, Time end) {
  const bool since = job.suspended_since != kNoTime && end > job.suspended_since;
  return job.suspended + (since ? end - job.suspended_since : Duration(0));
}

uint64_t without_suspension(uint64_t seconds, Duration suspended, Duration elapsed) {
  if (suspended <= Duration(0) || elapsed <= Duration(0)) return seconds;
  const double part = static_cast<double>(suspended.count()) / static_cast<double>(elapsed.count());
  return static_cast<uint64_t>(
      std::llround(static_cast<double>(seconds) * (1 - std::min(part, 1.0))));
}

Rollup::Rollup(Time from, size_t hours, Time now)
    : from_(from), now_(now), hours_(hours), has_(hours), waits_(hours) {}

template <class Take>
void Rollup::each_hour(Time from, Time to, Take take) const {
  const Time end = from_ + kHour * static_cast<int64_t>(hours_.size());
  from = std::max(from, from_);
  to = std::min(to, end);
  while (from < to) {
    const auto hour = static_cast<size_t>((from - from_) / kHour);
    const Time next = std::min(to, from_ + kHour * static_cast<int64_t>(hour + 1));
    // whole seconds of the clock, so that the parts of a time add up to it
    const auto seconds = static_cast<uint64_t>(next.time_since_epoch() / kSecond -
                                               from.time_since_epoch() / kSecond);
    if (seconds != 0) take(hour, seconds);
    from = next;
  }
}

void Rollup::add(const JobHistory& job) {
  if (job.eligible != kNoTime) {
    const Time until = job.start != kNoTime ? job.start : job.end != kNoTime ? job.end : now_;
    // of an array that waits, its tasks are one record
    each_hour(job.eligible, until, [&](size_t hour, uint64_t seconds) {
      waits_[hour]["cpu"] += seconds * job.requested_cpus;
    });
  }
  if (job.start == kNoTime) return;
  const Time end = job.end != kNoTime ? job.end : now_;
  const Duration suspended = suspended_until(job, end);
  UsageKey key{job.account, job.user, job.wckey, job.qos, {}};
  std::vector<ByTres>* used = nullptr;
  if (!job.reservation.empty()) {
    used = &used_[{job.reservation, job.reservation_id}];
    used->resize(hours_.size());
  }
  // from the job's start on, so that the parts add up to the whole
  uint64_t passed = 0;
  if (job.start < from_) passed = static_cast<uint64_t>((from_ - job.start) / kSecond);
  each_hour(job.start, end, [&](size_t hour, uint64_t seconds) {
    const auto worked = [&](uint64_t at) {
      return without_suspension(at, suspended, end - job.start);
    };
    const uint64_t cpu_seconds = worked(passed + seconds) - worked(passed);
    passed += seconds;
    for (const NamedTres& one : job.allocated_tres) {
      // a suspended job keeps all but its CPUs
      const uint64_t amount = (one.name == "cpu" ? cpu_seconds : seconds) * one.count;
      key.tres = one.name;
      hours_[hour].jobs[key] += amount;
      hours_[hour].cluster[one.name].allocated += amount;
      if (used != nullptr) (*used)[hour][one.name] += amount;
    }
  });
}

void Rollup::add(const ReservationHistory& reservation,
                 const std::vector<std::pair<std::string, std::string>>& holders) {
  reserved_.push_back({reservation, holders});
}

void Rollup::charge(const Reserved& reserved) {
  const ReservationHistory& record = reserved.record;
  const std::vector<std::string> flags = split_list(record.flags);
  const bool maintenance = std::ranges::find(flags, "MAINT") != flags.end();
  std::vector<const std::vector<ByTres>*> used;
  for (const auto& [whose, hours] : used_)
    if (whose.first == record.name &&
        (whose.second == 0 || record.id == 0 || whose.second == record.id))
      used.push_back(&hours);
  each_hour(record.start, std::min(record.end, now_), [&](size_t hour, uint64_t seconds) {
    for (const NamedTres& one : record.tres) {
      uint64_t idle = seconds * one.count;
      for (const auto* hours : used)
        if (const auto had = (*hours)[hour].find(one.name); had != (*hours)[hour].end())
          idle -= std::min(idle, had->second);
      if (idle == 0) continue;
      ClusterUsage& usage = hours_[hour].cluster[one.name];
      (maintenance ? usage.planned_down : usage.allocated) += idle;
      for (const auto& [account, user] : reserved.holders)
        hours_[hour].jobs[{account, user, {}, {}, one.name}] += idle / reserved.holders.size();
    }
  });
}

void Rollup::add(const ClusterHistory& cluster, Time end) {
  each_hour(cluster.time, std::min(end, now_), [&](size_t hour, uint64_t seconds) {
    for (const NamedTres& one : cluster.tres) {
      has_[hour][one.name] += seconds * one.count;
      hours_[hour].cluster[one.name].count = one.count;
    }
  });
}

void Rollup::add(const NodeHistory& node, Time end) {
  const bool planned = node.state.find("MAINT") != std::string::npos;
  each_hour(node.start, end == kNoTime ? now_ : std::min(end, now_),
            [&](size_t hour, uint64_t seconds) {
              for (const NamedTres& one : node.tres) {
                ClusterUsage& usage = hours_[hour].cluster[one.name];
                (planned ? usage.planned_down : usage.down) += seconds * one.count;
              }
            });
}

std::vector<HourUsage> Rollup::finish() {
  for (const Reserved& one : reserved_) charge(one);
  for (size_t hour = 0; hour < hours_.size(); ++hour) {
    std::map<std::string, ClusterUsage> kept;
    for (auto& [tres, usage] : hours_[hour].cluster) {
      const uint64_t has = has_[hour][tres];
      if (has == 0) continue;  // the cluster never said that it has any
      // jobs that are cleaned up on a node that is down already: the time is theirs
      if (usage.allocated > has) usage.over = usage.allocated - has;
      usage.allocated = std::min(usage.allocated, has);
      usage.planned_down = std::min(usage.planned_down, has - usage.allocated);
      usage.down = std::min(usage.down, has - usage.allocated - usage.planned_down);
      const uint64_t free = has - usage.allocated - usage.planned_down - usage.down;
      const uint64_t waits = waits_[hour].count(tres) != 0 ? waits_[hour][tres] : 0;
      usage.planned = std::min(free, waits);
      usage.over += waits - usage.planned;
      usage.idle = free - usage.planned;
      kept[tres] = usage;
    }
    hours_[hour].cluster = std::move(kept);
  }
  return std::move(hours_);
}

}  // namespace sluice::dbd
