#include "dbd/daemon.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/daemon/log_setup.hpp"
#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "common/net/method_name.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/accounting_admin.hpp"
#include "common/rpc/refusal_log.hpp"
#include "common/rpc/token_server.hpp"
#include "dbd/identity.hpp"
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

SiteRules site_rules(const DbdConfig& config) {
  return {split_list(config.default_qos), config.allow_no_default_account,
          config.disable_coordinators};
}

}  // namespace

// In the order in which things are built; they go in the opposite one.
struct Daemon::Graph {
  explicit Graph(DbdConfig first) : config(std::make_shared<const DbdConfig>(std::move(first))) {}

  LiveConfig config;
  std::mutex reconfiguring;
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
  Status read_again();
};

Status Daemon::Graph::open_identity() {
  const LiveConfig::Pointer conf = config.get();
  auto provider = open_auth(*conf);
  if (!provider) return tl::unexpected(provider.error());
  auto identity = open_tls(*conf);
  if (!identity) return tl::unexpected(identity.error());
  auth = std::move(*provider);
  tls = std::move(*identity);
  return {};
}

Status Daemon::Graph::start_server() {
  const LiveConfig::Pointer conf = config.get();
  services.emplace(ServiceParts{config, *database, *entities, storing});
  net::ServerOptions options;
  options.addresses = {
      fmt::format("{}:{}", conf->address.empty() ? "0.0.0.0" : conf->address, conf->port)};
  options.receiver = net::kAccountingDaemon;
  options.auth = auth;
  options.tls = tls;
  options.slurm_user = conf->slurm_user_id;
  options.max_request = kMostRequestBytes;
  options.refusals = refusal_log();
  options.on_answered = [this](std::string_view method, uint32_t uid, Duration took) {
    statistics.count_call(method, uid, took);
  };
  server.emplace(std::move(options));
  add_history_methods(*server, *services);
  admin.emplace(AdminParts{config, *database, *entities, statistics, followers, *archiver,
                           [this] { return read_again(); }});
  add_admin_methods(*server, *admin);
  add_usage_methods(*server, *admin);
  add_archive_methods(*server, *admin);
  add_daemon_methods(*server, *admin);
  return server->start();
}

Status Daemon::Graph::read_again() {
  const std::lock_guard lock(reconfiguring);
  const LiveConfig::Pointer running = config.get();
  const auto refuse = [](const Error& error) {
    log::error("slurmdbd.conf is not read again: {}", error.text);
    return tl::unexpected<Error>(error);
  };
  auto fresh = load_dbd_config(running->path);
  if (!fresh) return refuse(fresh.error());
  if (auto ok = may_serve_here(*fresh); !ok) return refuse(ok.error());
  auto rules = purge_rules(*fresh);
  if (!rules) return refuse(rules.error());
  if (auto ok = check_archive_folder(*fresh, *rules); !ok) return refuse(ok.error());
  for (const std::string& key : keep_until_restart(*running, *fresh))
    log::info("{} has changed and waits for a restart", key);
  if (fresh->without_effect != running->without_effect && !fresh->without_effect.empty())
    log::info("{}: keys without effect: {}", fresh->path, join(fresh->without_effect, ", "));
  entities->use(site_rules(*fresh));
  archiver->use(std::move(*rules));
  config.set(std::make_shared<const DbdConfig>(*fresh));
  if (auto ok = daemon::change_log_file(running->log_file, fresh->log_file); !ok)
    log::error("LogFile: {}", ok.error().text);
  daemon::change_log({running->debug_level, fresh->debug_level}, {}, {});
  if (auto ok = log::reopen(); !ok) log::error("{}", ok.error().text);
  log::info("configuration read again from {}", fresh->path);
  return {};
}

Daemon::Daemon(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}

Daemon::~Daemon() {
  graph_->followers.stop();
  graph_->archiver->end();
  if (graph_->server) graph_->server->shutdown(std::chrono::milliseconds(500));
}

Result<std::unique_ptr<Daemon>> Daemon::start(DbdConfig config) {
  auto graph = std::make_unique<Graph>(std::move(config));
  const LiveConfig::Pointer conf = graph->config.get();
  auto rules = purge_rules(*conf);
  if (!rules) return tl::unexpected<Error>(rules.error());
  if (auto ok = check_archive_folder(*conf, *rules); !ok) return tl::unexpected(ok.error());
  // before the database, which may be waited for
  if (auto ok = graph->open_identity(); !ok) return tl::unexpected(ok.error());
  auto database = open_database(conf->storage);
  if (!database) return tl::unexpected(database.error());
  graph->database = std::move(*database);
  graph->entities.emplace(*graph->database, site_rules(*conf));
  if (auto ok = graph->entities->open(); !ok) return tl::unexpected(ok.error());
  graph->entities->on_change(
      [graph = graph.get()](const std::shared_ptr<const Entities>& entities) {
        graph->followers.changed(entities);
      });
  graph->archiver.emplace(*graph->database, std::move(*rules));
  if (auto ok = graph->start_server(); !ok) return tl::unexpected(ok.error());
  graph->clock.emplace(*graph->database, graph->statistics, *graph->archiver);
  // of a file there is one daemon
  if (conf->storage.engine != Engine::kSqlite) graph->entity_clock.emplace(*graph->entities);
  log::info("serving at port {}, database {}", graph->server->port(), conf->storage.text());
  return std::unique_ptr<Daemon>(new Daemon(std::move(graph)));
}

Status Daemon::reconfigure() { return graph_->read_again(); }

}  // namespace sluice::dbd
