#include "cli/sacctmgr/flat_file.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "common/accounting/limit_fields.hpp"
#include "common/base/text.hpp"

namespace sluice::cli::sacctmgr {

using protocol::LimitField;

namespace {

constexpr std::pair<FlatKind, std::string_view> kKinds[] = {
    {FlatKind::kCluster, "Cluster"},
    {FlatKind::kParent, "Parent"},
    {FlatKind::kAccount, "Account"},
    {FlatKind::kUser, "User"},
};

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// Reads a value from `at` on, in quotes or up to ':'. False where a quote is open.
bool read_value(std::string_view text, size_t& at, std::string& out) {
  out.clear();
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == '\0' && c == ':') return true;
    if (quote != '\0' && c == '\\' && at + 1 < text.size()) {
      out += text[++at];
    } else if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      out += c;
    }
  }
  return quote == '\0';
}

}  // namespace

Result<std::optional<FlatLine>> parse_flat_line(std::string_view text) {
  text = trim(text);
  if (text.empty() || text[0] == '#') return std::optional<FlatLine>();
  FlatLine line;
  const size_t dash = text.find('-');
  const std::string_view kind = trim(text.substr(0, std::min(dash, text.size())));
  const auto* row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const auto& one) { return iequals(one.second, kind); });
  if (dash == std::string_view::npos || row == std::end(kKinds))
    return failure(fmt::format("Misformatted line: {}", text));
  line.kind = row->first;
  size_t at = dash + 1;
  while (at < text.size() && text[at] == ' ') ++at;
  if (!read_value(text, at, line.name) || trim(line.name).empty())
    return failure(fmt::format("Misformatted line: {}", text));
  line.name = std::string(trim(line.name));
  while (at < text.size()) {
    ++at;  // the ':'
    const size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) {
      if (trim(text.substr(at)).empty()) break;
      return failure(fmt::format("Misformatted option near: {}", text.substr(at)));
    }
    std::pair<std::string, std::string> option;
    option.first = std::string(trim(text.substr(at, equals - at)));
    at = equals + 1;
    if (!read_value(text, at, option.second))
      return failure(fmt::format("A quote is not closed: {}", text));
    line.options.push_back(std::move(option));
  }
  return std::optional<FlatLine>(std::move(line));
}

namespace {
constexpr std::string_view kInQuotes[] = {
    "Description", "Organization", "DefaultAccount", "AdminLevel", "Coordinator",    "DefaultWCKey",
    "DefaultQOS",  "QOS",          "Partition",      "Comment",    "Classification", "Flags",
    "WCKeys"};
}  // namespace

std::string flat_line_text(const FlatLine& line) {
  std::string out;
  for (const auto& [kind, name] : kKinds)
    if (kind == line.kind) out = name;
  out += " - " + quoted(line.name);
  for (const auto& [name, value] : line.options) {
    const bool quotes =
        std::find(std::begin(kInQuotes), std::end(kInQuotes), name) != std::end(kInQuotes);
    out += ":" + name + "=" + (quotes ? quoted(value) : value);
  }
  return out;
}

namespace {

constexpr LimitField kFlatOrder[] = {
    LimitField::kFairshare,      LimitField::kGrpTresMins,      LimitField::kGrpTresRunMins,
    LimitField::kGrpTres,        LimitField::kGrpJobs,          LimitField::kGrpJobsAccrue,
    LimitField::kGrpSubmitJobs,  LimitField::kGrpWall,          LimitField::kMaxTresMinsPerJob,
    LimitField::kMaxTresRunMins, LimitField::kMaxTresPerJob,    LimitField::kMaxTresPerNode,
    LimitField::kMaxJobs,        LimitField::kMaxJobsAccrue,    LimitField::kMaxSubmitJobs,
    LimitField::kMaxWall,        LimitField::kMinPrioThreshold, LimitField::kPriority};

class TreeWriter {
 public:
  explicit TreeWriter(const FlatSource& source) : reply_(source.associations) {
    for (const AccountRecord& account : source.accounts) {
      accounts_[account.name] = &account;
      for (const std::string& user : account.coordinators)
        coordinated_[user].push_back(account.name);
    }
    for (const UserRecord& user : source.users) users_[user.name] = &user;
    for (const WckeyRecord& wckey : source.wckeys) wckeys_[wckey.user].push_back(wckey.name);
    for (const AssociationRecord& record : reply_.associations) {
      below_[record.parent].push_back(&record);
      if (record.is_default) defaults_[record.user] = record.account;
    }
  }

  std::vector<FlatLine> write(const std::string& cluster) {
    for (const AssociationRecord* root : below_[0]) {
      if (root->cluster != cluster) continue;
      FlatLine line{FlatKind::kCluster, cluster, {}};
      put_limits(*root, line);
      out_.push_back(std::move(line));
      put_below(*root, 0);
    }
    return std::move(out_);
  }

 private:
  static constexpr int kMaxDepth = 1000;

  void put_below(const AssociationRecord& above, int depth) {
    const auto found = below_.find(above.id);
    if (found == below_.end() || depth > kMaxDepth) return;
    out_.push_back({FlatKind::kParent, above.account, {}});
    // users stand before accounts
    for (const AssociationRecord* record : found->second)
      if (!record->user.empty()) put_user(*record);
    for (const AssociationRecord* record : found->second)
      if (record->user.empty()) put_account(*record);
    for (const AssociationRecord* record : found->second)
      if (record->user.empty()) put_below(*record, depth + 1);
  }
  void put_user(const AssociationRecord& record) {
    FlatLine line{FlatKind::kUser, record.user, {}};
    auto& options = line.options;
    if (!record.partition.empty()) options.emplace_back("Partition", record.partition);
    if (const auto it = defaults_.find(record.user); it != defaults_.end())
      options.emplace_back("DefaultAccount", it->second);
    const auto user = users_.find(record.user);
    if (user != users_.end()) {
      if (!user->second->default_wckey.empty())
        options.emplace_back("DefaultWCKey", user->second->default_wckey);
      if (user->second->admin_level != AdminLevel::kNone)
        options.emplace_back("AdminLevel", accounting::admin_level_text(user->second->admin_level));
    }
    if (const auto it = wckeys_.find(record.user); it != wckeys_.end())
      options.emplace_back("WCKeys", join(it->second, ","));
    if (const auto it = coordinated_.find(record.user); it != coordinated_.end())
      options.emplace_back("Coordinator", join(it->second, ","));
    put_limits(record, line);
    out_.push_back(std::move(line));
  }
  void put_account(const AssociationRecord& record) {
    FlatLine line{FlatKind::kAccount, record.account, {}};
    if (const auto it = accounts_.find(record.account); it != accounts_.end()) {
      line.options.emplace_back("Description", it->second->description);
      line.options.emplace_back("Organization", it->second->organization);
      if (it->second->users_are_coordinators) line.options.emplace_back("Flags", "UsersAreCoords");
    }
    put_limits(record, line);
    out_.push_back(std::move(line));
  }
  void put_limits(AssociationRecord record, FlatLine& line) {
    if (record.default_qos != 0)
      line.options.emplace_back("DefaultQOS", qos_name(record.default_qos));
    for (const LimitField field : kFlatOrder) {
      const accounting::LimitRow& row = accounting::limit_row(field);
      const auto ref = accounting::limit_of(record, field);
      if (!accounting::is_set(ref)) continue;
      const bool raw = row.kind != accounting::LimitKind::kTres;
      line.options.emplace_back(row.flat_file,
                                accounting::limit_text(ref, row.kind, reply_.all_tres, raw));
    }
    std::vector<std::string> names;
    for (const QosId id : record.qos) names.push_back(qos_name(id));
    for (const protocol::QosDelta& delta : reply_.qos_deltas) {
      if (delta.association != record.id) continue;
      for (const int64_t change : delta.changes)
        names.push_back((change < 0 ? "-" : "+") +
                        qos_name(static_cast<QosId>(change < 0 ? -change : change)));
    }
    std::sort(names.begin(), names.end());
    if (!names.empty()) line.options.emplace_back("QOS", join(names, ","));
    if (!record.comment.empty()) line.options.emplace_back("Comment", record.comment);
  }
  [[nodiscard]] std::string qos_name(QosId id) const {
    for (const QosRecord& qos : reply_.all_qos)
      if (qos.id == id) return qos.name;
    return std::to_string(id);
  }

  const protocol::QueryAccountingReply& reply_;
  std::map<std::string, const AccountRecord*> accounts_;
  std::map<std::string, const UserRecord*> users_;
  std::map<std::string, std::vector<std::string>> coordinated_, wckeys_;
  std::map<std::string, std::string> defaults_;
  std::map<AssociationId, std::vector<const AssociationRecord*>> below_;
  std::vector<FlatLine> out_;
};

}  // namespace

std::vector<FlatLine> flat_lines(const std::string& cluster, const FlatSource& source) {
  return TreeWriter(source).write(cluster);
}

}  // namespace sluice::cli::sacctmgr
