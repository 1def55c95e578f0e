// sacctmgr … set RawUsage=0: what associations and QOS used so far is forgotten.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "ctld/state/decide/cluster/usage_tick.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/limits/accounts.hpp"

namespace sluice::state {
namespace {

using Names = std::set<std::string_view>;

struct Asked {
  Names accounts, users;
  [[nodiscard]] bool contains(std::string_view account, std::string_view user) const {
    return accounts.contains(account) && users.contains(user);
  }
};

// Whether one that is gone was below an account that is asked for.
bool was_below(const Accounting& accounting, const std::string& name, const Asked& asked) {
  const AboveGone above = above_gone(accounting, name);
  bool below = std::ranges::any_of(above.gone, [&](const std::string& one) {
    return asked.contains(name_parts(one).account, {});
  });
  for_ancestors(accounting, above.live, [&](AssociationId, const AssociationRecord* record) {
    below = below || (record != nullptr && asked.contains(record->account, record->user));
  });
  return below;
}

// One walk for all of them: a user may have an association in each partition.
Status find_associations(const Accounting& accounting, const protocol::ResetUsageRequest& request,
                         UsageReset& event) {
  Asked asked{{request.accounts.begin(), request.accounts.end()},
              {request.users.begin(), request.users.end()}};
  const Names& accounts = asked.accounts;
  Names& users = asked.users;
  if (users.empty()) users.insert("");  // the account's own one
  std::set<std::pair<std::string_view, std::string_view>> met;
  accounting.associations.for_each([&](const AssociationRecord& record) {
    if (!asked.contains(record.account, record.user)) return;
    event.associations.push_back(record.id);
    met.emplace(record.account, record.user);
  });
  for (const auto& [name, gone] : accounting.gone_usage->associations) {
    const NameParts parts = name_parts(name);
    const bool itself = asked.contains(parts.account, parts.user);
    if (itself) met.emplace(parts.account, parts.user);
    if (itself || was_below(accounting, name, asked)) event.gone_associations.push_back(name);
  }
  // stops at the first that is not there, so what was met bounds it
  for (const std::string_view account : accounts) {
    for (const std::string_view user : users) {
      if (met.contains({account, user})) continue;
      return failure(ErrorCode::kNotFound,
                     fmt::format("account {}{}{}", account, user.empty() ? "" : " user ", user));
    }
  }
  return {};
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const ResetUsage& command, Time now) {
  if (!is_admin(state, command.who.uid)) return failure(ErrorCode::kAccessDenied);
  const Accounting& accounting = state.accounting;
  UsageReset event;
  if (Status ok = find_associations(accounting, command.request, event); !ok)
    return tl::unexpected<Error>(ok.error());
  for (const std::string_view name :
       Names(command.request.qos.begin(), command.request.qos.end())) {
    if (const QosRecord* qos = find_qos(accounting, name)) event.qos.push_back(qos->id);
    else if (accounting.gone_usage->qos.contains(to_lower(name)))
      event.gone_qos.push_back(to_lower(name));
    else return failure(ErrorCode::kNotFound, fmt::format("QOS {}", name));
  }
  if (event.associations.empty() && event.qos.empty() && event.gone_associations.empty() &&
      event.gone_qos.empty())
    return Decision{};
  Draft draft(state);
  charge_now(draft, now);
  draft.emit(std::move(event));
  return draft.take();
}

}  // namespace sluice::state
