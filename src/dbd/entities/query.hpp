// What sacctmgr list shows of the entities, as far as who asks may see it.
#pragma once

#include <functional>
#include <string>

#include "dbd/entities/change.hpp"

namespace sluice::dbd {

struct Privacy {
  bool users = false, accounts = false;  // PrivateData of slurmdbd.conf
};

// Problems and wckeys are operators' alone, transactions where users or accounts are private.
[[nodiscard]] bool may_list(const Entities& entities, protocol::AccountingEntity what,
                            const Actor& actor, Privacy privacy);
// All but transactions, which are not among the entities.
[[nodiscard]] protocol::QueryAccountingReply answer_query(
    const Entities& entities, const protocol::QueryAccountingRequest& request, const Actor& actor,
    Privacy privacy);
// Accounts without users, users without an account, and those whom `has_uid` does not know.
[[nodiscard]] std::vector<protocol::ProblemRecord> problems_of(
    const Entities& entities, const protocol::AccountingConditions& where,
    const std::function<bool(const std::string&)>& has_uid);
[[nodiscard]] bool matches(const protocol::TransactionRecord& record,
                           const protocol::AccountingConditions& where);

}  // namespace sluice::dbd
