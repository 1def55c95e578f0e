#include "ctld/sched/explain/explain_limits.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/accounting/limit_fields.hpp"
#include "common/base/time_text.hpp"
#include "ctld/sched/explain/explain_nodes.hpp"

namespace sluice::sched {
namespace {

using protocol::LimitField;
using state::LimitHit;

// What a limit counts.
enum class Counts : uint8_t {
  kJobs,        // that run
  kAtOnce,      // TRES
  kUsed,        // TRES minutes of all jobs so far
  kStillToUse,  // TRES minutes of running jobs until they end
  kWallUsed,    // minutes of all jobs so far
  kOfJob,       // TRES of one job, minutes of them among these
  kWallOfJob,   // minutes
  kLeastOfJob,  // TRES
  kFairShare,   // a factor
};

Counts counts_of(LimitField field) {
  switch (field) {
    case LimitField::kGrpTres:
    case LimitField::kMaxTresPerUser:
    case LimitField::kMaxTresPerAccount: return Counts::kAtOnce;
    case LimitField::kGrpTresMins: return Counts::kUsed;
    case LimitField::kGrpTresRunMins:
    case LimitField::kMaxTresRunMins:
    case LimitField::kMaxTresRunMinsPerAccount: return Counts::kStillToUse;
    case LimitField::kGrpWall: return Counts::kWallUsed;
    case LimitField::kMaxTresPerJob:
    case LimitField::kMaxTresPerNode:
    case LimitField::kMaxTresMinsPerJob: return Counts::kOfJob;
    case LimitField::kMaxWall: return Counts::kWallOfJob;
    case LimitField::kMinTresPerJob: return Counts::kLeastOfJob;
    case LimitField::kUsageThreshold: return Counts::kFairShare;
    default: return Counts::kJobs;
  }
}

std::string name_of(const AssociationRecord& record) {
  if (record.user.empty()) return "account " + record.account;
  std::string text = fmt::format("user {} in account {}", record.user, record.account);
  if (!record.partition.empty()) text += " and partition " + record.partition;
  return text;
}

class LimitText {
 public:
  LimitText(const state::ClusterState& state, const Job& job, const LimitHit& hit)
      : state_(state),
        job_(job),
        hit_(hit),
        counts_(counts_of(hit.field)),
        qos_(hit.qos == 0 ? nullptr : state.accounting.qos.find(hit.qos)),
        association_(state::find_association(state.accounting, hit.association)) {}

  // "GrpTRES=cpu=8 of account physics"
  [[nodiscard]] std::string limit() const {
    const accounting::LimitRow& row = accounting::limit_row(hit_.field);
    const char* name = hit_.qos != 0 ? row.qos : row.association;
    return fmt::format("{}={} of {}", name == nullptr ? "" : name, amount(hit_.limit), owner());
  }
  // One sentence.
  [[nodiscard]] std::string use() const {
    const std::string used = amount(hit_.used), asked = amount(hit_.asked);
    switch (counts_) {
      case Counts::kJobs:
        return fmt::format("Of {} {} now, and this job would be one more.", who(),
                           count_of(static_cast<uint64_t>(hit_.used), "job runs", "jobs run"));
      case Counts::kAtOnce:
        return fmt::format("Jobs of {} use {} now, and this job asks for {}.", who(), used, asked);
      case Counts::kUsed: {
        const bool safe = state::enforced(*state_.config).safe;
        return fmt::format("Jobs of {} used{} {} (minutes), and this job may use {}.", who(),
                           safe ? " or may still use" : "", used, asked);
      }
      case Counts::kStillToUse:
        return fmt::format("Running jobs of {} may still use {} (minutes), and this job {}.", who(),
                           used, asked);
      case Counts::kWallUsed:
        if (hit_.asked == 0) return fmt::format("Jobs of {} ran for {}.", who(), used);
        return fmt::format("Jobs of {} ran for {}, and this job may run for {}.", who(), used,
                           asked);
      case Counts::kFairShare:
        return fmt::format("The fair-share factor of its association is {}.", used);
      default: return fmt::format("This job asks for {}.", asked);
    }
  }
  [[nodiscard]] std::string when(const std::optional<Time>& until) const {
    if (until)
      return fmt::format("By the time limits of jobs that go before, it may start from {} on.",
                         format_time(*until));
    switch (counts_) {
      case Counts::kOfJob:
      case Counts::kWallOfJob: return "That does not pass: it has to ask for less.";
      case Counts::kLeastOfJob: return "That does not pass: it has to ask for more.";
      case Counts::kUsed:
      case Counts::kWallUsed:
      case Counts::kFairShare: return "When that falls depends on how usage decays.";
      default: break;
    }
    return hit_.passes && hit_.asked <= hit_.limit
               ? "When that falls cannot be foreseen."
               : "That does not pass: alone it is above the limit.";
  }

 private:
  [[nodiscard]] std::string amount(double number) const {
    switch (counts_) {
      case Counts::kFairShare: return fmt::format("{:.6f}", number);
      case Counts::kWallUsed:
      case Counts::kWallOfJob: return format_minutes(minutes(number));
      case Counts::kJobs: return fmt::format("{}", static_cast<uint64_t>(number));
      default: break;
    }
    const bool in_minutes = counts_ == Counts::kUsed || counts_ == Counts::kStillToUse ||
                            hit_.field == LimitField::kMaxTresMinsPerJob;
    const auto count = static_cast<uint64_t>(std::floor(number));
    if (in_minutes)
      return fmt::format("{}={}", state::tres_name(state_.accounting, hit_.tres), count);
    return accounting::tres_text({{hit_.tres, count}}, *state_.accounting.tres);
  }
  static Minutes minutes(double number) {
    return number >= static_cast<double>(kInfiniteMinutes) ? kInfiniteMinutes
                                                           : static_cast<Minutes>(number);
  }
  [[nodiscard]] std::string owner() const {
    if (hit_.qos != 0) return "QOS " + (qos_ == nullptr ? "" : qos_->name);
    // that of the nearest above it which has one
    std::string owner;
    state::for_ancestors(state_.accounting, hit_.association,
                         [&](AssociationId, const AssociationRecord* one) {
                           if (owner.empty() && one != nullptr && has_limit(*one))
                             owner = name_of(*one);
                         });
    return owner;
  }
  [[nodiscard]] bool has_limit(const AssociationRecord& record) const {
    AssociationRecord copy = record;
    const accounting::LimitRef ref = accounting::limit_of(copy, hit_.field);
    if (hit_.tres == 0) return accounting::is_set(ref);
    const auto* const* amounts = std::get_if<TresAmounts*>(&ref);
    return amounts != nullptr &&
           std::ranges::any_of(**amounts, [&](const TresAmount& a) { return a.id == hit_.tres; });
  }
  // Whose jobs are counted.
  [[nodiscard]] std::string who() const {
    if (hit_.of_user) return fmt::format("user {} in the QOS", job_.spec->user_name.view());
    if (hit_.of_account) return fmt::format("account {} in the QOS", job_.spec->account.view());
    if (hit_.qos != 0) return "the QOS";
    return association_ == nullptr ? "its association" : name_of(*association_);
  }

  const state::ClusterState& state_;
  const Job& job_;
  const LimitHit& hit_;
  const Counts counts_;
  const QosRecord* qos_;
  const AssociationRecord* association_;
};

}  // namespace

void explain_limit(const state::ClusterState& state, const Job& job, const PassRun::OverLimit& over,
                   Time now, std::vector<std::string>& lines) {
  // who has no time limit is planned to end after a year
  constexpr Duration kFar = std::chrono::days(364);
  const bool is_foreseen = over.until && *over.until < now + kFar;
  const LimitText text(state, job, over.hit);
  lines.push_back(fmt::format("A limit holds it back: {}.", text.limit()));
  lines.push_back("  " + text.use());
  lines.push_back("  " + text.when(is_foreseen ? over.until : std::nullopt));
}

}  // namespace sluice::sched
