#include "dbd/daemon.hpp"

#include <chrono>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "common/net/method_name.hpp"
#include "common/net/tls_config.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/accounting_admin.hpp"
#include "common/rpc/refusal_log.hpp"
#include "common/rpc/tls_identity.hpp"
#include "common/rpc/token_server.hpp"
#include "dbd/rpc/admin_methods.hpp"
#include "dbd/rpc/entity_clock.hpp"
#include "dbd/rpc/followers.hpp"
#include "dbd/rpc/services.hpp"
#include "dbd/store/entity_store.hpp"

namespace sluice::dbd {
namespace {

constexpr size_t kMostRequestBytes = size_t{64} << 20;  // a controller's batch
// For so long a server may come up beside the daemon.
constexpr auto kWait = std::chrono::seconds(60);
constexpr auto kBetween = std::chrono::seconds(2);

// A server that does not answer yet is waited for; one that refuses us is not.
Result<std::unique_ptr<Database>> open_database(const Storage& storage) {
  const auto end = std::chrono::steady_clock::now() + kWait;
  while (true) {
    auto database = Database::open(storage);
    if (database || storage.engine == Engine::kSqlite ||
        database.error().code != ErrorCode::kRetry || std::chrono::steady_clock::now() > end)
      return database;
    log::error("{}; trying again", database.error().text);
    std::this_thread::sleep_for(kBetween);
  }
}

// Controllers ask these by themselves, and again while they are refused.
std::shared_ptr<net::RefusalLog> refusal_log() {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  return std::make_shared<net::RefusalLog>(std::vector<std::string>{
      std::string(net::short_method_name(StoreHistoryRequest::kMethod)),
      std::string(net::short_method_name(QueryAccountingRecordsRequest::kMethod))});
}

}  // namespace

// In the order in which things are built; they go in the opposite one.
struct Daemon::Graph {
  DbdConfig config;
  std::unique_ptr<Database> database;
  std::optional<EntityStore> entities;
  Followers followers;
  Statistics statistics{net::now()};
  std::optional<Archiver> archiver;
  Storing storing;
  std::shared_ptr<net::AuthProvider> auth;
  std::shared_ptr<net::TlsIdentity> tls;  // null: nothing is encrypted
  std::unique_ptr<net::TokenService> tokens;
  std::optional<ServiceParts> services;
  std::optional<AdminParts> admin;
  std::optional<net::RpcServer> server;
  std::optional<UsageClock> clock;
  std::optional<EntityClock> entity_clock;

  Status open_identity();
  Status start_server();
};

Status Daemon::Graph::open_identity() {
  const net::AuthOptions options = auth_options(config);
  auto provider = net::make_auth(options);
  if (!provider) return tl::unexpected(provider.error());
  auth = std::move(*provider);
  if (const net::JwtSettings jwt = jwt_settings(config); !jwt.key_file.empty()) {
    if (auto usable = net::load_jwt_key(jwt); !usable) return tl::unexpected(usable.error());
    auth = net::accept_jwt(std::move(auth), jwt);
  }
  if (!net::is_tls(config.tls_type)) return {};
  auto identity = net::TlsIdentity::open(
      net::accounting_tls_files(config.path, config.tls_parameters), config.slurm_user_id);
  if (!identity) return tl::unexpected(identity.error());
  tls = std::move(*identity);
  return {};
}

Status Daemon::Graph::start_server() {
  services.emplace(ServiceParts{config, *database, *entities, storing});
  net::ServerOptions options;
  options.addresses = {
      fmt::format("{}:{}", config.address.empty() ? "0.0.0.0" : config.address, config.port)};
  options.receiver = net::kAccountingDaemon;
  options.auth = auth;
  options.tls = tls;
  options.slurm_user = config.slurm_user_id;
  options.max_request = kMostRequestBytes;
  options.refusals = refusal_log();
  options.on_answered = [this](std::string_view method, uint32_t uid, Duration took) {
    statistics.count_call(method, uid, took);
  };
  server.emplace(std::move(options));
  add_history_methods(*server, *services);
  admin.emplace(AdminParts{config, *database, *entities, statistics, followers, *archiver});
  add_admin_methods(*server, *admin);
  add_usage_methods(*server, *admin);
  add_archive_methods(*server, *admin);
  add_daemon_methods(*server, *admin);
  return server->start();
}

Daemon::Daemon(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}

Daemon::~Daemon() {
  graph_->followers.stop();
  graph_->archiver->end();
  if (graph_->server) graph_->server->shutdown(std::chrono::milliseconds(500));
}

Result<std::unique_ptr<Daemon>> Daemon::start(DbdConfig config) {
  auto graph = std::make_unique<Graph>();
  graph->config = std::move(config);
  auto rules = purge_rules(graph->config);
  if (!rules) return tl::unexpected<Error>(rules.error());
  if (auto ok = check_archive_folder(graph->config, *rules); !ok) return tl::unexpected(ok.error());
  auto database = open_database(graph->config.storage);
  if (!database) return tl::unexpected(database.error());
  graph->database = std::move(*database);
  const DbdConfig& conf = graph->config;
  graph->entities.emplace(*graph->database,
                          SiteRules{split_list(conf.default_qos), conf.allow_no_default_account,
                                    conf.disable_coordinators});
  if (auto ok = graph->entities->open(); !ok) return tl::unexpected(ok.error());
  graph->entities->on_change(
      [graph = graph.get()](const std::shared_ptr<const Entities>& entities) {
        graph->followers.changed(entities);
      });
  graph->archiver.emplace(*graph->database, std::move(*rules));
  if (auto ok = graph->open_identity(); !ok) return tl::unexpected(ok.error());
  if (auto ok = graph->start_server(); !ok) return tl::unexpected(ok.error());
  graph->clock.emplace(*graph->database, graph->statistics, *graph->archiver);
  // of a file there is one daemon
  if (graph->config.storage.engine != Engine::kSqlite)
    graph->entity_clock.emplace(*graph->entities);
  log::info("serving at port {}, database {}", graph->server->port(), graph->config.storage.text());
  return std::unique_ptr<Daemon>(new Daemon(std::move(graph)));
}

}  // namespace sluice::dbd
