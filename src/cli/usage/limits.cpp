#include "cli/usage/limits.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "common/accounting/limit_fields.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

using accounting::LimitRow;
using protocol::AssociationInUse;
using protocol::AssocMgrReply;
using protocol::InUse;
using F = protocol::LimitField;

enum class Covers : uint8_t { kNothing, kGroup, kUser, kAccount, kJob };

Covers covers(F field) {
  switch (field) {
    case F::kGrpJobs:
    case F::kGrpJobsAccrue:
    case F::kGrpSubmitJobs:
    case F::kGrpTres:
    case F::kGrpTresMins:
    case F::kGrpTresRunMins:
    case F::kGrpWall: return Covers::kGroup;
    case F::kMaxJobs:
    case F::kMaxJobsAccrue:
    case F::kMaxSubmitJobs:
    case F::kMaxTresRunMins:
    case F::kMaxTresPerUser: return Covers::kUser;
    case F::kMaxJobsPerAccount:
    case F::kMaxJobsAccruePerAccount:
    case F::kMaxSubmitJobsPerAccount:
    case F::kMaxTresPerAccount:
    case F::kMaxTresRunMinsPerAccount: return Covers::kAccount;
    case F::kMaxTresPerJob:
    case F::kMaxTresPerNode:
    case F::kMaxTresMinsPerJob:
    case F::kMaxWall:
    case F::kMinTresPerJob: return Covers::kJob;
    default: return Covers::kNothing;
  }
}

uint64_t count_in_use(F field, const InUse& use) {
  switch (field) {
    case F::kGrpJobsAccrue:
    case F::kMaxJobsAccrue:
    case F::kMaxJobsAccruePerAccount: return use.accruing;
    case F::kGrpSubmitJobs:
    case F::kMaxSubmitJobs:
    case F::kMaxSubmitJobsPerAccount: return use.submit;
    case F::kGrpWall: return static_cast<uint64_t>(use.wall / 60);
    default: return use.jobs;
  }
}

uint64_t tres_in_use(F field, const InUse& use, TresId id) {
  const auto at = std::ranges::find(use.tres, id, &protocol::TresInUse::id);
  if (at == use.tres.end()) return 0;
  switch (field) {
    case F::kGrpTresMins: return static_cast<uint64_t>(at->seconds_used / 60);
    case F::kGrpTresRunMins:
    case F::kMaxTresRunMins:
    case F::kMaxTresRunMinsPerAccount: return at->seconds_left / 60;
    default: return at->count;
  }
}

// In a QOS with the flag Relative: a percentage.
bool is_relative(F field) {
  return field == F::kGrpTres || field == F::kMaxTresPerUser || field == F::kMaxTresPerAccount ||
         field == F::kMaxTresPerJob || field == F::kMaxTresPerNode || field == F::kMinTresPerJob;
}

bool in_minutes(F field) {
  return field == F::kGrpWall || field == F::kMaxWall || field == F::kGrpTresMins ||
         field == F::kGrpTresRunMins || field == F::kMaxTresRunMins ||
         field == F::kMaxTresRunMinsPerAccount || field == F::kMaxTresMinsPerJob;
}

// One limit, or one for each TRES.
struct Amounts {
  std::optional<uint64_t> count;
  TresAmounts tres;
};
struct ReadAmounts {
  Amounts operator()(const std::optional<uint32_t>* value) const { return {*value, {}}; }
  Amounts operator()(const std::optional<Duration>* value) const {
    if (!*value) return {};
    return {static_cast<uint64_t>(to_seconds(**value) / 60), {}};
  }
  Amounts operator()(const TresAmounts* value) const { return {std::nullopt, *value}; }
  // what is no limit
  Amounts operator()(std::monostate) const { return {}; }
  Amounts operator()(const uint32_t*) const { return {}; }
  Amounts operator()(const double*) const { return {}; }
  Amounts operator()(const std::optional<double>*) const { return {}; }
};
template <class Record>
Amounts amounts_of(Record record, F field) {
  return std::visit(ReadAmounts(), accounting::limit_of(record, field));
}

class Limits {
 public:
  Limits(const std::string& user, const AssocMgrReply& all) : user_(user), all_(all) {}

  void association(const AssociationChain& chain) {
    const AssociationInUse& mine = *chain.front();
    for (const AssociationInUse* one : chain) {
      if (seen_.insert(one->record.id).second) group_of(*one);
    }
    for (const LimitRow& row : accounting::limit_rows()) {
      const Covers what = covers(row.field);
      if (row.association == nullptr || (what != Covers::kUser && what != Covers::kJob)) continue;
      add(row.field, row.association, owner(mine), nearest(chain, row.field),
          what == Covers::kUser ? &mine.use : nullptr);
    }
  }

  // `partition`: one whose QOS it is; empty: of none.
  void qos(const protocol::QosInUse& one, const std::set<std::string>& accounts,
           const std::string& partition) {
    const std::string part = partition.empty() ? "" : "partition " + partition;
    const std::string owner =
        "QOS " + one.record.name + (part.empty() ? part : fmt::format(" of {}", part));
    static const InUse nothing;
    const auto member = [](const std::vector<protocol::MemberInUse>& members,
                           const std::string& name) {
      const auto at = std::ranges::find(members, name, &protocol::MemberInUse::name);
      return at == members.end() ? &nothing : &at->use;
    };
    if ((one.record.flags & kQosRelative) != 0)
      percent_ = "% of " + (part.empty() ? "the cluster" : part);
    for (const LimitRow& row : accounting::limit_rows()) {
      const Covers what = covers(row.field);
      if (row.qos == nullptr || what == Covers::kNothing) continue;
      const Amounts amounts = amounts_of(one.record, row.field);
      if (what == Covers::kGroup) add(row.field, row.qos, owner, amounts, &one.use);
      if (what == Covers::kUser) add(row.field, row.qos, owner, amounts, member(one.users, user_));
      if (what == Covers::kJob) add(row.field, row.qos, owner, amounts, nullptr);
      if (what != Covers::kAccount) continue;
      for (const std::string& account : accounts)
        add(row.field, row.qos, fmt::format("{}, account {}", owner, account), amounts,
            member(one.accounts, account));
    }
    percent_.clear();
  }

  [[nodiscard]] std::vector<UsageLimit> take() { return std::move(out_); }

 private:
  static std::string owner(const AssociationInUse& one) {
    const AssociationRecord& record = one.record;
    if (record.user.empty()) return "account " + record.account;
    std::string out = "you in " + record.account;
    if (!record.partition.empty()) out += ", " + record.partition;
    return out;
  }

  void group_of(const AssociationInUse& one) {
    for (const LimitRow& row : accounting::limit_rows()) {
      if (row.association == nullptr || covers(row.field) != Covers::kGroup) continue;
      add(row.field, row.association, owner(one), amounts_of(one.record, row.field), &one.use);
    }
  }

  // Of the nearest association that says so; of each TRES likewise.
  static Amounts nearest(const AssociationChain& chain, F field) {
    Amounts found;
    for (const AssociationInUse* one : chain) {
      const Amounts amounts = amounts_of(one->record, field);
      if (!found.count) found.count = amounts.count;
      for (const TresAmount& tres : amounts.tres) {
        if (std::ranges::find(found.tres, tres.id, &TresAmount::id) == found.tres.end())
          found.tres.push_back(tres);
      }
    }
    return found;
  }

  // `use`: what counts against it; null: each job by itself does.
  void add(F field, const char* name, const std::string& owner, const Amounts& amounts,
           const InUse* use) {
    const std::string minutes = in_minutes(field) ? "minutes" : "";
    if (amounts.count) {
      UsageLimit& limit = out_.emplace_back(UsageLimit{owner, name, minutes, *amounts.count, {}});
      if (use != nullptr) limit.used = count_in_use(field, *use);
    }
    for (const TresAmount& tres : amounts.tres) {
      const auto known = std::ranges::find(all_.tres, tres.id, &TresRecord::id);
      const std::string what =
          known == all_.tres.end() ? std::to_string(tres.id) : accounting::tres_name(*known);
      UsageLimit& limit = out_.emplace_back(
          UsageLimit{owner, fmt::format("{} {}", name, what), minutes, tres.count, {}});
      if (tres.id == kTresMem || tres.id == kTresVmem)
        limit.unit = minutes.empty() ? "MB" : "MB minutes";
      // parts of the cluster are not what is counted
      if (!percent_.empty() && is_relative(field)) limit.unit = percent_;
      else if (use != nullptr) limit.used = tres_in_use(field, *use, tres.id);
    }
  }

  const std::string& user_;
  const AssocMgrReply& all_;
  std::set<AssociationId> seen_;
  std::vector<UsageLimit> out_;
  std::string percent_;  // what TRES limits of the QOS are parts of; empty: numbers
};

}  // namespace

std::vector<UsageLimit> usage_limits(const std::string& user, const AssocMgrReply& all,
                                     std::span<const AssociationChain> chains,
                                     std::span<const protocol::PartitionRecord> partitions) {
  Limits limits(user, all);
  std::set<std::string> accounts;
  std::set<QosId> allowed;
  for (const AssociationChain& chain : chains) {
    limits.association(chain);
    const AssociationRecord& mine = chain.front()->record;
    accounts.insert(mine.account);
    allowed.insert(mine.qos.begin(), mine.qos.end());
  }
  for (const protocol::QosInUse& one : all.qos) {
    // the controller, too, takes the last one where several partitions have it
    std::string partition;
    for (const protocol::PartitionRecord& record : partitions) {
      if (iequals(record.config.qos, one.record.name)) partition = record.config.name;
    }
    if (!partition.empty() || allowed.contains(one.record.id)) limits.qos(one, accounts, partition);
  }
  return limits.take();
}

}  // namespace sluice::cli
