// sacctmgr dump and load.
#include <cerrno>
#include <cstdio>
#include <algorithm>
#include <map>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/sacctmgr/flat_file.hpp"
#include "cli/sacctmgr/session.hpp"
#include "common/accounting/limit_fields.hpp"
#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "common/model/cluster_config.hpp"
#include "common/wire/codec.hpp"

namespace sluice::cli::sacctmgr {

using protocol::AccountingEntity;
using protocol::AccountingVerb;
using protocol::ChangeAccountingReply;
using protocol::ChangeAccountingRequest;
using protocol::QueryAccountingReply;
using protocol::QueryAccountingRequest;

namespace {

constexpr const char* kHeader =
    "# What sacctmgr load reads: the cluster, then accounts and users under the account that they\n"
    "# belong to, which a line \"Parent\" names and which stands before. Options follow a ':' each,\n"
    "# in any order; those that are left out are inherited, or as usual.\n"
    "# Parent - 'root'\n"
    "# Account - 'physics':Description='Physics':Organization='science':Fairshare=10\n"
    "# Parent - 'physics'\n"
    "# User - 'alice':MaxJobs=4:MaxWallDurationPerJob=60\n";

std::optional<FlatSource> snapshot(Session& session, const std::string& cluster) {
  QueryAccountingRequest request;
  request.where.own_values = true;
  FlatSource out;
  request.entity = AccountingEntity::kAccount;
  auto accounts = session.ask<QueryAccountingReply>(request);
  if (!accounts) return std::nullopt;
  out.accounts = std::move(accounts->accounts);
  request.entity = AccountingEntity::kUser;
  auto users = session.ask<QueryAccountingReply>(request);
  if (!users) return std::nullopt;
  out.users = std::move(users->users);
  request.entity = AccountingEntity::kAssociation;
  request.where.clusters = {cluster};
  auto associations = session.ask<QueryAccountingReply>(request);
  if (!associations) return std::nullopt;
  out.associations = std::move(*associations);
  // operators see them
  request.entity = AccountingEntity::kWckey;
  if (Client* client = session.open(); client != nullptr) {
    if (auto wckeys = client->call<QueryAccountingReply>(request)) out.wckeys = wckeys->wckeys;
  }
  return out;
}

// cluster=, file=, clean of a command.
struct FileWords {
  std::string cluster, file;
  bool clean = false;
};
bool read_file_words(Session& session, const Words& words, bool bare_is_file, FileWords& out) {
  for (const std::string& word : words) {
    const Option option = split_option(word);
    if (!option.has_value && option.is("clean", 3) && bare_is_file) out.clean = true;
    else if (!option.has_value) (bare_is_file ? out.file : out.cluster) = option.value;
    else if (option.is("Clusters", 1) || option.is("Names", 1)) out.cluster = option.value;
    else if (option.is("File", 1)) out.file = option.value;
    else return session.fail(" Unknown option: " + word);
  }
  return true;
}

}  // namespace

void dump(Session& session, const Words& words) {
  FileWords asked;
  if (!read_file_words(session, words, false, asked)) return;
  if (asked.cluster.empty()) return void(session.fail(" We need a cluster to dump."));
  asked.cluster = to_lower(asked.cluster);
  const auto all = snapshot(session, asked.cluster);
  if (!all) return;
  const std::vector<FlatLine> lines = flat_lines(asked.cluster, *all);
  if (lines.empty())
    return void(session.fail(fmt::format(" Cluster {} doesn't exist.", asked.cluster)));
  if (asked.file.empty()) asked.file = asked.cluster + ".cfg";
  std::string text = kHeader;
  for (const FlatLine& line : lines) text += flat_line_text(line) + "\n";
  // names of users and what they may do: for its owner alone
  FILE* out = std::fopen(asked.file.c_str(), "we");
  const bool written =
      out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool closed = out != nullptr && std::fclose(out) == 0;
  if (!written || !closed)
    return void(session.fail(
        fmt::format("sacctmgr: error: Can't write to {}: {}", asked.file, errno_text(errno))));
  if (session.quiet) return;
  for (const FlatLine& line : lines)
    std::fprintf(stderr, "sacctmgr: %s\n", flat_line_text(line).c_str());
}

namespace {

// Makes changes of a file's lines, against what is there.
class Loader {
 public:
  Loader(Session& session, const FlatSource& before, std::string cluster)
      : session_(session), before_(before), cluster_(std::move(cluster)) {
    for (const AssociationRecord& record : before.associations.associations)
      there_[key(record.account, record.user, record.partition)] = &record;
    for (const protocol::QosDelta& delta : before.associations.qos_deltas)
      deltas_[delta.association] = delta.changes;
    for (const AccountRecord& account : before.accounts) accounts_[account.name] = &account;
    for (const UserRecord& user : before.users) users_[user.name] = &user;
  }

  std::vector<ChangeAccountingRequest> changes;

  // Everything but the root account goes first.
  void clean() {
    ChangeAccountingRequest users = request(AccountingVerb::kDelete, AccountingEntity::kUser);
    ChangeAccountingRequest accounts = request(AccountingVerb::kDelete, AccountingEntity::kAccount);
    std::set<std::string> names;
    for (const auto& [place, record] : there_) {
      if (record->user.empty() && record->parent != 0) names.insert(record->account);
      if (!record->user.empty() && record->user != "root") {
        if (!has(users.where.users, record->user)) users.where.users.push_back(record->user);
      }
    }
    accounts.where.accounts.assign(names.begin(), names.end());
    // who is nowhere else goes with them, and is made again
    for (const std::string& name : users.where.users) users_.erase(name);
    if (!users.where.users.empty()) changes.push_back(std::move(users));
    if (!names.empty()) changes.push_back(std::move(accounts));
    accounts_.clear();  // an account that is nowhere any more goes, with its coordinators
    std::erase_if(there_, [](const auto& one) {
      return one.second->parent != 0 &&
             !(one.second->user == "root" && one.second->account == "root");
    });
  }

  bool take(const FlatLine& line) {
    switch (line.kind) {
      case FlatKind::kCluster: return take_cluster(line);
      case FlatKind::kParent: return parent_ = to_lower(line.name), true;
      case FlatKind::kAccount: return take_account(line);
      case FlatKind::kUser: return take_user(line);
    }
    return false;
  }

  // What users coordinate, once all accounts are there.
  void finish() {
    for (const auto& [user, accounts] : coordinators_) {
      for (const std::string& account : accounts) {
        const auto it = accounts_.find(account);
        if (it != accounts_.end() && has(it->second->coordinators, user)) continue;
        ChangeAccountingRequest add = request(AccountingVerb::kAdd, AccountingEntity::kCoordinator);
        add.where.users = {user};
        add.where.accounts = {account};
        changes.push_back(std::move(add));
      }
    }
    for (const auto& [user, names] : wckeys_) {
      ChangeAccountingRequest add = request(AccountingVerb::kAdd, AccountingEntity::kUser);
      add.where.users = {user};
      add.where.wckeys.assign(names.begin(), names.end());
      changes.push_back(std::move(add));
    }
    for (ChangeAccountingRequest& late : defaults_) changes.push_back(std::move(late));
  }

 private:
  using Key = std::string;
  static Key key(const std::string& account, const std::string& user,
                 const std::string& partition) {
    return account + "/" + user + "/" + partition;
  }
  template <class T>
  static bool has(const std::vector<T>& list, const T& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  }
  ChangeAccountingRequest request(AccountingVerb verb, AccountingEntity entity) const {
    ChangeAccountingRequest out;
    out.verb = verb;
    out.entity = entity;
    if (entity != AccountingEntity::kCoordinator) out.where.clusters = {cluster_};
    return out;
  }
  // The settings of a line; those that are no settings are in `rest`.
  bool settings_of(const FlatLine& line, AccountingEntity entity,
                   protocol::AccountingSettings& settings,
                   std::map<std::string, std::string>& rest) {
    for (const auto& [name, value] : line.options) {
      if (iequals(name, "Partition") || iequals(name, "Coordinator") ||
          iequals(name, "Classification") || iequals(name, "WCKeys")) {
        rest[to_lower(name)] = value;
        continue;
      }
      Option option;
      option.key = name;
      option.value = value;
      option.has_value = true;
      const bool of_account = iequals(name, "Description") || iequals(name, "Organization");
      if (!take_setting(session_, of_account ? AccountingEntity::kAccount : entity, option,
                        settings))
        return session_.fail(fmt::format(" Unknown option: {}={}", name, value));
    }
    return true;
  }

  bool take_cluster(const FlatLine& line) {
    protocol::AccountingSettings settings;
    std::map<std::string, std::string> rest;
    if (!settings_of(line, AccountingEntity::kAccount, settings, rest)) return false;
    const auto root = there_.find(key("root", "", ""));
    if (root == there_.end()) {
      changes.push_back(request(AccountingVerb::kAdd, AccountingEntity::kCluster));
      changes.back().settings = std::move(settings);
      return true;
    }
    keep_different(*root->second, settings);
    if (settings == protocol::AccountingSettings{}) return true;
    changes.push_back(request(AccountingVerb::kModify, AccountingEntity::kCluster));
    changes.back().settings = std::move(settings);
    return true;
  }

  bool take_account(const FlatLine& line) {
    if (parent_.empty()) return session_.fail(" You need a Parent line before " + line.name);
    const std::string name = to_lower(line.name);
    if (name == "root") return true;
    protocol::AccountingSettings settings;
    std::map<std::string, std::string> rest;
    if (!settings_of(line, AccountingEntity::kAccount, settings, rest)) return false;
    const auto there = there_.find(key(name, "", ""));
    settings.parent = parent_;
    ChangeAccountingRequest change = request(AccountingVerb::kAdd, AccountingEntity::kAccount);
    change.where.accounts = {name};
    if (there != there_.end()) {
      change.verb = AccountingVerb::kModify;
      keep_different(*there->second, settings);
      const auto account = accounts_.find(name);
      if (account != accounts_.end()) {
        const AccountRecord& r = *account->second;
        if (settings.description == r.description) settings.description.reset();
        if (settings.organization == r.organization) settings.organization.reset();
        if (settings.users_are_coordinators == r.users_are_coordinators)
          settings.users_are_coordinators.reset();
      }
      if (settings == protocol::AccountingSettings{}) return true;
    }
    change.settings = std::move(settings);
    changes.push_back(std::move(change));
    return true;
  }

  bool take_user(const FlatLine& line) {
    if (parent_.empty()) return session_.fail(" You need a Parent line before " + line.name);
    const std::string name = to_lower(line.name);
    protocol::AccountingSettings settings;
    std::map<std::string, std::string> rest;
    if (!settings_of(line, AccountingEntity::kUser, settings, rest)) return false;
    const std::string partition = to_lower(rest["partition"]);
    for (const std::string& account : split_list(rest["coordinator"]))
      coordinators_[name].insert(to_lower(account));
    for (const std::string& wckey : split_list(rest["wckeys"]))
      wckeys_[name].insert(to_lower(wckey));
    // a default account is given when all associations are there
    take_default(name, settings);
    const auto user = users_.find(name);
    if (user != users_.end() && settings.admin_level == user->second->admin_level)
      settings.admin_level.reset();
    const auto there = there_.find(key(parent_, name, partition));
    ChangeAccountingRequest change = request(AccountingVerb::kAdd, AccountingEntity::kUser);
    change.where.users = {name};
    change.where.accounts = {parent_};
    if (!partition.empty()) change.where.partitions = {partition};
    if (user != users_.end() && there == there_.end() && settings.admin_level) {
      ChangeAccountingRequest level = request(AccountingVerb::kModify, AccountingEntity::kUser);
      level.where.clusters.clear();
      level.where.users = {name};
      level.settings.admin_level = std::exchange(settings.admin_level, std::nullopt);
      changes.push_back(std::move(level));
    }
    if (there != there_.end()) {
      change.verb = AccountingVerb::kModify;
      keep_different(*there->second, settings);
      if (settings == protocol::AccountingSettings{}) return true;
    }
    change.settings = std::move(settings);
    changes.push_back(std::move(change));
    return true;
  }

  void take_default(const std::string& name, protocol::AccountingSettings& settings) {
    const auto wanted = std::exchange(settings.default_account, std::nullopt);
    if (!wanted || !with_default_.insert(name).second) return;
    for (const auto& [place, record] : there_)
      if (record->user == name && record->is_default && iequals(record->account, *wanted)) return;
    ChangeAccountingRequest change = request(AccountingVerb::kModify, AccountingEntity::kUser);
    change.where.users = {name};
    change.settings.default_account = to_lower(*wanted);
    defaults_.push_back(std::move(change));
  }

  // Of the settings those that the association has not.
  void keep_different(const AssociationRecord& record, protocol::AccountingSettings& settings) {
    std::erase_if(settings.limits, [&](const protocol::LimitSetting& limit) {
      AssociationRecord after = record;
      accounting::set_limit(accounting::limit_of(after, limit.field), limit);
      return after == record;
    });
    if (settings.comment == record.comment) settings.comment.reset();
    if (settings.default_qos && qos_id(*settings.default_qos) == record.default_qos)
      settings.default_qos.reset();
    std::vector<QosId> own;
    std::vector<int64_t> delta;
    for (const protocol::NameSet& set : settings.qos) {
      for (const std::string& name : set.names) {
        const QosId id = qos_id(name);
        if (set.change == protocol::SetChange::kReplace) own.push_back(id);
        else
          delta.push_back(set.change == protocol::SetChange::kAdd ? static_cast<int64_t>(id)
                                                                  : -static_cast<int64_t>(id));
      }
    }
    std::sort(own.begin(), own.end());
    std::vector<int64_t> present = deltas_[record.id];
    std::sort(present.begin(), present.end());
    std::sort(delta.begin(), delta.end());
    if (own == record.qos && delta == present) settings.qos.clear();
    if (settings.parent) {
      for (const auto& [place, above] : there_)
        if (above->id == record.parent && above->account == *settings.parent) {
          settings.parent.reset();
          break;
        }
    }
  }
  [[nodiscard]] QosId qos_id(const std::string& name) const {
    for (const QosRecord& qos : before_.associations.all_qos)
      if (iequals(qos.name, name)) return qos.id;
    return 0;
  }

  Session& session_;
  const FlatSource& before_;
  std::string cluster_, parent_;
  std::map<Key, const AssociationRecord*> there_;
  std::map<AssociationId, std::vector<int64_t>> deltas_;
  std::map<std::string, const AccountRecord*> accounts_;
  std::map<std::string, const UserRecord*> users_;
  std::map<std::string, std::set<std::string>> coordinators_, wckeys_;
  std::set<std::string> with_default_;
  std::vector<ChangeAccountingRequest> defaults_;
};

bool read_lines(Session& session, const std::string& path, std::vector<FlatLine>& lines) {
  std::ifstream file(path);
  if (!file)
    return session.fail(fmt::format(" Unable to read \"{}\": {}", path, errno_text(errno)));
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    auto line = parse_flat_line(text);
    if (!line)
      return session.fail(
          fmt::format("sacctmgr: error: {}:{}: {}", path, number, line.error().text));
    if (*line) lines.push_back(std::move(**line));
  }
  return true;
}

// Prints what would be or was done; false where something hinders it.
bool show_replies(Session& session, const protocol::LoadAccountingReply& reply, bool& any) {
  for (const ChangeAccountingReply& one : reply.replies) {
    for (const std::string& error : one.errors) std::fprintf(stderr, "%s\n", error.c_str());
    if (one.refused && !one.errors.empty()) {
      session.exit_code = 1;
      return false;
    }
    if (one.refused) continue;
    any = true;
    std::fputs(one.shown.c_str(), stdout);
  }
  return true;
}

}  // namespace

void load(Session& session, const Words& words) {
  FileWords asked;
  if (session.readonly) return void(session.fail("Can't run this command in readonly mode."));
  if (!read_file_words(session, words, true, asked)) return;
  if (asked.file.empty()) return void(session.fail(" No filename given, specify one with file=''"));
  std::vector<FlatLine> lines;
  if (!read_lines(session, asked.file, lines)) return;
  if (asked.cluster.empty() && !lines.empty() && lines[0].kind == FlatKind::kCluster)
    asked.cluster = lines[0].name;
  if (asked.cluster.empty())
    return void(session.fail(" You didn't give me a cluster: the file has no line for one."));
  asked.cluster = to_lower(asked.cluster);
  std::printf("For cluster %s\n", asked.cluster.c_str());
  const auto before = snapshot(session, asked.cluster);
  if (!before) return;
  const bool is_new = before->associations.associations.empty();
  Loader loader(session, *before, asked.cluster);
  if (asked.clean) loader.clean();
  for (const FlatLine& line : lines)
    if (!loader.take(line)) {
      session.exit_code = 1;
      if (is_new)
        session.fail(
            fmt::format("Cluster {0} is not in the database: add the QOS that the file names, and "
                        "the cluster (sacctmgr add cluster {0}), whose controller then tells its "
                        "TRES, and load again",
                        asked.cluster));
      return;
    }
  loader.finish();
  protocol::LoadAccountingRequest request;
  for (const ChangeAccountingRequest& change : loader.changes)
    request.changes.push_back(wire::encode(change));
  request.commit = session.immediate;
  bool any = false;
  auto reply = session.ask<protocol::LoadAccountingReply>(request);
  if (!reply || !show_replies(session, *reply, any)) return;
  if (!any) {
    std::printf(" Nothing new added.\n");
    return;
  }
  if (session.immediate) return;
  if (!confirmed(session, kCommit)) return;
  request.commit = true;
  reply = session.ask<protocol::LoadAccountingReply>(request);
  if (!reply || reply->committed) return;
  bool again = false;
  if (show_replies(session, *reply, again)) session.fail(" Nothing was changed.");
}

}  // namespace sluice::cli::sacctmgr
