#include "cli/sshare_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "common/accounting/limit_fields.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

using protocol::AssociationInUse;
using protocol::AssocMgrReply;

struct Row {
  const AssociationInUse& one;
  const AssocMgrReply& all;
  size_t indent = 0;  // below accounts that are shown
  [[nodiscard]] bool is_root() const { return one.depth == 0; }
  [[nodiscard]] bool is_user() const { return !one.record.user.empty(); }
};

// "cpu=200,mem=15680,…": of each TRES.
template <class Amount>
std::string each_tres(const Row& row, Amount&& amount) {
  std::string out;
  for (const TresRecord& tres : row.all.tres) {
    const protocol::TresInUse* found = nullptr;
    for (const protocol::TresInUse& one : row.one.use.tres) {
      if (one.id == tres.id) found = &one;
    }
    const uint64_t value = found == nullptr ? 0 : amount(*found);
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", accounting::tres_name(tres), value);
  }
  return out;
}

std::string limits(const Row& row, const TresAmounts& amounts) {
  std::string out;
  for (const TresAmount& amount : amounts) {
    std::string name = std::to_string(amount.id);
    for (const TresRecord& tres : row.all.tres) {
      if (tres.id == amount.id) name = accounting::tres_name(tres);
    }
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, amount.count);
  }
  return out;
}

std::string share(double value) { return fmt::format("{:.6f}", value); }

// Of users; with the classic formula of accounts, too.
std::string factor(const Row& row) {
  return row.is_user() || !row.all.fair_tree ? share(row.one.factor) : "";
}

std::string level_fs(const Row& row) {
  if (row.is_root() || !row.all.fair_tree) return "";
  if (row.is_user() && row.one.record.shares == kSharesOfParent) return "";
  return std::isinf(row.one.level_fs) ? "inf" : share(row.one.level_fs);
}

std::string raw_shares(const Row& row) {
  if (row.one.record.shares == kSharesOfParent) return "parent";
  return row.is_root() ? "" : std::to_string(row.one.record.shares);
}

struct Field {
  std::string_view name;
  int width;
  std::string (*value)(const Row& row);
};
constexpr Field kFields[] = {
    {"Account", -20,
     [](const Row& r) { return std::string(r.indent, ' ') + r.one.record.account; }},
    {"Cluster", 10, [](const Row& r) { return r.one.record.cluster; }},
    {"EffectvUsage", 13, [](const Row& r) { return share(r.one.effective_usage); }},
    {"FairShare", 10, factor},
    {"GrpTRESMins", 30, [](const Row& r) { return limits(r, r.one.record.group.tres_mins); }},
    {"GrpTRESRaw", 30,
     [](const Row& r) {
       return each_tres(r,
                        [](const auto& t) { return static_cast<uint64_t>(t.seconds_used) / 60; });
     }},
    {"ID", 6, [](const Row& r) { return std::to_string(r.one.record.id); }},
    {"LevelFS", 10, level_fs},
    {"NormShares", 11, [](const Row& r) { return share(r.one.norm_shares); }},
    {"NormUsage", 11, [](const Row& r) { return r.is_root() ? "" : share(r.one.norm_usage); }},
    {"Partition", 12, [](const Row& r) { return r.one.record.partition; }},
    {"RawShares", 10, raw_shares},
    {"RawUsage", 11,
     [](const Row& r) { return std::to_string(static_cast<uint64_t>(r.one.use.usage_raw)); }},
    {"TRESRunMins", 30,
     [](const Row& r) { return each_tres(r, [](const auto& t) { return t.seconds_left / 60; }); }},
    {"User", 10, [](const Row& r) { return r.one.record.user; }},
};

// By name, or how it begins; null: there is none.
const Field* find_field(std::string_view name) {
  for (const Field& field : kFields) {
    if (!name.empty() && iequals(field.name.substr(0, name.size()), name)) return &field;
  }
  return nullptr;
}

std::string usual_format(const SshareLayout& o, bool fair_tree) {
  std::string format = "Account,User,";
  if (o.by_partition) format += "Partition,";
  format += "RawShares,NormShares,RawUsage,";
  if (o.long_form) format += "NormUsage,";
  format += "EffectvUsage,FairShare";
  if (o.long_form)
    format += fair_tree ? ",LevelFS,GrpTRESMins,TRESRunMins" : ",GrpTRESMins,TRESRunMins";
  return format;
}

}  // namespace

std::string sshare_fields() {
  constexpr size_t kOnALine = 4;
  std::string out;
  size_t at = 0;
  for (const Field& field : kFields) {
    const bool last = ++at == std::size(kFields) || at % kOnALine == 0;
    out += fmt::format("{:<17}{}", field.name, last ? "\n" : " ");
  }
  return out;
}

Result<std::string> sshare_table(const SshareLayout& o, const AssocMgrReply& all) {
  std::vector<PrintedField> printed;
  std::vector<const Field*> fields;
  const std::string format = o.format.empty() ? usual_format(o, all.fair_tree) : o.format;
  for (const std::string& item : split_list(format)) {
    const size_t percent = std::min(item.find('%'), item.size());
    const Field* field = find_field(item.substr(0, percent));
    if (field == nullptr) {
      return failure(fmt::format("Invalid field requested: \"{}\"", item.substr(0, percent)));
    }
    const int width = percent < item.size() ? std::atoi(item.c_str() + percent + 1) : 0;
    fields.push_back(field);
    printed.push_back({std::string(field->name), width != 0 ? width : field->width});
  }
  std::string out;
  if (!o.no_header) append_headings(printed, o.separators, out);
  std::unordered_map<AssociationId, size_t> indents;  // of what is below
  for (const AssociationInUse& one : all.associations) {
    if (o.users_only && one.record.user.empty()) continue;
    const auto above = indents.find(one.record.parent);
    const Row row{one, all, above == indents.end() ? 0 : above->second};
    indents.emplace(one.record.id, row.indent + 1);
    std::vector<std::string> values;
    values.reserve(fields.size());
    for (const Field* field : fields) values.push_back(field->value(row));
    append_values(printed, o.separators, values, out);
  }
  return out;
}

}  // namespace sluice::cli
