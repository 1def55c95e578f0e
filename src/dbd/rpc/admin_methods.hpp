// What administrators and controllers ask about entities: sacctmgr's methods, and the records that
// a controller follows.
#pragma once

#include <functional>

#include "common/os/round_thread.hpp"
#include "common/rpc/rpc_server.hpp"
#include "dbd/archive/archiver.hpp"
#include "dbd/config/live_config.hpp"
#include "dbd/rpc/followers.hpp"
#include "dbd/rpc/statistics.hpp"
#include "dbd/store/entity_store.hpp"

namespace sluice::dbd {

// What the handlers work with; all outlive the server.
struct AdminParts {
  const LiveConfig& config;
  Database& database;
  EntityStore& store;
  Statistics& statistics;
  Followers& followers;
  Archiver& archiver;
  std::function<Status()> reconfigure;  // reads slurmdbd.conf again
};

void add_admin_methods(net::RpcServer& server, AdminParts& parts);
// sreport's.
void add_usage_methods(net::RpcServer& server, AdminParts& parts);
void add_archive_methods(net::RpcServer& server, AdminParts& parts);
// About the daemon itself.
void add_daemon_methods(net::RpcServer& server, AdminParts& parts);

// Sums up usage when it is made, and again and again, and purges once an hour; all outlive it.
class UsageClock {
 public:
  UsageClock(Database& database, Statistics& statistics, Archiver& archiver);

 private:
  void purge_hourly(Archiver& archiver, Time now);

  Time purged_ = kNoTime;
  RoundThread thread_;
};

}  // namespace sluice::dbd
