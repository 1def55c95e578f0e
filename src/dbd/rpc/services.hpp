// The accounting daemon's methods. Handlers that ask the database run among the server's slow work
// (net::kSlow).
#pragma once

#include "common/rpc/rpc_server.hpp"
#include "dbd/config/live_config.hpp"
#include "dbd/rpc/storing.hpp"
#include "dbd/store/database.hpp"
#include "dbd/store/entity_store.hpp"

namespace sluice::dbd {

// What the handlers work with; all outlive the server.
struct ServiceParts {
  const LiveConfig& config;
  Database& database;
  EntityStore& entities;
  Storing& storing;

  // Root, SlurmUser, administrators and operators.
  [[nodiscard]] bool is_operator(const net::CallContext& context) const;
};

// Ping, StoreHistory, QueryHistory …
void add_history_methods(net::RpcServer& server, ServiceParts& parts);

}  // namespace sluice::dbd
