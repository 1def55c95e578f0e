#include "ctld/query/assoc_mgr_query.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "ctld/state/core/charging.hpp"

namespace sluice::ctld {
namespace {

using protocol::AssocMgrReply;
using protocol::InUse;
using state::Accounting;

InUse in_use(const state::Held* held, const state::Usage* usage, int64_t second) {
  InUse out;
  std::map<TresId, protocol::TresInUse> tres;
  if (held != nullptr) {
    out.jobs = held->jobs;
    out.accruing = held->accruing;
    out.submit = held->submit;
    for (const state::HeldTres& one : held->tres) {
      tres[one.id].count = held->count_of(one.id);
      tres[one.id].seconds_left = one.left_at(second);
    }
  }
  if (usage != nullptr) {
    out.usage_raw = usage->raw;
    out.wall = usage->wall;
    for (const state::TresSeconds& one : usage->tres) tres[one.id].seconds_used = one.seconds;
  }
  for (auto& [id, one] : tres) {
    one.id = id;
    out.tres.push_back(one);
  }
  return out;
}

bool lists(const std::vector<std::string>& list, std::string_view name) {
  return list.empty() || contains_iequal(list, name);
}

class Query {
 public:
  Query(const state::ClusterState& state, const protocol::QueryAssocMgrRequest& request,
        uint32_t uid, Time now)
      : accounting_(state.accounting),
        request_(request),
        uid_(uid),
        second_(to_seconds(now)),
        hides_usage_(has_option(state.config->private_data, "usage") &&
                     !state::is_operator(state, uid)),
        hides_accounts_(has_option(state.config->private_data, "accounts") &&
                        !state::is_operator(state, uid)),
        hides_(hides_usage_ || (has_option(state.config->private_data, "users") &&
                                !state::is_operator(state, uid))) {
    reply_.followed = accounting_.version != 0;
    reply_.fair_tree = !has_option(state.config->priority_flags, "NO_FAIR_TREE");
    reply_.tres = *accounting_.tres;
  }

  AssocMgrReply run() {
    if (hides_accounts_ && !hides_usage_) find_own_accounts();
    if (!request_.no_users) users();
    if (!request_.no_associations) associations();
    if (!request_.no_qos) all_qos();
    return std::move(reply_);
  }

 private:
  [[nodiscard]] uint32_t uid_of(std::string_view user) const {
    const auto at = accounting_.users->find(user);
    return at == accounting_.users->end() ? UINT32_MAX : at->second.uid;
  }
  [[nodiscard]] bool may_see(std::string_view user, std::string_view account) const {
    if (!hides_ || uid_of(user) == uid_) return true;
    return !account.empty() && state::is_coordinator(accounting_, uid_, account);
  }
  // As in Slurm, an account's usage is for its coordinators alone, and with PrivateData=accounts it
  // is shown to the users of it and of those below.
  [[nodiscard]] bool may_see(const AssociationRecord& record) const {
    if (uid_of(record.user) == uid_) return true;
    if (!may_see_account(record.account)) return false;
    return record.user.empty() || may_see(record.user, record.account);
  }
  [[nodiscard]] bool may_see_account(std::string_view account) const {
    if (state::is_coordinator(accounting_, uid_, account)) return true;
    if (hides_usage_) return false;
    if (!hides_accounts_) return true;
    const AssociationRecord* record = state::find_association(accounting_, {}, account, {});
    return record != nullptr && own_accounts_.contains(record->id);
  }
  void find_own_accounts() {
    accounting_.associations.for_each([&](const AssociationRecord& one) {
      if (one.user.empty() || uid_of(one.user) != uid_) return;
      state::for_ancestors(
          accounting_, one.id,
          [&](AssociationId id, const AssociationRecord* /*at*/) { own_accounts_.insert(id); });
    });
  }

  void users() {
    for (const auto& [name, user] : *accounting_.users) {
      if (!lists(request_.users, name) || !may_see(name, {})) continue;
      protocol::UserInUse out{user.record, user.uid, state::default_account(accounting_, name), {}};
      for (const auto& [account, record] : *accounting_.accounts) {
        if (contains(record.coordinators, name)) out.coordinates.push_back(account);
      }
      reply_.users.push_back(std::move(out));
    }
  }

  // An account, its users, then the accounts below, each by name.
  void associations() {
    std::map<AssociationId, std::vector<const AssociationRecord*>> children;
    accounting_.associations.for_each(
        [&](const AssociationRecord& one) { children[one.parent].push_back(&one); });
    for (auto& [parent, below] : children) {
      std::ranges::sort(below, {}, [](const AssociationRecord* one) {
        return std::tuple(one->user.empty(), one->user.empty() ? one->account : one->user,
                          one->partition);
      });
    }
    add_below(children, 0, 0);
  }
  void add_below(const std::map<AssociationId, std::vector<const AssociationRecord*>>& children,
                 AssociationId parent, uint32_t depth) {
    const auto at = children.find(parent);
    if (at == children.end() || depth > kDeepestTree) return;
    for (const AssociationRecord* one : at->second) {
      add(*one, depth);
      if (one->id != 0) add_below(children, one->id, depth + 1);
    }
  }
  void add(const AssociationRecord& record, uint32_t depth) {
    if (!lists(request_.accounts, record.account)) return;
    if (!record.user.empty() && !lists(request_.users, record.user)) return;
    if (!may_see(record)) return;
    const state::Share& share = accounting_.shares->of(record.id);
    protocol::AssociationInUse& out = reply_.associations.emplace_back();
    out.record = record;
    if (!record.user.empty()) out.uid = uid_of(record.user);
    out.depth = depth;
    out.norm_shares = share.norm_shares;
    out.norm_usage = share.norm_usage;
    out.effective_usage = share.effective_usage;
    out.factor = share.factor;
    out.level_fs = share.level_fs;
    out.level_shares = share.level_shares;
    out.use = in_use(accounting_.held.associations.find(record.id),
                     accounting_.association_usage.find(record.id), second_);
  }

  void all_qos() {
    std::map<QosId, std::vector<protocol::MemberInUse>> accounts, users;
    accounting_.held.members.for_each([&](const state::MemberBucket& bucket) {
      for (const auto& entry : bucket.entries) {
        const bool of_user = entry.uid != UINT32_MAX;
        protocol::MemberInUse member{entry.account.str(), entry.uid,
                                     in_use(&entry.held, nullptr, second_)};
        if (of_user) {
          const state::AccountingUser* user = state::find_user(accounting_, entry.uid);
          member.name = user == nullptr ? std::to_string(entry.uid) : user->record.name;
          if (!may_see(member.name, {})) continue;
        } else if (!may_see_account(member.name)) {
          continue;
        }
        (of_user ? users : accounts)[entry.qos].push_back(std::move(member));
      }
    });
    const auto by_name = [](auto& members) {
      std::ranges::sort(members, {}, &protocol::MemberInUse::name);
    };
    accounting_.qos.for_each([&](const QosRecord& record) {
      if (!lists(request_.qos, record.name)) return;
      protocol::QosInUse& out = reply_.qos.emplace_back();
      out.record = record;
      out.use = in_use(accounting_.held.qos.find(record.id), accounting_.qos_usage.find(record.id),
                       second_);
      out.accounts = std::move(accounts[record.id]);
      out.users = std::move(users[record.id]);
      by_name(out.accounts);
      by_name(out.users);
    });
  }

  const Accounting& accounting_;
  const protocol::QueryAssocMgrRequest& request_;
  const uint32_t uid_;
  const int64_t second_;
  const bool hides_usage_, hides_accounts_, hides_;
  std::set<AssociationId> own_accounts_;
  AssocMgrReply reply_;
};

}  // namespace

AssocMgrReply assoc_mgr(const state::ClusterState& state,
                        const protocol::QueryAssocMgrRequest& request, uint32_t uid, Time now) {
  return Query(state, request, uid, now).run();
}

}  // namespace sluice::ctld
