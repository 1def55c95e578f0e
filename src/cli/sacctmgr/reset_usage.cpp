// sacctmgr modify … set RawUsage=0: the controller forgets what was used so far.
#include <cstdio>

#include <fmt/format.h>

#include "cli/sacctmgr/session.hpp"
#include "common/base/text.hpp"
#include "common/model/cluster_config.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/assoc_mgr.hpp"
#include "common/protocol/empty.hpp"

namespace sluice::cli::sacctmgr {
namespace {

using protocol::AccountingConditions;
using protocol::AccountingEntity;
using protocol::ResetUsageRequest;

// What of the conditions a reset knows; another one would mean less than is reset.
bool read_conditions(Session& session, AccountingEntity entity, const AccountingConditions& where,
                     ResetUsageRequest& request) {
  AccountingConditions known;
  known.clusters = where.clusters;
  if (entity == AccountingEntity::kQos) request.qos = known.names = where.names;
  else request.accounts = known.accounts = where.accounts;
  if (entity == AccountingEntity::kUser) {
    request.users = known.users = where.users;
    if (where.users.empty()) return session.error("A user must be specified");
    if (where.accounts.empty()) return session.error("An account must be specified");
  }
  if (request.accounts.empty() && request.qos.empty())
    return session.error("An association name is required to remove usage");
  if (where != known)
    return session.error("Usage is reset by names of accounts, users, QOS and clusters alone");
  return true;
}

}  // namespace

bool take_raw_usage(Session& session, const Option& option) {
  const auto number = to_number<uint32_t>(option.value);
  if (number == 0U) return true;
  if (number) return session.error("Raw usage can only be set to 0 (zero)");
  session.error(fmt::format("Invalid value for RawUsage ({})", option.value));
  return session.fail(" You didn't give me anything to set");
}

bool reset_usage(Session& session, AccountingEntity entity, const AccountingConditions& where) {
  ResetUsageRequest request;
  if (!read_conditions(session, entity, where, request)) return false;
  if (session.readonly) return session.fail("Can't run this command in readonly mode.");
  Client* client = session.open();
  if (client == nullptr) return false;
  const std::string& own = client->config().cluster_name;
  for (const std::string& name : where.clusters) {
    if (!iequals(name, own))
      return session.error(
          fmt::format("The usage of cluster {} is kept by its own controller: "
                      "reset it there",
                      name));
  }
  if (where.clusters.empty())
    std::printf("No cluster specified, resetting on local cluster %s\n", own.c_str());
  std::fflush(stdout);
  if (!confirmed(session, "Would you like to reset usage?")) return false;
  const auto reply = client->call<protocol::Empty>(request, kPatience);
  if (reply) return true;
  const Error& error = reply.error();
  if (error.code != ErrorCode::kNotFound) return session.error(error_text(error));
  return session.error(
      request.qos.empty()
          ? fmt::format("Failed to find cluster {} {} association in database", own, error.text)
          : "Failed to find " + error.text);
}

}  // namespace sluice::cli::sacctmgr
