// The order of keys is the parser's (data_parser v0.0.44).
#include "cli/sshare_json.hpp"

#include <algorithm>
#include <cmath>

#include "common/accounting/limit_fields.hpp"
#include "common/format/json_parts.hpp"

namespace sluice::cli {
namespace {

using protocol::AssociationInUse;
using protocol::AssocMgrReply;

Json real(double value) {
  const bool infinite = std::isinf(value);
  JsonFields out(3);
  out["set"] = !infinite;
  out["infinite"] = infinite;
  out["number"] = infinite ? 0.0 : value;
  return std::move(out).take();
}

Json tres_lists(const AssociationInUse& one, const AssocMgrReply& all) {
  Json left = Json::array(), limits = Json::array(), used = Json::array();
  for (const TresRecord& tres : all.tres) {
    const std::string name = accounting::tres_name(tres);
    const auto in_use = std::ranges::find(one.use.tres, tres.id, &protocol::TresInUse::id);
    const bool any = in_use != one.use.tres.end();
    const TresAmounts& most = one.record.group.tres_mins;
    const auto limit = std::ranges::find(most, tres.id, &TresAmount::id);
    left.push_back({{"name", name}, {"value", json_number(any ? in_use->seconds_left : 0)}});
    limits.push_back(
        {{"name", name},
         {"value", limit != most.end() ? json_number(limit->count) : json_infinite()}});
    used.push_back({{"name", name}, {"value", any ? in_use->seconds_used : 0.0}});
  }
  return {{"run_seconds", left}, {"group_minutes", limits}, {"usage", used}};
}

// Of a user the account, of an account the one above it.
std::string parent_of(const AssociationInUse& one, const AssocMgrReply& all) {
  if (!one.record.user.empty()) return one.record.account;
  const auto above = std::ranges::find_if(all.associations, [&](const AssociationInUse& other) {
    return other.record.id == one.record.parent;
  });
  return above != all.associations.end() ? above->record.account : "";
}

Json share_to_json(const AssociationInUse& one, const AssocMgrReply& all) {
  const bool is_user = !one.record.user.empty();
  JsonFields out(14);
  out["id"] = one.record.id;
  out["cluster"] = one.record.cluster;
  out["name"] = is_user ? one.record.user : one.record.account;
  out["parent"] = parent_of(one, all);
  out["partition"] = one.record.partition;
  out["shares_normalized"] = real(one.norm_shares);
  out["shares"] = json_number(one.record.shares);
  out["tres"] = tres_lists(one, all);
  out["effective_usage"] = real(one.effective_usage);
  out["usage_normalized"] = real(one.norm_usage);
  out["usage"] = static_cast<uint64_t>(one.use.usage_raw);
  out["fairshare"] = {{"factor", real(one.factor)}, {"level", real(one.level_fs)}};
  out["type"] = Json::array({is_user ? "USER" : "ASSOCIATION"});
  return std::move(out).take();
}

}  // namespace

Json shares_to_json(const AssocMgrReply& all, bool users_only) {
  Json shares = Json::array();
  uint64_t total = 0;  // of what is directly below the root
  for (const AssociationInUse& one : all.associations) {
    if (one.depth == 1 && one.record.shares != kSharesOfParent) total += one.record.shares;
    if (!users_only || !one.record.user.empty()) shares.push_back(share_to_json(one, all));
  }
  return {{"shares", std::move(shares)}, {"total_shares", total}};
}

}  // namespace sluice::cli
