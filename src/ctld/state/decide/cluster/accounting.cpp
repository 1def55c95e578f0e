// What the accounting daemon says becomes an event of what is different; and usage as time passes.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <unordered_set>

#include "common/base/text.hpp"
#include "ctld/state/decide/cluster/usage_tick.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/limits/accounts.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {
namespace {

// Whether one number is of another record than before: another database gives its own.
bool is_other(const AssociationRecord& known, const AssociationRecord& record) {
  if (known.created != kNoTime && record.created != kNoTime) return known.created != record.created;
  if (known.created == record.created) return false;  // older ones: a user was renamed at most
  return name_key(known) != name_key(record);
}
bool is_other(const QosRecord& known, const QosRecord& record) {
  return !iequals(known.name, record.name);
}
bool is_other(const WckeyRecord& /*known*/, const WckeyRecord& /*record*/) { return false; }

template <class T>
void compare(const CowTable<T>& known, const std::vector<T>& records, std::vector<T>& changed,
             std::vector<uint32_t>& gone) {
  std::unordered_set<uint32_t> there;
  for (const T& record : records) {
    there.insert(record.id);
    const T* before = record.id == 0 ? nullptr : known.find(record.id);
    if (record.id != 0 && (before == nullptr || !(*before == record))) changed.push_back(record);
    if (before != nullptr && is_other(*before, record)) gone.push_back(record.id);
  }
  known.for_each([&](const T& record) {
    if (!there.contains(record.id)) gone.push_back(record.id);
  });
}

template <class Table, class T, class Name>
void compare_named(const Table& known, const std::vector<T>& records, Name&& name_of,
                   std::vector<T>& changed, std::vector<std::string>& gone) {
  std::unordered_set<std::string> there;
  for (const T& record : records) {
    there.insert(name_of(record));
    const auto before = known.find(name_of(record));
    if (before == known.end() || !(before->second == record)) changed.push_back(record);
  }
  for (const auto& [name, record] : known) {
    if (!there.contains(name)) gone.push_back(name);
  }
}

std::vector<AccountingUser> with_uids(const FollowAccounting& command) {
  std::vector<AccountingUser> users;
  for (const UserRecord& record : command.records.users) {
    const auto uid = command.uids.find(record.name);
    users.push_back({record, uid == command.uids.end() ? UINT32_MAX : uid->second});
  }
  return users;
}

bool is_nothing(const AccountingChanged& event) {
  return event.tres.empty() && event.accounts.empty() && event.users.empty() &&
         event.associations.empty() && event.qos.empty() && event.wckeys.empty() &&
         event.gone_accounts.empty() && event.gone_users.empty() &&
         event.gone_associations.empty() && event.gone_qos.empty() && event.gone_wckeys.empty();
}

// Midnight of a day of the month, by local time.
Time midnight(const std::tm& now, int month, int day) {
  std::tm parts{};
  parts.tm_year = now.tm_year;
  parts.tm_mon = month;
  parts.tm_mday = day;
  parts.tm_isdst = -1;
  return from_seconds(std::mktime(&parts));
}

// Events carry the time until which jobs are charged: no job may begin later.
bool begins_later(const ClusterState& state, Time now) {
  bool later = false;
  state.active.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    later = later || job.start > now || job.suspended_at > now || job.charged > now;
  });
  return later;
}

bool limits_use(const ClusterState& state) {
  bool any = false;
  const auto look = [&](const auto& record) {
    any = any || !record.group.tres_mins.empty() || record.group.wall.has_value();
  };
  state.accounting.associations.for_each(look);
  state.accounting.qos.for_each(look);
  return any;
}

// Jobs whose account or QOS has used up what it may use.
void end_used_up(Draft& draft, Time now) {
  const Enforced rules = enforced(*draft.state().config);
  if (!rules.limits || rules.safe || !limits_use(draft.state())) return;
  std::vector<std::pair<JobId, JobReason>> over;
  draft.state().active.for_each([&](JobId id) {
    const Job& job = draft.job(id);
    if (!is_running(job) || job.account == nullptr || job.charge == nullptr) return;
    LimitedJob limited;
    limited.account = job.account.get();
    limited.uid = job.spec->uid;
    limited.account_name = job.spec->account.view();
    limited.tres = job.charge->tres;
    limited.admin_set = job.admin_set;
    const Accounting& accounting = draft.state().accounting;
    if (const auto reason = used_up(accounting, accounting.held, limited, now))
      over.emplace_back(id, *reason);
  });
  for (const auto& [id, reason] : over) {
    const JobId whole = whole_job(draft, id);
    if (!is_running(draft.job(whole))) continue;  // it went with another component
    complete_job(draft, whole, {.state = JobState::kTimeout, .reason = reason}, now);
  }
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const FollowAccounting& command, Time now) {
  const Accounting& known = state.accounting;
  const AccountingRecords& records = command.records;
  AccountingChanged event;
  event.version = records.version;
  event.by_name = true;
  event.time = now;
  for (const TresRecord& tres : records.tres) {
    if (std::ranges::find(*known.tres, tres) == known.tres->end()) event.tres.push_back(tres);
  }
  compare_named(
      *known.accounts, records.accounts, [](const AccountRecord& a) { return a.name; },
      event.accounts, event.gone_accounts);
  compare_named(
      *known.users, with_uids(command), [](const AccountingUser& u) { return u.record.name; },
      event.users, event.gone_users);
  compare(known.associations, records.associations, event.associations, event.gone_associations);
  compare(known.qos, records.qos, event.qos, event.gone_qos);
  compare(known.wckeys, records.wckeys, event.wckeys, event.gone_wckeys);
  Decision decision;
  if (!is_nothing(event) || event.version != known.version)
    decision.events.emplace_back(std::move(event));
  return decision;
}

double decay_factor(const ClusterConfig& config, Duration passed) {
  constexpr double kLn2 = 0.693;
  const auto half_life = static_cast<double>(to_seconds(config.priority_decay_half_life));
  if (half_life <= 0) return 1;
  const auto seconds = static_cast<double>(std::max<int64_t>(0, to_seconds(passed)));
  return std::pow(std::max(0.0, 1 - kLn2 / half_life), seconds);
}

Time last_reset(const ClusterConfig& config, Time now) {
  const std::string& period = config.priority_usage_reset_period;
  const std::time_t second = to_seconds(now);
  std::tm local{};
  localtime_r(&second, &local);
  if (iequals(period, "DAILY")) return midnight(local, local.tm_mon, local.tm_mday);
  if (iequals(period, "WEEKLY"))
    return midnight(local, local.tm_mon, local.tm_mday - local.tm_wday);
  if (iequals(period, "MONTHLY")) return midnight(local, local.tm_mon, 1);
  if (iequals(period, "QUARTERLY")) return midnight(local, local.tm_mon / 3 * 3, 1);
  if (iequals(period, "YEARLY")) return midnight(local, 0, 1);
  return kNoTime;
}

void tick_usage(Draft& draft, Time now) {
  const ClusterState& state = draft.state();
  const Accounting& accounting = state.accounting;
  if (accounting.version == 0) return;
  const Time before = accounting.charged;
  const Duration period = state.config->priority_calc_period;
  if (before != kNoTime && now < before + std::max(period, Duration(std::chrono::seconds(1))))
    return;
  charge_now(draft, now);
  end_used_up(draft, now);
}

void charge_now(Draft& draft, Time now) {
  const ClusterState& state = draft.state();
  const Accounting& accounting = state.accounting;
  const Time before = accounting.charged;
  if (begins_later(state, now) || (before != kNoTime && now < before)) return;
  UsageDecayed event;
  event.time = now;
  const bool once = iequals(state.config->priority_usage_reset_period, "NOW");
  const bool due = once ? accounting.reset < state.epoch_start
                        : before != kNoTime && before < last_reset(*state.config, now);
  if (due) event.factor = 0;
  else if (before != kNoTime) event.factor = decay_factor(*state.config, now - before);
  draft.emit(event);
}

}  // namespace sluice::state
