#include "cli/scontrol/assoc_mgr.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "common/accounting/limit_fields.hpp"
#include "common/base/text.hpp"

namespace sluice::cli::scontrol {
namespace {

using protocol::AssociationInUse;
using protocol::AssocMgrReply;
using protocol::InUse;
using protocol::QosInUse;
using protocol::TresInUse;

std::string name_of(const TresRecord& tres) {
  return tres.name.empty() ? tres.type : tres.type + "/" + tres.name;
}

const TresAmount* find(const TresAmounts& amounts, TresId id) {
  const auto at = std::ranges::find(amounts, id, &TresAmount::id);
  return at == amounts.end() ? nullptr : &*at;
}

// "N" where there is no limit.
std::string limit_text(const std::optional<uint32_t>& limit) {
  return limit ? std::to_string(*limit) : "N";
}
std::string used(const std::optional<uint32_t>& limit, uint64_t count) {
  return fmt::format("{}({})", limit_text(limit), count);
}
// Limits of one association are told where there are any.
std::string own(const std::optional<uint32_t>& limit, uint64_t count) {
  return limit ? used(limit, count) : "";
}
std::optional<uint32_t> minutes(const std::optional<Duration>& wall) {
  if (!wall) return std::nullopt;
  return static_cast<uint32_t>(to_seconds(*wall) / 60);
}
std::string plain(const std::optional<uint32_t>& value) {
  return value ? std::to_string(*value) : "";
}

class Printer {
 public:
  Printer(const AssocMgrReply& all, bool one_line) : all_(all), one_line_(one_line) {}

  void user(const protocol::UserInUse& user) {
    constexpr const char* kLevels[] = {"None", "Operator", "Administrator"};
    out_ += fmt::format("UserName={}({}) DefAccount={} DefWckey={} AdminLevel={}", user.record.name,
                        id_text(user.uid), user.default_account, user.record.default_wckey,
                        kLevels[static_cast<size_t>(user.record.admin_level)]);
    if (!user.coordinates.empty()) {
      out_ += one_line_ ? " Coordinators=" : "\n    Coordinators=";
      out_ += join(user.coordinates, ",");
    }
    out_ += '\n';
  }

  void association(const AssociationInUse& one) {
    const AssociationRecord& record = one.record;
    const bool of_user = !record.user.empty();
    const std::string user =
        of_user ? fmt::format("{}({})", record.user, id_text(one.uid)) : std::string();
    out_ += fmt::format("ClusterName={} Account={} UserName={} Partition={} Priority={} ID={}",
                        record.cluster, record.account, user, record.partition,
                        record.priority.value_or(0), record.id);
    const std::string shares =
        record.shares == kSharesOfParent ? "parent" : std::to_string(record.shares);
    line(fmt::format("SharesRaw/Norm/Level/Factor={}/{:.2f}/{}/{:.2f}", shares, one.norm_shares,
                     one.level_shares, one.factor));
    line(fmt::format("UsageRaw/Norm/Efctv={:.2f}/{:.2f}/{:.2f}", one.use.usage_raw, one.norm_usage,
                     one.effective_usage));
    line(fmt::format("ParentAccount={} Lineage={} DefAssoc={}", parent_of(record), record.lineage,
                     record.is_default ? "Yes" : "No"));
    group(record.group, one.use, true);
    const MemberLimits& member = record.member;
    line(fmt::format("MaxJobs={} MaxJobsAccrue={} MaxSubmitJobs={} MaxWallPJ={}",
                     own(member.jobs, one.use.jobs), own(member.jobs_accrue, one.use.accruing),
                     own(member.submit, one.use.submit), plain(minutes(record.job.wall))));
    line("MaxTRESPJ=" + amounts(record.job.tres));
    line("MaxTRESPN=" + amounts(record.job.tres_node));
    line("MaxTRESMinsPJ=" + amounts(record.job.tres_mins));
    line("MinPrioThresh=" + plain(record.job.min_priority));
    line("Comment=" + (record.comment.empty() ? "(null)" : record.comment));
    out_ += '\n';
  }

  void qos(const QosInUse& one) {
    const QosRecord& record = one.record;
    out_ += fmt::format("QOS={}({})", record.name, record.id);
    line(fmt::format("UsageRaw={:.6f}", one.use.usage_raw));
    group(record.group, one.use, false);
    line("MaxWallPJ=" + plain(minutes(record.job.wall)));
    line("MaxTRESPJ=" + amounts(record.job.tres));
    line("MaxTRESPN=" + amounts(record.job.tres_node));
    line("MaxTRESMinsPJ=" + amounts(record.job.tres_mins));
    line("MinPrioThresh=" + plain(record.job.min_priority) + " ");
    line("MinTRESPJ=" + amounts(record.job.min_tres));
    line("PreemptMode=" + preempt_mode(record.preempt_mode));
    line(fmt::format("Priority={}", record.priority));
    members({"Account Limits", "Accounts", "PA"}, record.account, one.accounts);
    members({"User Limits", "Users", "PU"}, record.user, one.users);
    out_ += '\n';
  }

  void text(std::string_view more) { out_ += more; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void line(const std::string& more, int depth = 1) {
    if (one_line_) out_ += ' ';
    else out_ += '\n' + std::string(static_cast<size_t>(depth) * 4, ' ');
    out_ += more;
  }

  static std::string id_text(uint32_t uid) { return std::to_string(uid); }

  static std::string preempt_mode(QosPreemptMode mode) {
    return mode == QosPreemptMode::kClusterDefault ? "OFF"
                                                   : to_upper(accounting::preempt_mode_text(mode));
  }

  [[nodiscard]] std::string parent_of(const AssociationRecord& record) const {
    if (!record.user.empty() || record.parent == 0) return {};
    for (const AssociationInUse& one : all_.associations) {
      if (one.record.id == record.parent)
        return fmt::format("{}({})", one.record.account, record.parent);
    }
    return std::to_string(record.parent);
  }

  // "cpu=4,node=2"
  [[nodiscard]] std::string amounts(const TresAmounts& limits) const {
    std::string out;
    for (const TresRecord& tres : all_.tres) {
      const TresAmount* limit = find(limits, tres.id);
      if (limit != nullptr)
        out += fmt::format("{}{}={}", out.empty() ? "" : ",", name_of(tres), limit->count);
    }
    return out;
  }
  // "cpu=16(4),mem=N(256)": of each TRES.
  template <class Amount>
  [[nodiscard]] std::string with_use(const TresAmounts& limits, const InUse& use,
                                     Amount&& amount) const {
    std::string out;
    for (const TresRecord& tres : all_.tres) {
      const TresAmount* limit = find(limits, tres.id);
      const auto at = std::ranges::find(use.tres, tres.id, &TresInUse::id);
      const uint64_t value = at == use.tres.end() ? 0 : amount(*at);
      out += fmt::format("{}{}={}({})", out.empty() ? "" : ",", name_of(tres),
                         limit == nullptr ? "N" : std::to_string(limit->count), value);
    }
    return out;
  }
  static uint64_t count(const TresInUse& t) { return t.count; }
  static uint64_t used_minutes(const TresInUse& t) {
    return static_cast<uint64_t>(t.seconds_used / 60);
  }
  static uint64_t left_minutes(const TresInUse& t) { return t.seconds_left / 60; }

  void group(const GroupLimits& group, const InUse& use, bool two_lines) {
    const std::string jobs = fmt::format("GrpJobs={} GrpJobsAccrue={}", used(group.jobs, use.jobs),
                                         used(group.jobs_accrue, use.accruing));
    const std::string others =
        fmt::format("GrpSubmitJobs={} GrpWall={}({:.2f})", used(group.submit, use.submit),
                    limit_text(minutes(group.wall)), use.wall / 60);
    if (two_lines) {
      line(jobs);
      line(others);
    } else {
      line(jobs + " " + others);
    }
    line("GrpTRES=" + with_use(group.tres, use, count));
    line("GrpTRESMins=" + with_use(group.tres_mins, use, used_minutes));
    line("GrpTRESRunMins=" + with_use(group.tres_run_mins, use, left_minutes));
  }

  struct MemberWords {
    const char *title, *none, *suffix;
  };
  void members(const MemberWords& words, const MemberLimits& limits,
               const std::vector<protocol::MemberInUse>& all) {
    const auto& [title, none, suffix] = words;
    line(title);
    if (all.empty()) line(std::string("No ") + none, 2);
    for (const protocol::MemberInUse& one : all) {
      line(one.uid == UINT32_MAX ? one.name : fmt::format("{}({})", one.name, one.uid),
           one_line_ ? 0 : 1);
      if (!one_line_) out_.insert(out_.rfind('\n') + 1, "  ");
      const InUse& use = one.use;
      line(fmt::format("MaxJobs{0}={1} MaxJobsAccrue{0}={2} MaxSubmitJobs{0}={3}", suffix,
                       used(limits.jobs, use.jobs), used(limits.jobs_accrue, use.accruing),
                       used(limits.submit, use.submit)),
           2);
      line(fmt::format("MaxTRES{}={}", suffix, with_use(limits.tres, use, count)), 2);
      line(fmt::format("MaxTRESRunMins{}={}", suffix,
                       with_use(limits.tres_run_mins, use, left_minutes)),
           2);
    }
  }

  const AssocMgrReply& all_;
  const bool one_line_;
  std::string out_;
};

}  // namespace

std::string read_assoc_mgr_words(const std::string& words,
                                 protocol::QueryAssocMgrRequest& request) {
  for (const std::string& word : split_list(words, ' ')) {
    const size_t equals = word.find('=');
    const std::string key = to_lower(word.substr(0, equals));
    const std::vector<std::string> values = equals == std::string::npos
                                                ? std::vector<std::string>()
                                                : split_list(word.substr(equals + 1));
    const auto is = [&](std::string_view name) {
      return !key.empty() && name.substr(0, key.size()) == key;
    };
    if (equals == std::string::npos) return word;
    if (is("accounts")) {
      request.accounts = values;
    } else if (is("users")) {
      request.users = values;
    } else if (is("qos")) {
      request.qos = values;
    } else if (is("flags")) {
      const auto asks = [&](std::string_view name) {
        return std::ranges::any_of(values, [&](const std::string& v) {
          return !v.empty() && iequals(name.substr(0, v.size()), v);
        });
      };
      request.no_associations = !asks("associations");
      request.no_users = !asks("users");
      request.no_qos = !asks("qos");
    } else {
      return word;
    }
  }
  return {};
}

std::string assoc_mgr_text(const AssocMgrReply& all, const protocol::QueryAssocMgrRequest& request,
                           bool one_line) {
  Printer printer(all, one_line);
  printer.text("Current Association Manager state\n");
  if (!request.no_users) {
    printer.text(all.users.empty() ? "\nNo users currently cached in Slurm.\n\n"
                                   : "\nUser Records\n\n");
    for (const protocol::UserInUse& user : all.users) printer.user(user);
  }
  if (!request.no_associations) {
    printer.text(all.associations.empty() ? "\nNo associations currently cached in Slurm.\n\n"
                                          : "\nAssociation Records\n\n");
    for (const AssociationInUse& one : all.associations) printer.association(one);
  }
  if (!request.no_qos) {
    printer.text(all.qos.empty() ? "\nNo QOS currently cached in Slurm.\n\n" : "\nQOS Records\n\n");
    for (const QosInUse& one : all.qos) printer.qos(one);
  }
  return printer.take();
}

}  // namespace sluice::cli::scontrol
