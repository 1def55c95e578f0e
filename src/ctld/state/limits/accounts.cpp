#include "ctld/state/limits/accounts.hpp"

#include <algorithm>
#include <map>

#include "common/base/text.hpp"
#include "common/names/job_states.hpp"
#include "ctld/state/core/indexes.hpp"
#include "ctld/state/limits/billing.hpp"
#include "ctld/state/rules/fits.hpp"

namespace sluice::state {
namespace {

constexpr QosId kNormalQos = 1;

// What a job that names no QOS gets.
QosId default_qos(const Accounting& accounting, const AssociationRecord* association) {
  if (association == nullptr) return accounting.qos.contains(kNormalQos) ? kNormalQos : 0;
  if (association->default_qos != 0) return association->default_qos;
  if (association->qos.size() == 1) return association->qos.front();
  const bool normal =
      std::ranges::binary_search(association->qos, kNormalQos) || association->qos.empty();
  if (normal) return accounting.qos.contains(kNormalQos) ? kNormalQos : 0;
  return association->qos.front();
}

// Whether the association may use that QOS, for a job with or without a reservation.
bool may_use(const Accounting& accounting, const AssociationRecord& association, QosId id,
             bool has_reservation) {
  const QosRecord* qos = id == 0 ? nullptr : accounting.qos.find(id);
  if (qos == nullptr || !std::ranges::binary_search(association.qos, id)) return false;
  return has_reservation || (qos->flags & kQosRequiresReservation) == 0;
}

Status resolve_qos(const ClusterState& state, const AssociationRecord* association,
                   bool by_operator, JobSpec& spec, JobAccount& account) {
  const Accounting& accounting = state.accounting;
  const bool enforced_qos = enforced(*state.config).qos;
  if (spec.qos.empty()) {
    account.qos = default_qos(accounting, association);
    const QosRecord* qos = account.qos == 0 ? nullptr : accounting.qos.find(account.qos);
    if (qos != nullptr) spec.qos = qos->name;
  } else {
    const QosRecord* qos = find_qos(accounting, spec.qos.view());
    if (qos == nullptr) return failure(ErrorCode::kInvalidQos);
    account.qos = qos->id;
    spec.qos = qos->name;
  }
  if (!enforced_qos || association == nullptr || by_operator) return {};
  const bool may = may_use(accounting, *association, account.qos, !spec.reservation.empty());
  return may ? Status{} : failure(ErrorCode::kInvalidQos);
}

// A user's default wckey is shown with a `*`.
Status resolve_wckey(const ClusterState& state, JobSpec& spec) {
  if (const std::string lower = to_lower(spec.wckey.view()); lower != spec.wckey.view())
    spec.wckey = lower;
  if (!state.config->track_wckey) return {};
  const Accounting& accounting = state.accounting;
  if (spec.wckey.empty()) {
    const auto user = accounting.users->find(spec.user_name.view());
    if (user != accounting.users->end() && !user->second.record.default_wckey.empty())
      spec.wckey = "*" + user->second.record.default_wckey;
  }
  // who has no default key may run jobs without one, as in Slurm
  if (!enforced(*state.config).wckeys || spec.wckey.empty()) return {};
  const bool known =
      find_wckey(accounting, spec.user_name.view(), wckey_name(spec.wckey.view())) != nullptr;
  return known ? Status{} : failure(ErrorCode::kError, "Invalid wckey specification");
}

}  // namespace

bool lacks_qos(const ClusterState& state, const PartitionConfig& partition) {
  return !partition.qos.empty() && state.accounting.version != 0 &&
         find_qos(state.accounting, partition.qos) == nullptr;
}

Enforced enforced(const ClusterConfig& config) {
  if (config.accounting_storage_type.empty()) return {};
  const auto says = [&](std::string_view word) {
    return has_option(config.accounting_storage_enforce, word);
  };
  return {says("associations"), says("limits"), says("qos"), says("safe"), says("wckeys")};
}

Result<std::shared_ptr<const JobAccount>> resolve_account(
    const ClusterState& state, JobSpec& spec, const std::vector<const Partition*>& partitions,
    bool by_operator) {
  const Accounting& accounting = state.accounting;
  const Enforced rules = enforced(*state.config);
  if (spec.account == kNoAccount) {
    if (rules.associations) return failure(ErrorCode::kInvalidAccount);
    spec.account = {};
  }
  if (spec.qos == kNoQos) {
    if (accounting.version != 0 || rules.associations) return failure(ErrorCode::kInvalidQos);
    spec.qos = {};
  }
  if (accounting.version == 0 && !rules.associations) return nullptr;
  const std::string_view user = spec.user_name.view();
  std::string account = to_lower(spec.account.view());
  if (account.empty()) account = default_account(accounting, user);
  if (!account.empty() && account != spec.account.view()) spec.account = account;
  const AssociationRecord* association = nullptr;
  for (const Partition* partition : partitions) {
    association = find_association(accounting, user, account, partition->config->name);
    if (association != nullptr) break;
  }
  if (association == nullptr && rules.associations) return failure(ErrorCode::kInvalidAccount);
  auto made = std::make_shared<JobAccount>();
  if (association != nullptr) made->association = association->id;
  if (!partitions.empty())
    made->partition_qos = find_qos_id(accounting, partitions.front()->config->qos);
  if (Status ok = resolve_qos(state, association, by_operator, spec, *made); !ok)
    return tl::unexpected(ok.error());
  if (Status ok = resolve_wckey(state, spec); !ok) return tl::unexpected(ok.error());
  return made;
}

AccountIn account_in(const ClusterState& state, const Job& job, const Partition& partition,
                     const Enforced& rules) {
  const Accounting& accounting = state.accounting;
  if (job.account == nullptr && !rules.associations) return {};
  const JobAccount now = job.account == nullptr ? JobAccount() : *job.account;
  JobAccount in = now;
  in.partition_qos = find_qos_id(accounting, partition.config->qos);
  const AssociationRecord* association = find_association(accounting, now.association);
  const bool of_here = association != nullptr && !accounting.names->by_partition &&
                       association->account == job.spec->account;
  if (!of_here) {
    association = find_association(accounting, *job.spec, partition.config->name);
    in.association = association == nullptr ? 0 : association->id;
  }
  AccountIn out;
  if (in.association == 0 && rules.associations) out.reason = JobReason::kInvalidAccount;
  if (in.qos == 0) in.qos = find_qos_id(accounting, job.spec->qos.view());
  if (rules.qos && !accounting.qos.contains(in.qos)) out.reason = JobReason::kInvalidQOS;
  // what it was admitted with may have been taken from its user since
  const bool by_operator = (job.admin_set & kAdminSetQos) != 0;
  if (rules.qos && association != nullptr && !by_operator &&
      !may_use(accounting, *association, in.qos, !job.spec->reservation.empty()))
    out.reason = JobReason::kInvalidQOS;
  const bool lacks_qos =
      in.partition_qos == 0 && !partition.config->qos.empty() && accounting.version != 0;
  if ((rules.qos || rules.limits) && lacks_qos) out.reason = JobReason::kInvalidQOS;
  out.account =
      job.account != nullptr && in == now ? job.account : std::make_shared<const JobAccount>(in);
  return out;
}

namespace {

// Whatever nodes it gets: one of them has that much at least.
TresAmounts on_each_node(TresAmounts asked) {
  uint64_t nodes = 1;
  for (const TresAmount& one : asked)
    if (one.id == kTresNode && one.count > 0) nodes = one.count;
  for (TresAmount& one : asked) one.count /= nodes;
  return asked;
}

Status check_submit_limits_in(const ClusterState& state, RelativeNumbers& numbers,
                              const PartitionConfig& config, const Submission& submission,
                              JobSpec& spec, Time now) {
  const JobAccount* account = submission.account;
  const auto wall = longest_wall(state.accounting, *account);
  Minutes limit =
      spec.time_limit != 0 ? spec.time_limit : config.default_time.value_or(config.max_time);
  if (wall && spec.time_limit == 0) {
    const auto minutes = static_cast<Minutes>(to_seconds(*wall) / 60);
    if (minutes < limit) limit = spec.time_limit = minutes;
  }
  const TresAmounts asked = requested_amounts(state, spec, config);
  const TresAmounts of_node = on_each_node(asked);
  LimitedJob job;
  job.account = account;
  job.uid = spec.uid;
  job.account_name = spec.account.view();
  job.count = submission.count;
  job.tres = asked;
  job.tres_of_node = of_node;
  job.time_limit = spec.time_min != 0 ? spec.time_min : limit;
  job.admin_set = submission.admin_set;
  if (submission.moved != nullptr) {
    job.counted_in = submission.moved->account.get();
    job.counted_as = submission.moved->spec->account.view();
  }
  const auto reason =
      submit_limit(numbers.accounting_for(*account), state.accounting.held, job, now);
  if (!reason) return {};
  return failure(ErrorCode::kMaxSubmitLimit, std::string(reason_text(*reason)));
}

}  // namespace

Status check_submit_limits(const ClusterState& state, const Submission& submission, JobSpec& spec,
                           Time now) {
  if (submission.account == nullptr || !enforced(*state.config).limits) return {};
  RelativeNumbers numbers(state);
  const PartitionConfig& first = *submission.partitions.front()->config;
  Status ok = check_submit_limits_in(state, numbers, first, submission, spec, now);
  for (const Partition* partition : submission.partitions.subspan(1)) {
    if (!ok) break;
    JobAccount there = *submission.account;
    there.partition_qos = find_qos_id(state.accounting, partition->config->qos);
    if (there == *submission.account) continue;
    Submission submission_there = submission;
    submission_there.account = &there;
    JobSpec of_there = spec;  // its time limit is that of the first partition
    ok =
        check_submit_limits_in(state, numbers, *partition->config, submission_there, of_there, now);
  }
  return ok;
}

Status check_component_limits(const ClusterState& state, std::span<const Job* const> components,
                              Time now) {
  if (!enforced(*state.config).limits) return {};
  struct Sum {
    JobAccount account;
    std::map<TresId, uint64_t> tres;
    Minutes time_limit = kInfiniteMinutes;  // the shortest
    const Job* first = nullptr;
    AdminSet admin_set = 0;
  };
  std::map<std::pair<AssociationId, QosId>, Sum> sums;
  for (const Job* job : components) {
    if (job->account == nullptr) continue;
    Sum& sum = sums[{job->account->association, job->account->qos}];
    if (sum.first == nullptr) {
      sum.account = *job->account;
      sum.first = job;
    } else if (sum.account != *job->account) {
      sum.account.partition_qos = 0;  // those of several partitions were looked at one by one
    }
    sum.time_limit = std::min(sum.time_limit, job->time_limit);
    sum.admin_set |= job->admin_set;
    const Partition* partition = find_partition(state, job->partition.view());
    if (partition == nullptr) continue;
    for (const TresAmount& one : requested_amounts(state, *job->spec, *partition->config))
      sum.tres[one.id] += one.count;
  }
  RelativeNumbers numbers(state);
  for (const auto& [key, sum] : sums) {
    TresAmounts tres;
    for (const auto& [id, count] : sum.tres) tres.push_back({id, count});
    LimitedJob job;
    job.account = &sum.account;
    job.uid = sum.first->spec->uid;
    job.account_name = sum.first->spec->account.view();
    job.tres = tres;
    job.time_limit = sum.time_limit;
    job.admin_set = sum.admin_set;
    const Accounting& accounting = numbers.accounting_for(sum.account);
    if (const auto reason = denied_limit(accounting, state.accounting.held, job, now))
      return failure(ErrorCode::kMaxSubmitLimit, std::string(reason_text(*reason)));
  }
  return {};
}

uint32_t tasks_that_may_age(const ClusterState& state, const Job& job) {
  LimitedJob limited;
  limited.count = static_cast<uint32_t>(place_of(job).count);
  if (job.account == nullptr || !enforced(*state.config).limits ||
      has_option(state.config->priority_flags, "ACCRUE_ALWAYS"))
    return limited.count;
  limited.account = job.account.get();
  limited.uid = job.spec->uid;
  limited.account_name = job.spec->account.view();
  return may_accrue(state.accounting, state.accounting.held, limited);
}

std::optional<LimitHit> limit_hit(const ClusterState& state, const HeldTables& held,
                                  const StartToCheck& start, const Enforced& rules, Time now) {
  if (start.account == nullptr || !rules.limits) return std::nullopt;
  LimitedJob job;
  job.account = start.account;
  job.uid = start.job->spec->uid;
  job.account_name = start.job->spec->account.view();
  if (start.tres != nullptr) job.tres = *start.tres;
  if (start.tres_of_node != nullptr) job.tres_of_node = *start.tres_of_node;
  job.time_limit = start.time_limit;
  job.allocation = start.allocation;
  job.on_fresh_nodes = start.on_fresh_nodes;
  job.admin_set = start.job->admin_set;
  RelativeNumbers own(state);
  RelativeNumbers& numbers = start.numbers == nullptr ? own : *start.numbers;
  return start_limit_hit(numbers.accounting_for(*start.account), held, job, {rules.safe}, now);
}

std::optional<JobReason> why_limited(const ClusterState& state, const HeldTables& held,
                                     const StartToCheck& start, const Enforced& rules, Time now) {
  const auto hit = limit_hit(state, held, start, rules, now);
  return hit ? std::optional(hit->reason) : std::nullopt;
}

}  // namespace sluice::state
