#include "noded/agent.hpp"

#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/host_name.hpp"
#include "common/config_files/load.hpp"
#include "common/log/log.hpp"
#include "common/auth/auth_config.hpp"
#include "common/net/listen_address.hpp"
#include "common/net/tls_config.hpp"
#include "common/rpc/async_client.hpp"
#include "common/rpc/fanout.hpp"
#include "common/rpc/rpc_server.hpp"
#include "common/rpc/token_server.hpp"
#include "common/step/cpu_settings.hpp"
#include "common/step/gpu_clocks.hpp"
#include "common/names/step_names.hpp"
#include "noded/broadcasts.hpp"
#include "noded/process/child_processes.hpp"
#include "noded/node/health_check.hpp"
#include "noded/node/host_checks.hpp"
#include "noded/node/inventory.hpp"
#include "noded/steps/job_containers.hpp"
#include "noded/steps/job_groups.hpp"
#include "noded/node/node_line.hpp"
#include "noded/requests.hpp"

namespace sluice::noded {
namespace {

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return failure(ErrorCode::kPathMissing,
                   fmt::format("cannot make the spool folder {}: {}", path, error.message()));
  }
  // users' batch scripts run from it
  ::chmod(path.c_str(), 0755);
  return may_write_in(path);
}

}  // namespace

// In the order in which things are built; they go in the opposite one.
class Agent::Graph {
 public:
  Graph(ClusterConfig config, AgentOptions options)
      : options_(std::move(options)), work_(boost::asio::make_work_guard(io_)) {
    node_.name = options_.node_name;
    node_.config_path = options_.config_path;
    node_.has_own_config = !options_.cache;
    node_.sbin_dir = options_.sbin_dir;
    node_.node_line = options_.node_line;
    node_.claims_future = options_.claims_future;
    node_.started = now();
    node_.real_hardware = discover_hardware(config.tmp_fs, config.slurmd_parameters);
    node_.processors = processor_order();
    node_.real_hardware.host_name = short_host_name();
    if (options_.rebooted) {
      node_.real_hardware.boot_time = node_.started;
      node_.real_hardware.boot_id += "-" + std::to_string(node_.started.time_since_epoch().count());
    }
    adopt_config(node_, std::move(config));
    node_.hardware.agent_start = node_.started;
    node_.hardware.host_name = node_.real_hardware.host_name;
    node_.hardware.address = node_.self.address;
    node_.hardware.port = node_.self.port;
    node_.spool_dir = node_path(node_.config->slurmd_spool_dir, node_.self);
  }

  Status start() {
    if (auto ok = may_run(step_daemon(node_)); !ok) return ok;
    if (auto ok = make_folder(node_.spool_dir); !ok) return ok;
    if (options_.clean) {
      std::error_code ignored;
      std::filesystem::remove_all(node_.spool_dir + "/steps", ignored);
      std::filesystem::remove_all(node_.spool_dir + "/jobs", ignored);
      for (const char* name : {"cluster_id", "credential_key", "last_job", "spool_id"}) {
        std::filesystem::remove(node_.spool_dir + "/" + name, ignored);
      }
      if (auto ok = ChangedCpus(node_.spool_dir).give_all_back(); !ok)
        log::error("{}", ok.error().text);
      if (auto ok = ChangedGpus(node_.spool_dir).give_all_back(); !ok)
        log::error("{}", ok.error().text);
    }
    node_.cluster_id = read_cluster_id(node_.spool_dir);
    node_.spool_id = spool_id(node_.spool_dir);
    if (!node_.cluster_id.empty()) node_.credential_key = read_credential_key(node_.spool_dir);
    knew_cluster_ = !node_.cluster_id.empty();
    node_.last_job.emplace(node_.spool_dir);
    Status ok = open_identity();
    if (!ok) return ok;
    make_parts();
    ok = start_server();
    if (!ok) return ok;
    jobs_->load();
    containers_->adopt_all();
    ok = steps_->adopt_all();
    if (!ok) return ok;
    groups_->remove_unused();
    // a node that is not well says so before it takes work
    health_->run([this] { registrar_->start(); });
    thread_ = std::thread([this] { io_.run(); });
    return {};
  }

  void stop() {
    if (server_) server_->shutdown(std::chrono::milliseconds(200));
    node_.mailbox->close();
    io_.stop();
    if (thread_.joinable()) thread_.join();
    if (groups_) groups_->leave();
  }

  Status reconfigure() {
    if (cache_) {
      if (auto ok = cache_->renew(); !ok) {
        log::error("the configuration cannot be renewed: {}", ok.error().text);
        return ok;
      }
    }
    std::vector<std::string> warnings;
    auto fresh = load_config(options_.config_path, &warnings);
    if (!fresh) {
      log::error("the configuration cannot be used: {}", fresh.error().text);
      return tl::unexpected<Error>(fresh.error());
    }
    Status enforced = cache_ ? Status{} : check_stopping_keys(*fresh);
    if (!enforced) {
      log::error("the configuration cannot be used: {}", enforced.error().text);
      return enforced;
    }
    node_.mailbox->post([this, config = std::move(*fresh)]() mutable {
      adopt_config(node_, std::move(config));
      registrar_->start();
    });
    return {};
  }

 private:
  Status open_identity() {
    const net::AuthOptions auth_options = net::auth_options(*node_.config);
    auto provider = net::make_auth(auth_options);
    if (!provider) return tl::unexpected<Error>(provider.error());
    auth_ = *provider;
    auto serving = net::serve_tokens(auth_options);
    if (!serving) return tl::unexpected<Error>(serving.error());
    tokens_ = std::move(*serving);
    if (auto ok = open_tls(); !ok) return ok;
    controller_ = std::make_unique<net::AsyncClient>(
        net::ClientOptions{.addresses = controller_addresses(*node_.config),
                           .receiver = std::string(net::kController),
                           .auth = auth_,
                           .tls = tls_trust_,
                           .signed_answers = true});
    if (options_.cache) options_.cache->server.auth = auth_;
    if (options_.cache) options_.cache->server.tls = tls_trust_;
    if (options_.cache) cache_.emplace(node_, *controller_, *options_.cache);
    return {};
  }

  Status open_tls() {
    if (!net::uses_tls(*node_.config)) return {};
    auto trust = net::tls_trust(*node_.config);
    if (!trust) return tl::unexpected<Error>(trust.error());
    auto identity = net::TlsIdentity::open(net::agent_tls_files(*node_.config, node_.self),
                                           node_.config->slurmd_user_id);
    if (!identity) return tl::unexpected<Error>(identity.error());
    tls_trust_ = std::move(*trust);
    tls_identity_ = std::move(*identity);
    return {};
  }

  void make_parts() {
    children_.emplace(io_);
    scripts_.emplace(io_, *children_);
    groups_.emplace(node_, [this](JobId job) {
      return !steps_->live_of(job).empty() || jobs_->keeps_group(job);
    });
    containers_.emplace(node_, *children_);
    steps_.emplace(node_, *children_, *groups_, *containers_, [this](protocol::StepEnded report) {
      const protocol::StepKey key = report.key;
      if (report.drain_node && report.failure.empty()) jobs_->run_unkillable_program(key);
      report.node_clean = jobs_->clean_after(report);
      reporter_->add(std::move(report));
      jobs_->step_over(key);
    });
    jobs_.emplace(node_, *scripts_, *groups_);
    health_.emplace(node_, *scripts_);
    features_.emplace(node_, *children_);
    reboot_.emplace(node_, *children_, *features_,
                    Reboot::Handlers{[this] { registrar_->start(); }, options_.end_process});
    node_clients_ = std::make_shared<net::NodeClients>(net::ClientOptions{
        .auth = auth_, .tls = tls_trust_, .connect_timeout = node_.config->tcp_timeout});
    reporter_.emplace(
        node_, *controller_, node_clients_,
        Reporter::Handlers{[this](const protocol::StepKey& key) { steps_->forget(key); },
                           [this] { steps_->make_reports_safe(); }});
    jobs_->connect(*steps_, *reporter_);
    steps_->when_begun([this](const protocol::StepKey& key) { jobs_->step_began(key); });
    broadcasts_.emplace(node_, *children_);
    broadcasts_->use_containers(*containers_);
    jobs_->when_over([this](JobId job) {
      broadcasts_->end_job(job);
      containers_->remove(job);
    });
    registrar_.emplace(
        node_, *controller_, *features_,
        Registrar::Handlers{[this](protocol::RegisterNodeRequest& request) {
                              steps_->adopt_late_ones();
                              request.running = steps_->live();
                              request.ended = steps_->unacknowledged();
                              request.jobs = jobs_->prepared();
                              for (const JobId job : containers_->jobs())
                                request.jobs.push_back(job);
                            },
                            [this](const protocol::RegisterNodeReply& reply) { registered(reply); },
                            [this] { return !steps_->live().empty(); }});
  }

  void registered(const protocol::RegisterNodeReply& reply) {
    if (!std::exchange(knew_cluster_, true)) steps_->end_strays();
    if (reply.removed && !reply.forget.empty())
      log::error("the cluster does not have this node any more; steps that are ended: {}",
                 reply.forget.size());
    for (const protocol::StepKey& key : reply.forget) {
      log::info(
          "JobId={} StepId={} is ended: the controller does not know it (any more); its log says why",
          key.id.job, step_id_text(key.id));
      steps_->terminate({key, true, {}});
    }
    for (const JobId job : reply.clean) {
      log::info("JobId={} is over for the controller: what is left of it is cleaned", job);
      jobs_->clean(job);
    }
    reporter_->resume();
    if (cache_) cache_->follow(reply.config_digest);
  }

  Status start_server() {
    fanout_ = net::Fanout::create(node_clients_);
    requests_.emplace(RequestParts{node_, *steps_, *jobs_, *registrar_, *reporter_, *health_,
                                   *reboot_, options_.end_process, node_.config->slurmd_user_id,
                                   *broadcasts_, fanout_});
    net::ServerOptions server_options;
    server_options.addresses = {net::agent_listen_address(*node_.config, node_.self)};
    server_options.receiver = node_.self.name;
    server_options.auth = auth_;
    server_options.tls = tls_identity_;
    server_options.slurm_user = node_.config->slurm_user_id;
    server_.emplace(std::move(server_options));
    add_requests(*server_, *requests_);
    fanout_->serve(*server_);
    return server_->start();
  }

  AgentOptions options_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  NodeState node_{.io = io_, .mailbox = std::make_shared<Mailbox>(io_)};
  std::shared_ptr<net::AuthProvider> auth_;
  std::shared_ptr<net::TlsTrust> tls_trust_;  // null, as the next one: nothing is encrypted
  std::shared_ptr<net::TlsIdentity> tls_identity_;
  std::unique_ptr<net::TokenService> tokens_;
  std::optional<ChildProcesses> children_;
  std::optional<SiteScripts> scripts_;
  std::optional<HealthCheck> health_;
  std::optional<NodeFeatures> features_;
  std::optional<Reboot> reboot_;
  std::optional<JobGroups> groups_;
  std::optional<JobContainers> containers_;
  std::optional<Steps> steps_;
  std::optional<Jobs> jobs_;
  std::shared_ptr<net::NodeClients> node_clients_;
  std::optional<Reporter> reporter_;
  std::optional<Registrar> registrar_;
  std::optional<Broadcasts> broadcasts_;
  std::shared_ptr<net::Fanout> fanout_;
  std::optional<RequestParts> requests_;
  std::optional<net::RpcServer> server_;
  std::unique_ptr<net::AsyncClient> controller_;
  bool knew_cluster_ = false;         // when it looked for step daemons of this node
  std::optional<ConfigCache> cache_;  // none: slurm.conf is this host's own
  std::thread thread_;
};

Agent::Agent(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}
Agent::~Agent() { graph_->stop(); }

Result<std::unique_ptr<Agent>> Agent::start(ClusterConfig config, AgentOptions options) {
  if (find_node_config(config, options.node_name) == nullptr) {
    return failure(ErrorCode::kInvalidNodeName,
                   fmt::format("node {} is not in the configuration", options.node_name));
  }
  auto graph = std::make_unique<Graph>(std::move(config), std::move(options));
  if (auto ok = graph->start(); !ok) {
    graph->stop();
    return tl::unexpected<Error>(ok.error());
  }
  return std::unique_ptr<Agent>(new Agent(std::move(graph)));
}

Status Agent::reconfigure() { return graph_->reconfigure(); }

}  // namespace sluice::noded
