// What administrators and controllers ask about entities: sacctmgr's methods, and the records that
// a controller follows.
#pragma once

#include "common/rpc/rpc_server.hpp"
#include "dbd/config/dbd_config.hpp"
#include "dbd/rpc/followers.hpp"
#include "dbd/store/entity_store.hpp"

namespace sluice::dbd {

// What the handlers work with; all outlive the server.
struct AdminParts {
  const DbdConfig& config;
  EntityStore& store;
  Followers& followers;
};

void add_admin_methods(net::RpcServer& server, AdminParts& parts);

}  // namespace sluice::dbd
