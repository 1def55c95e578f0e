#include "cli/sreport/account_tree.hpp"

#include <algorithm>

#include "common/base/contains.hpp"

namespace sluice::cli::sreport {

std::vector<const AssociationRecord*> Tree::path(const AssociationRecord& record) const {
  std::vector<const AssociationRecord*> out = {&record};
  for (int depth = 0; depth < 1000; ++depth) {
    const auto above = by_id.find(out.back()->parent);
    if (above == by_id.end()) break;
    out.push_back(above->second);
  }
  return out;
}

std::optional<Tree> tree_of(Session& session, const Asked& asked) {
  Client* client = session.open();
  if (client == nullptr) return std::nullopt;
  protocol::QueryAccountingRequest request;
  request.entity = protocol::AccountingEntity::kAssociation;
  request.where.clusters = asked.request.clusters;
  request.where.with_deleted = true;
  auto reply = client->call<protocol::QueryAccountingReply>(request, kPatience);
  if (!reply) {
    tell_no_answer("sreport", *client, reply.error());
    session.exit_code = 1;
    return std::nullopt;
  }
  Tree out;
  out.records = std::move(reply->associations);
  for (const AssociationRecord& record : out.records) out.by_id[record.id] = &record;
  return out;
}

Named::Named(Asked& asked, const Tree& tree) : users_(asked.request.users) {
  std::vector<std::string>& accounts = asked.request.accounts;
  accounts_ = accounts;
  if (accounts.empty() || !users_.empty()) return;
  for (const AssociationRecord& record : tree.records) {
    if (!record.user.empty()) continue;
    const auto path = tree.path(record);
    if (std::ranges::any_of(
            path, [&](const auto* one) { return contains_iequal(accounts, one->account); }))
      accounts_.push_back(record.account);
  }
  accounts = accounts_;
}

bool Named::shows(const AssociationRecord& record) const {
  return (users_.empty() || contains_iequal(users_, record.user)) &&
         (accounts_.empty() || contains_iequal(accounts_, record.account));
}

}  // namespace sluice::cli::sreport
