// sacctmgr … set RawUsage=0: what associations and QOS used so far is forgotten.
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "ctld/state/decide/cluster/usage_tick.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/limits/accounts.hpp"

namespace sluice::state {
namespace {

using Names = std::set<std::string_view>;

// One walk for all of them: a user may have an association in each partition.
Status find_associations(const Accounting& accounting, const protocol::ResetUsageRequest& request,
                         std::vector<AssociationId>& found) {
  const Names accounts(request.accounts.begin(), request.accounts.end());
  Names users(request.users.begin(), request.users.end());
  if (users.empty()) users.insert("");  // the account's own one
  std::set<std::pair<std::string_view, std::string_view>> met;
  accounting.associations.for_each([&](const AssociationRecord& record) {
    if (!accounts.contains(record.account) || !users.contains(record.user)) return;
    found.push_back(record.id);
    met.emplace(record.account, record.user);
  });
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
  if (Status ok = find_associations(accounting, command.request, event.associations); !ok)
    return tl::unexpected<Error>(ok.error());
  for (const std::string_view name :
       Names(command.request.qos.begin(), command.request.qos.end())) {
    const QosRecord* qos = find_qos(accounting, name);
    if (qos == nullptr) return failure(ErrorCode::kNotFound, fmt::format("QOS {}", name));
    event.qos.push_back(qos->id);
  }
  if (event.associations.empty() && event.qos.empty()) return Decision{};
  Draft draft(state);
  charge_now(draft, now);
  draft.emit(std::move(event));
  return draft.take();
}

}  // namespace sluice::state
