#include "ctld/state/limits/limits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "ctld/state/limits/limit_reasons.hpp"
#include "ctld/state/limits/qos_of.hpp"

namespace sluice::state {
namespace {

using F = protocol::LimitField;

// By TresLimit.
constexpr std::array kFields = {
    F::kGrpTres,        F::kGrpTresMins,
    F::kGrpTresRunMins, F::kMaxTresPerJob,
    F::kMaxTresPerNode, F::kMaxTresMinsPerJob,
    F::kMaxTresPerUser, F::kMaxTresPerAccount,
    F::kMaxTresRunMins, F::kMaxTresRunMinsPerAccount,
    F::kMinTresPerJob,
};
constexpr uint32_t kKinds = 32;  // more than there are fields
constexpr TresId kFewIds = 64;   // the standard TRES are among the first
constexpr double kMinute = 60;

const Held kNothingHeld;
const Usage kNothingUsed;

const Held& held_of(const CowTable<Held>& table, uint32_t id) {
  const Held* held = table.find(id);
  return held == nullptr ? kNothingHeld : *held;
}

uint64_t amount_of(std::span<const TresAmount> amounts, TresId id) {
  const auto at = std::ranges::lower_bound(amounts, id, {}, &TresAmount::id);
  return at != amounts.end() && at->id == id ? at->count : 0;
}

uint64_t whole_number(double number) {
  constexpr double kMost = 9.2e18;
  return static_cast<uint64_t>(std::clamp(number, 0.0, kMost));
}

class Check {
 public:
  Check(const Accounting& accounting, const HeldTables& held, const LimitedJob& job, Time now)
      : accounting_(accounting),
        held_(held),
        job_(job),
        qos_(qos_of(accounting, *job.account)),
        second_(to_seconds(now)) {
    if (runs_softly(job.account)) return;  // of the limits of its association it is free
    for_ancestors(accounting, job.account->association,
                  [&](AssociationId, const AssociationRecord* one) {
                    if (one != nullptr && count_ < above_.size()) above_[count_++] = one;
                  });
  }

  std::optional<JobReason> start(const LimitRules& rules) {
    safe_ = rules.safe;
    for_levels([&](const QosRecord& qos) { start_in(qos); },
               [&](AssociationId id, const AssociationRecord& one) { start_in(id, one); });
    return hit_;
  }
  [[nodiscard]] const LimitHit& where() const { return where_; }
  std::optional<JobReason> submit() {
    for_levels([&](const QosRecord& qos) { submit_in(qos); },
               [&](AssociationId id, const AssociationRecord& one) { submit_in(id, one); });
    return hit_;
  }
  // As if nobody else had anything.
  std::optional<JobReason> alone() {
    safe_ = true;  // more minutes than GrpTRESMins has are never there
    for_levels(
        [&](const QosRecord& qos) {
          tres_of(qos, nothing(), kNothingUsed);
          group_wall_alone(qos.group, JobReason::kQOSGrpWallLimit);
          wall_of(qos);
        },
        [&](AssociationId, const AssociationRecord& one) {
          tres_of(one, kNothingHeld, kNothingUsed);
          group_wall_alone(one.group, JobReason::kAssocGrpWallLimit);
          if (is_leaf_) wall_of(one);
        });
    return hit_;
  }
  std::optional<JobReason> used_up() {
    const auto look = [&](const GroupLimits& group, const Held& held, const Usage* known,
                          JobReason wall) {
      const Usage& usage = known == nullptr ? kNothingUsed : *known;
      group_wall(group, held, usage, wall);
      bound(TresLimit::kGroupMins, group.tres_mins, [&](TresId id, uint64_t limit) {
        const double used = used_seconds(held, usage, id) / kMinute;
        return Sum{amount_of(job_.tres, id) > 0 && used >= static_cast<double>(limit), used, 0};
      });
    };
    for_levels(
        [&](const QosRecord& qos) {
          look(qos.group, held_of(held_.qos, qos.id), accounting_.qos_usage.find(qos.id),
               JobReason::kQOSGrpWallLimit);
        },
        [&](AssociationId id, const AssociationRecord& one) {
          look(one.group, held_of(held_.associations, id), accounting_.association_usage.find(id),
               JobReason::kAssocGrpWallLimit);
        });
    return hit_;
  }
  bool accrue() {
    for_levels([&](const QosRecord& qos) { accrue_in(qos); },
               [&](AssociationId id, const AssociationRecord& one) {
                 const uint32_t all = held_of(held_.associations, id).accruing;
                 bound(F::kGrpJobsAccrue, one.group.jobs_accrue, all, job_.count,
                       JobReason::kAccountingPolicy);
                 if (is_leaf_)
                   bound(F::kMaxJobsAccrue, member_of(&MemberLimits::jobs_accrue), all, job_.count,
                         JobReason::kAccountingPolicy);
               });
    return !hit_;
  }

 private:
  struct Members {
    const Held *all, *user, *account;
  };
  static Members nothing() { return {&kNothingHeld, &kNothingHeld, &kNothingHeld}; }

  template <class OfQos, class OfAssociation>
  void for_levels(OfQos&& of_qos, OfAssociation&& of_association) {
    for (const QosRecord* qos : qos_) {
      if (qos == nullptr || hit_) continue;
      at_ = qos->id;
      of_qos(*qos);
    }
    in_qos_ = false;
    is_leaf_ = true;
    for (const AssociationRecord* one : associations()) {
      at_ = one->id;
      if (!hit_) of_association(one->id, *one);
      is_leaf_ = false;
    }
  }

  // Whether a limit of this kind is still to be looked at: no QOS had one before. QOS say that they
  // have one.
  bool counts(F field, uint32_t id) {
    const auto kind = static_cast<uint32_t>(field);
    if (id < kFewIds) {
      uint64_t& ids = said_of_few_[kind];
      const uint64_t bit = uint64_t{1} << id;
      if ((ids & bit) != 0) return false;
      if (in_qos_) ids |= bit;
      return true;
    }
    const std::pair key(kind, id);
    if (std::ranges::find(said_, key) != said_.end()) return false;
    if (in_qos_) said_.push_back(key);
    return true;
  }
  // Of it everything but whose limit it is.
  void hit(const LimitHit& found) {
    if (hit_) return;
    hit_ = found.reason;
    where_ = found;
    where_.association = in_qos_ ? 0 : at_;
    where_.qos = in_qos_ ? at_ : 0;
  }

  // used + more may not be above the limit.
  void bound(F field, const std::optional<uint32_t>& limit, uint64_t used, uint64_t more,
             JobReason reason) {
    if (!limit || !counts(field, 0) || used + more <= *limit) return;
    LimitHit found{.reason = reason, .field = field};
    found.of_user = in_qos_ && field == F::kMaxJobs;
    found.of_account = field == F::kMaxJobsPerAccount;
    const bool of_jobs = field == F::kGrpJobs || field == F::kMaxJobs || found.of_account;
    found.passes = of_jobs && more <= *limit;  // it does for this job alone
    found.limit = *limit;
    found.used = static_cast<double>(used);
    found.asked = static_cast<double>(more);
    hit(found);
  }

  // In the limit's unit.
  struct Sum {
    bool over = false;
    double used = 0, asked = 0;
  };
  template <class SumOf>
  void bound(TresLimit kind, const TresAmounts& limits, SumOf&& sum_of) {
    for (const TresAmount& limit : limits) {
      const F field = kFields[static_cast<size_t>(kind)];
      if (!counts(field, limit.id) || is_admin_set(limit.id)) continue;
      const uint64_t in_force = limit_in_force(kind, limit.count);
      const Sum sum = sum_of(limit.id, in_force);
      if (!sum.over) continue;
      LimitHit found{.reason = in_qos_ ? qos_reason(accounting_, kind, limit.id)
                                       : association_reason(accounting_, kind, limit.id),
                     .field = field,
                     .tres = limit.id};
      found.of_user = kind == TresLimit::kUser || kind == TresLimit::kUserRunMins;
      found.of_account = kind == TresLimit::kAccount || kind == TresLimit::kAccountRunMins;
      found.passes = passes(kind);
      found.of_nodes = limit.id == kTresNode && counts_nodes(kind);
      found.limit = static_cast<double>(in_force);
      found.used = sum.used;
      found.asked = sum.asked;
      hit(found);
    }
  }
  // An operator said how much of it the job gets.
  [[nodiscard]] bool is_admin_set(TresId id) const {
    if (job_.admin_set == 0) return false;
    switch (id) {
      case kTresCpu: return (job_.admin_set & kAdminSetCpus) != 0;
      case kTresMem: return (job_.admin_set & kAdminSetMemory) != 0;
      case kTresNode: return (job_.admin_set & kAdminSetNodes) != 0;
      default: break;
    }
    const auto at = std::ranges::lower_bound(*accounting_.tres, id, {}, &TresRecord::id);
    if (at == accounting_.tres->end() || at->id != id) return false;
    return (at->type == "gres" && (job_.admin_set & kAdminSetGres) != 0) ||
           (at->type == "license" && (job_.admin_set & kAdminSetLicenses) != 0);
  }
  static bool passes(TresLimit kind) {
    switch (kind) {
      case TresLimit::kGroup:
      case TresLimit::kGroupRunMins:
      case TresLimit::kUser:
      case TresLimit::kAccount:
      case TresLimit::kUserRunMins:
      case TresLimit::kAccountRunMins: return true;
      default: return false;
    }
  }
  static bool counts_nodes(TresLimit kind) {
    return kind == TresLimit::kGroup || kind == TresLimit::kUser || kind == TresLimit::kAccount;
  }
  // A QOS's LimitFactor makes those of associations larger or smaller.
  [[nodiscard]] uint64_t limit_in_force(TresLimit kind, uint64_t limit) const {
    const bool scaled = !in_qos_ && (kind == TresLimit::kGroup || kind == TresLimit::kJob);
    if (!scaled) return limit;
    for (const QosRecord* qos : qos_) {
      if (qos != nullptr && qos->limit_factor && *qos->limit_factor > 0)
        return whole_number(static_cast<double>(limit) * *qos->limit_factor);
    }
    return limit;
  }

  // TRES seconds of the whole job. Without a limit it is none that could be reckoned with.
  [[nodiscard]] double job_seconds(TresId id) const {
    constexpr double kYear = 365.0 * 24 * 3600;
    const double seconds =
        job_.time_limit == kInfiniteMinutes ? kYear : 60.0 * static_cast<double>(job_.time_limit);
    return static_cast<double>(amount_of(job_.tres, id)) * seconds;
  }
  [[nodiscard]] double used_seconds(const Held& held, const Usage& usage, TresId id) const {
    double seconds = usage.of(id);
    const auto at = std::ranges::lower_bound(held.tres, id, {}, &HeldTres::id);
    if (at != held.tres.end() && at->id == id)
      seconds += static_cast<double>(at->rate.used_until(second_)) / static_cast<double>(kMicro);
    return seconds;
  }
  [[nodiscard]] double used_wall(const Held& held, const Usage& usage) const {
    return usage.wall +
           static_cast<double>(held.wall.used_until(second_)) / static_cast<double>(kMicro);
  }
  // With UsageFactorSafe a job's own part counts as it will be charged.
  [[nodiscard]] double factor() const {
    for (const QosRecord* qos : qos_) {
      if (qos != nullptr && (qos->flags & kQosUsageFactorSafe) != 0) return qos->usage_factor;
    }
    return 1;
  }

  void group_tres(const GroupLimits& group, const Held& held, const Usage& usage) {
    bound(TresLimit::kGroup, group.tres,
          [&](TresId id, uint64_t limit) { return at_once(held, id, limit); });
    bound(TresLimit::kGroupMins, group.tres_mins, [&](TresId id, uint64_t limit) {
      const double seconds = static_cast<double>(limit) * kMinute;
      double used = used_seconds(held, usage, id);
      const double mine = job_seconds(id) * factor();
      bool over = used >= seconds;
      if (safe_) {
        used += static_cast<double>(held.left_of(id, second_));
        over = over || used + mine > seconds;
      }
      return Sum{over && amount_of(job_.tres, id) > 0, used / kMinute, mine / kMinute};
    });
    bound(TresLimit::kGroupRunMins, group.tres_run_mins,
          [&](TresId id, uint64_t limit) { return run_mins(held, id, limit); });
  }
  [[nodiscard]] Sum at_once(const Held& held, TresId id, uint64_t limit) const {
    return {count_with(held, id) > limit, static_cast<double>(held.count_of(id)),
            static_cast<double>(amount_of(job_.tres, id))};
  }
  // What is held once the job runs; 0: it has nothing of this. A node that is used already counts
  // no more for this job; before nodes were chosen that may be all of them.
  [[nodiscard]] uint64_t count_with(const Held& held, TresId id) const {
    const uint64_t mine = amount_of(job_.tres, id);
    if (mine == 0) return 0;
    if (id != kTresNode) return held.count_of(id) + mine;
    if (job_.on_fresh_nodes) return held.nodes.size() + mine;
    if (job_.allocation == nullptr) return std::max<uint64_t>(held.nodes.size(), mine);
    const auto fresh = std::ranges::count_if(
        job_.allocation->nodes,
        [&](const NodeAllocation& node) { return !held.nodes.contains(node.node); });
    return held.nodes.size() + static_cast<uint64_t>(fresh);
  }
  [[nodiscard]] Sum run_mins(const Held& held, TresId id, uint64_t limit) const {
    const double mine = job_seconds(id);
    const auto left = static_cast<double>(held.left_of(id, second_));
    const bool over = mine > 0 && left + mine > static_cast<double>(limit) * kMinute;
    return {over, left / kMinute, mine / kMinute};
  }
  static Sum of_job(double asked, uint64_t limit) {
    return {asked > static_cast<double>(limit), 0, asked};
  }
  void job_tres(const JobLimits& limits) {
    const auto amount = [](std::span<const TresAmount> tres, TresId id) {
      return static_cast<double>(amount_of(tres, id));
    };
    bound(TresLimit::kJob, limits.tres,
          [&](TresId id, uint64_t limit) { return of_job(amount(job_.tres, id), limit); });
    bound(TresLimit::kNode, limits.tres_node,
          [&](TresId id, uint64_t limit) { return of_job(amount(job_.tres_of_node, id), limit); });
    bound(TresLimit::kJobMins, limits.tres_mins,
          [&](TresId id, uint64_t limit) { return of_job(job_seconds(id) / kMinute, limit); });
  }

  void tres_of(const QosRecord& qos, const Members& held, const Usage& usage) {
    group_tres(qos.group, *held.all, usage);
    job_tres(qos.job);
    const auto count = [this](const Held& member) {
      return [this, &member](TresId id, uint64_t limit) { return at_once(member, id, limit); };
    };
    const auto minutes = [this](const Held& member) {
      return [this, &member](TresId id, uint64_t limit) { return run_mins(member, id, limit); };
    };
    bound(TresLimit::kUser, qos.user.tres, count(*held.user));
    bound(TresLimit::kAccount, qos.account.tres, count(*held.account));
    bound(TresLimit::kUserRunMins, qos.user.tres_run_mins, minutes(*held.user));
    bound(TresLimit::kAccountRunMins, qos.account.tres_run_mins, minutes(*held.account));
    bound(TresLimit::kLeast, qos.job.min_tres, [&](TresId id, uint64_t limit) {
      const uint64_t mine = amount_of(job_.tres, id);
      return Sum{!job_.tres.empty() && mine < limit, 0, static_cast<double>(mine)};
    });
  }
  void tres_of(const AssociationRecord& one, const Held& held, const Usage& usage) {
    group_tres(one.group, held, usage);
    if (!is_leaf_) return;
    JobLimits limits;
    limits.tres = inherited(&JobLimits::tres);
    limits.tres_node = inherited(&JobLimits::tres_node);
    limits.tres_mins = inherited(&JobLimits::tres_mins);
    job_tres(limits);
  }

  void wall_of(const QosRecord& qos) {
    if ((job_.admin_set & kAdminSetTime) != 0) return;
    bound(F::kMaxWall, minutes(qos.job.wall), 0, job_.time_limit,
          JobReason::kQOSMaxWallDurationPerJobLimit);
  }
  void wall_of(const AssociationRecord&) {
    if ((job_.admin_set & kAdminSetTime) != 0) return;
    std::optional<Duration> wall;
    for (const AssociationRecord* above : associations()) {
      if (!wall) wall = above->job.wall;
    }
    bound(F::kMaxWall, minutes(wall), 0, job_.time_limit,
          JobReason::kAssocMaxWallDurationPerJobLimit);
  }
  void group_wall_alone(const GroupLimits& group, JobReason reason) {
    if ((job_.admin_set & kAdminSetTime) != 0) return;
    bound(F::kGrpWall, minutes(group.wall), 0, job_.time_limit, reason);
  }
  static std::optional<uint32_t> minutes(const std::optional<Duration>& wall) {
    if (!wall) return std::nullopt;
    return static_cast<uint32_t>(to_seconds(*wall) / 60);
  }

  void start_in(const QosRecord& qos) {
    const Held& all = held_of(held_.qos, qos.id);
    const Usage* known = accounting_.qos_usage.find(qos.id);
    const Usage& usage = known == nullptr ? kNothingUsed : *known;
    const Members members{&all, member(held_.user_of(qos.id, job_.uid)),
                          member(held_.account_of(qos.id, job_.account_name))};
    if (qos.usage_threshold && (qos.flags & kQosEnforceUsageThreshold) != 0 &&
        accounting_.shares->of(job_.account->association).factor < *qos.usage_threshold) {
      LimitHit found{.reason = JobReason::kQOSUsageThreshold, .field = F::kUsageThreshold};
      found.limit = *qos.usage_threshold;
      found.used = accounting_.shares->of(job_.account->association).factor;
      hit(found);
    }
    bound(F::kGrpJobs, qos.group.jobs, all.jobs, 1, JobReason::kQOSGrpJobsLimit);
    group_wall(qos.group, all, usage, JobReason::kQOSGrpWallLimit);
    bound(F::kMaxJobsPerAccount, qos.account.jobs, members.account->jobs, 1,
          JobReason::kMaxJobsPerAccount);
    bound(F::kMaxJobs, qos.user.jobs, members.user->jobs, 1, JobReason::kQOSMaxJobsPerUserLimit);
    wall_of(qos);
    tres_of(qos, members, usage);
  }
  void start_in(AssociationId id, const AssociationRecord& one) {
    const Held& all = held_of(held_.associations, id);
    const Usage* known = accounting_.association_usage.find(id);
    const Usage& usage = known == nullptr ? kNothingUsed : *known;
    bound(F::kGrpJobs, one.group.jobs, all.jobs, 1, JobReason::kAssocGrpJobsLimit);
    group_wall(one.group, all, usage, JobReason::kAssocGrpWallLimit);
    if (is_leaf_) {
      bound(F::kMaxJobs, member_of(&MemberLimits::jobs), all.jobs, 1,
            JobReason::kAssocMaxJobsLimit);
      wall_of(one);
    }
    tres_of(one, all, usage);
  }
  void group_wall(const GroupLimits& group, const Held& held, const Usage& usage,
                  JobReason reason) {
    if (!group.wall || !counts(F::kGrpWall, 0)) return;
    LimitHit found{.reason = reason, .field = F::kGrpWall};
    found.limit = static_cast<double>(to_seconds(*group.wall)) / kMinute;
    found.used = used_wall(held, usage) / kMinute;
    bool over = found.used >= found.limit;
    // of what others may still run nothing counts
    if (safe_ && (job_.admin_set & kAdminSetTime) == 0) {
      found.asked = job_.time_limit;
      over = over || std::floor(found.used) + found.asked > found.limit;
    }
    if (over) hit(found);
  }

  void submit_in(const QosRecord& qos) {
    const JobAccount* before = job_.counted_in;
    const bool here =
        before != nullptr && (before->qos == qos.id || before->partition_qos == qos.id);
    const bool in_account = here && job_.counted_as == job_.account_name;
    bound(F::kGrpSubmitJobs, qos.group.submit, others(held_of(held_.qos, qos.id), here), job_.count,
          JobReason::kQOSGrpSubmitJobsLimit);
    bound(F::kMaxSubmitJobsPerAccount, qos.account.submit,
          others(*member(held_.account_of(qos.id, job_.account_name)), in_account), job_.count,
          JobReason::kMaxSubmitJobsPerAccount);
    bound(F::kMaxSubmitJobs, qos.user.submit,
          others(*member(held_.user_of(qos.id, job_.uid)), here), job_.count,
          JobReason::kQOSMaxSubmitJobPerUserLimit);
  }
  void submit_in(AssociationId id, const AssociationRecord& one) {
    bool here = false;
    if (job_.counted_in != nullptr) {
      for_ancestors(accounting_, job_.counted_in->association,
                    [&](AssociationId above, const AssociationRecord*) { here |= above == id; });
    }
    const uint32_t all = others(held_of(held_.associations, id), here);
    bound(F::kGrpSubmitJobs, one.group.submit, all, job_.count,
          JobReason::kAssocGrpSubmitJobsLimit);
    if (is_leaf_)
      bound(F::kMaxSubmitJobs, member_of(&MemberLimits::submit), all, job_.count,
            JobReason::kAssocMaxSubmitJobLimit);
  }
  // Without its own tasks where they are among them.
  [[nodiscard]] uint32_t others(const Held& held, bool here) const {
    return here ? held.submit - std::min(held.submit, job_.count) : held.submit;
  }
  void accrue_in(const QosRecord& qos) {
    const JobReason reason = JobReason::kAccountingPolicy;
    bound(F::kGrpJobsAccrue, qos.group.jobs_accrue, held_of(held_.qos, qos.id).accruing, job_.count,
          reason);
    bound(F::kMaxJobsAccruePerAccount, qos.account.jobs_accrue,
          member(held_.account_of(qos.id, job_.account_name))->accruing, job_.count, reason);
    bound(F::kMaxJobsAccrue, qos.user.jobs_accrue,
          member(held_.user_of(qos.id, job_.uid))->accruing, job_.count, reason);
  }

  static const Held* member(const Held* held) { return held == nullptr ? &kNothingHeld : held; }

  // Of the nearest association that says so.
  [[nodiscard]] std::optional<uint32_t> member_of(
      std::optional<uint32_t> MemberLimits::*limit) const {
    std::optional<uint32_t> found;
    for (const AssociationRecord* above : associations()) {
      if (!found) found = above->member.*limit;
    }
    return found;
  }
  // Of each TRES likewise.
  [[nodiscard]] TresAmounts inherited(TresAmounts JobLimits::*limits) const {
    TresAmounts found;
    for (const AssociationRecord* above : associations()) {
      for (const TresAmount& one : above->job.*limits) {
        const auto at = std::ranges::lower_bound(found, one.id, {}, &TresAmount::id);
        if (at == found.end() || at->id != one.id) found.insert(at, one);
      }
    }
    return found;
  }

  // Its own association first; those that are gone are left out.
  [[nodiscard]] std::span<const AssociationRecord* const> associations() const {
    return std::span(above_).first(count_);
  }

  const Accounting& accounting_;
  const HeldTables& held_;
  const LimitedJob& job_;
  const std::array<const QosRecord*, 2> qos_;
  const int64_t second_;
  std::array<const AssociationRecord*, kDeepestTree> above_;
  size_t count_ = 0;
  bool safe_ = false;
  bool in_qos_ = true;
  bool is_leaf_ = false;
  // limits that a QOS has, by kind and TRES
  std::array<uint64_t, kKinds> said_of_few_{};
  std::vector<std::pair<uint32_t, uint32_t>> said_;
  uint32_t at_ = 0;  // the QOS or association that is looked at
  std::optional<JobReason> hit_;
  LimitHit where_;
};

}  // namespace

std::optional<JobReason> start_limit(const Accounting& accounting, const HeldTables& held,
                                     const LimitedJob& job, const LimitRules& rules, Time now) {
  if (job.account == nullptr) return std::nullopt;
  return Check(accounting, held, job, now).start(rules);
}

std::optional<LimitHit> start_limit_hit(const Accounting& accounting, const HeldTables& held,
                                        const LimitedJob& job, const LimitRules& rules, Time now) {
  if (job.account == nullptr) return std::nullopt;
  Check check(accounting, held, job, now);
  if (!check.start(rules)) return std::nullopt;
  return check.where();
}

std::optional<JobReason> used_up(const Accounting& accounting, const HeldTables& held,
                                 const LimitedJob& job, Time now) {
  if (job.account == nullptr) return std::nullopt;
  return Check(accounting, held, job, now).used_up();
}

std::optional<JobReason> submit_limit(const Accounting& accounting, const HeldTables& held,
                                      const LimitedJob& job, Time now) {
  if (job.account == nullptr) return std::nullopt;
  if (const auto reason = Check(accounting, held, job, now).submit()) return reason;
  return denied_limit(accounting, held, job, now);
}

std::optional<JobReason> denied_limit(const Accounting& accounting, const HeldTables& held,
                                      const LimitedJob& job, Time now) {
  if (job.account == nullptr || !has_qos_flag(accounting, *job.account, kQosDenyOnLimit))
    return std::nullopt;
  return Check(accounting, held, job, now).alone();
}

uint32_t may_accrue(const Accounting& accounting, const HeldTables& held, LimitedJob job) {
  if (job.account == nullptr) return job.count;
  uint32_t most = 0;
  for (uint32_t step = std::bit_floor(job.count), all = job.count; step > 0; step /= 2) {
    job.count = most + step;
    if (job.count <= all && Check(accounting, held, job, kNoTime).accrue()) most = job.count;
  }
  return most;
}

}  // namespace sluice::state
