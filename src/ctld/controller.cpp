#include "ctld/controller.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "common/base/hex_digits.hpp"
#include "common/os/append_file.hpp"
#include "common/os/host_name.hpp"
#include "common/base/text.hpp"
#include "common/config_files/load.hpp"
#include "common/daemon/log_setup.hpp"
#include "common/log/log.hpp"
#include "common/auth/auth_config.hpp"
#include "common/net/address.hpp"
#include "common/net/listen_address.hpp"
#include "common/net/tls_config.hpp"
#include "common/rpc/token_server.hpp"
#include "common/config/conf_diff.hpp"
#include "common/config/keys/conf_ignored.hpp"
#include "common/names/errors.hpp"
#include "ctld/accounting/daemon_watch.hpp"
#include "ctld/accounting/follower.hpp"
#include "ctld/accounting/recorder.hpp"
#include "ctld/accounting/sender.hpp"
#include "ctld/agents/effect_runner.hpp"
#include "ctld/agents/group_checks.hpp"
#include "ctld/agents/health_checks.hpp"
#include "ctld/agents/liveness.hpp"
#include "ctld/agents/config_problems.hpp"
#include "ctld/agents/site_programs.hpp"
#include "ctld/checkpointer.hpp"
#include "ctld/job_submit/submit_script.hpp"
#include "ctld/logs/debug_log.hpp"
#include "ctld/logs/event_log.hpp"
#include "ctld/journal/open_journal.hpp"
#include "ctld/journal/state_folder.hpp"
#include "ctld/own_host.hpp"
#include "ctld/rpc/rate_limits.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/saved_state.hpp"
#include "ctld/logs/schedule_log.hpp"
#include "ctld/state/react.hpp"

namespace sluice::ctld {
namespace {

void log_storage(ErrorCode trouble, const std::string& why, const std::string& folder) {
  if (trouble == ErrorCode::kOk) log::info("the journal can be written again");
  else if (trouble == ErrorCode::kStorageFull)
    log::error("{}; new work is refused until {} MiB are free in {}", why,
               journal::kRoomWanted >> 20, folder);
  else log::error("{}; until then new work is refused", why);
}

Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

// Of what gives job ids after a start, while nodes have not said which they know.
constexpr Duration kJobIdsWait = std::chrono::seconds(5);

// InactiveLimit; 0 for none.
Duration silence_limit(const ClusterConfig& config) {
  return config.inactive_limit < kNoLimit ? config.inactive_limit : Duration(0);
}

// A submission is the longest of all requests: its script, and what comes with it.
size_t most_request_bytes(const ClusterConfig& config) {
  constexpr size_t kBesideTheScript = size_t{20} << 20;
  constexpr size_t kMostScript = size_t{44} << 20;
  const auto script =
      to_number<size_t>(option_value(config.scheduler_parameters, "max_script_size").value_or(""))
          .value_or(0);
  return kBesideTheScript + std::min(script, kMostScript);
}

// The next start would fail where it cannot be opened.
Status check_new_log(const ClusterConfig& running, const ClusterConfig& fresh) {
  const std::string& file = fresh.slurmctld_log_file;
  if (file.empty() || file == running.slurmctld_log_file) return {};
  const auto log_file = AppendFile::open(file);
  if (log_file) return {};
  return failure(ErrorCode::kInvalidConfig,
                 fmt::format("SlurmctldLogFile={}", log_file.error().text));
}

bool accepts_jwt(const ClusterConfig& config) {
  return !net::jwt_settings(config).key_file.empty();
}

Status check_jwt_key(const ClusterConfig& config) {
  if (!accepts_jwt(config)) return {};
  const auto usable = net::load_jwt_key(net::jwt_settings(config));
  return usable ? Status() : tl::unexpected(usable.error());
}

// As the server would say it, which starts last.
Status check_own_port(const ClusterConfig& config) {
  const Status free = net::can_listen(net::controller_listen_address(config, short_host_name()));
  if (free) return {};
  return failure(ErrorCode::kError, "cannot listen on " + free.error().text);
}

void log_recovered(const journal::StoreInfo& info, const journal::Recovered& recovered,
                   const std::string& folder) {
  log::info("journal of cluster {}: {} events replayed, {} jobs, epoch {}", info.cluster_id,
            recovered.replayed_events, recovered.state.jobs.size(), info.epoch);
  if (recovered.last == 0)
    log::info(
        "there was no state in StateSaveLocation={}: a new cluster begins there, with an id of its own, "
        "which nodes of another refuse. If there was one before, stop slurmctld and see that the "
        "folder is the right one, and mounted",
        folder);
}

void warn_of_open_tokens(const ClusterConfig& config) {
  if (!accepts_jwt(config) || net::uses_tls(config) || !net::is_asked_over_a_network(config))
    return;
  log::error(
      "AuthAltTypes=auth/jwt without TLSType=tls/s2n: whoever can read the network has the tokens that go over it, and is their users");
}

}  // namespace

// In the order in which things are built; they go in the opposite one.
struct Controller::Graph {
  ControllerOptions options;
  std::shared_ptr<const ClusterConfig> config;
  std::unique_ptr<journal::SqliteStore> store;
  std::optional<net::CredentialSigner> signer;
  std::shared_ptr<net::AuthProvider> auth;
  std::shared_ptr<net::TlsTrust> tls_trust;  // null, as the next one: nothing is encrypted
  std::shared_ptr<net::TlsIdentity> tls_identity;
  std::unique_ptr<net::TokenService> tokens;
  std::optional<NodeLinks> links;
  std::optional<Watches> watches;
  StepWaiters step_waiters;
  SitePrograms programs;
  Users users;
  LaunchRefusals refusals;
  std::optional<EffectRunner> effects;
  std::optional<EventLog> event_log;
  std::optional<engine::Publisher> publisher;
  std::optional<journal::GroupCommit> commit;
  HistoryRecorder recorder;
  std::optional<engine::Engine> engine;
  RuntimeValues runtime;
  ScheduleLog schedule_log;
  PassDebug pass_debug;
  std::optional<engine::SchedulerLoop> scheduler;
  std::optional<Liveness> liveness;
  std::optional<HealthChecks> health_checks;
  std::optional<GroupChecks> group_checks;
  std::optional<Checkpointer> checkpointer;
  DaemonWatch daemon_watch;
  std::optional<DbdClient> dbd;  // these two where there is an accounting daemon
  std::optional<HistorySender> sender;
  std::optional<AccountingFollower> follower;
  CallCounts calls{now()};
  SentFiles sent_files;
  ConfigForNodes config_for_nodes;
  RateLimits rate_limits;
  SubmitHosts submit_hosts{short_host_name()};
  net::SlowWork planning{kPlanningWork};
  SubmitScript submit_script;
  std::optional<ServiceParts> services;
  std::optional<net::RpcServer> server;

  Status open_signer(const journal::Recovered& recovered);
  Status open_identity();
  Status open_tls();
  OwnCluster own_cluster(uint64_t known_version) const;
  JobId first_job_id();
  void start_accounting(uint64_t known_version);
  Status start_core(journal::Recovered recovered);
  Status start_server();
  Status command(state::Command command);
  Status reconfigure() {
    return sent_files.change([this] { return read_again(); });
  }
  Status read_again();
  void shut_down(bool controller_only);
  void stop();
};

// The key that signs launches. A cluster that has been there before had one, and its nodes know it.
Status Controller::Graph::open_signer(const journal::Recovered& recovered) {
  const std::string path = config->state_save_location + "/" + kSigningKeyFile;
  if (!options.clean) {
    if (Status own = check_journal_is_own(*config, recovered, store->info()); !own) return own;
  }
  auto key = net::CredentialSigner::load(path);
  if (!key && key.error().code == ErrorCode::kPathMissing) {
    const bool known = knew_a_key(recovered);
    if (known && !options.new_key) return missing_key(path);
    if (known) log::info("{}: a new key is made", path);
    key = net::CredentialSigner::create(path);
  }
  if (!key) return tl::unexpected(key.error());
  if (options.new_key)
    log::info("--new-credential-key: nodes that know another key take that of {} over", path);
  signer = std::move(*key);
  return {};
}

// The tokens of the host's users, and the proof of everyone's identity.
Status Controller::Graph::open_identity() {
  const net::AuthOptions auth_options = net::auth_options(*config);
  auto provider = net::make_auth(auth_options);
  if (!provider) return tl::unexpected(provider.error());
  auth = *provider;
  if (auto ok = check_jwt_key(*config); !ok) return ok;
  // by the configuration in force: scontrol reconfigure begins and ends it
  auth = net::accept_jwt(std::move(auth),
                         [this] { return net::jwt_settings(*publisher->newest()->state->config); });
  warn_of_open_tokens(*config);
  if (auto ok = open_tls(); !ok) return ok;
  auto serving = net::serve_tokens(auth_options);
  if (!serving) return tl::unexpected(serving.error());
  tokens = std::move(*serving);
  return {};
}

Status Controller::Graph::open_tls() {
  if (!net::uses_tls(*config)) return {};
  auto trust = net::tls_trust(*config);
  if (!trust) return tl::unexpected(trust.error());
  auto identity = net::TlsIdentity::open(net::controller_tls_files(*config), config->slurm_user_id);
  if (!identity) return tl::unexpected(identity.error());
  tls_trust = std::move(*trust);
  tls_identity = std::move(*identity);
  return {};
}

// Posts a command and waits until what it did is durable.
Status Controller::Graph::command(state::Command what) {
  auto done = std::make_shared<std::promise<Status>>();
  std::future<Status> result = done->get_future();
  engine->post({std::move(what), {}, [done](const Result<state::Reply>& reply, const auto&) {
                  done->set_value(reply ? Status{} : tl::unexpected(reply.error()));
                }});
  return result.get();
}

Status Controller::Graph::start_core(journal::Recovered recovered) {
  const journal::StoreInfo& info = store->info();
  log_recovered(info, recovered, config->state_save_location);
  links.emplace(auth, tls_trust);
  watches.emplace(
      [this](JobId job) {
        engine->post({state::ClientGone{job}, {}, {}});
      },
      [this] { return silence_limit(*publisher->newest()->state->config); });
  effects.emplace(EffectRunner::Parts{*store, *signer, *links, *watches, step_waiters, programs,
                                      users, refusals});
  start_accounting(recovered.state.accounting.version);
  const auto first = std::make_shared<const state::ClusterState>(recovered.state);
  event_log.emplace(first);
  publisher.emplace(
      engine::Published{first, recovered.last},
      [this](const state::Effects& list, const state::ClusterSnapshot& state) {
        effects->run(list, state);
      },
      [this](std::vector<engine::LoggedFrame> frames, const state::ClusterSnapshot& after) {
        event_log->note(std::move(frames), after);
        if (sender) sender->wake();
      });
  commit.emplace(*store,
                 journal::GroupCommitOptions{
                     .on_storage_change = [this](ErrorCode trouble, const std::string& why) {
                       log_storage(trouble, why, config->state_save_location);
                     }});
  engine.emplace(engine::EngineOptions{.clock = now,
                                       .job_ids_wait = kJobIdsWait,
                                       .on_events = log_events,
                                       .recorder = &recorder},
                 std::move(recovered.state), recovered.last, *commit, *publisher);
  scheduler.emplace(*engine, *publisher, now, [this](const engine::PassReport& report) {
    schedule_log.note(report,
                      runtime.get().second.value_or(report.state.config->slurm_sched_log_level));
    pass_debug.note(report);
  });
  effects->connect(*engine, *scheduler, *publisher);
  recorder.ask([this](JobId job, bool starts) {
    const auto known = scheduler->soft();
    HistoryRecorder::Waited waited;
    if (known == nullptr) return waited;
    waited.reason = known->waited_for(job, starts);
    if (const SchedulerHints* soft = known->find(job)) waited.priority = soft->priority;
    return waited;
  });
  const state::StartEpoch start{
      info.cluster_id, info.epoch, options.clean, first_job_id(), hex_digits(signer->public_key()),
      options.new_key};
  if (auto ok = command(start); !ok) return ok;
  if (auto ok = command(state::ReplaceConfig{config, options.keep_partitions}); !ok) return ok;
  const state::ClusterSnapshot state = publisher->newest()->state;
  effects->run(state::resume(*state), state);
  liveness.emplace(*engine, *publisher, *links, now);
  health_checks.emplace(*publisher, *links);
  group_checks.emplace(*engine, *publisher, users);
  checkpointer.emplace(*store, *publisher, now);
  daemon_watch.tell_to([this](TriggerEvents events) {
    engine->post({state::AccountingNoticed{events}, {}, {}});
  });
  if (dbd)
    follower.emplace(*engine, *dbd,
                     AccountingFollower::Options{own_cluster(state->accounting.version),
                                                 system_uid_of, &daemon_watch});
  scheduler->wake();
  return {};
}

// --first-job-id, else behind what accounting knows: an older state was put back. Where ids have
// begun anew behind MaxJobId, a higher one is no later one.
JobId Controller::Graph::first_job_id() {
  const state::ClusterSnapshot state = publisher->newest()->state;
  if (options.first_job_id != kNoJob || !dbd || state->job_id_round > 0)
    return options.first_job_id;
  const auto last = last_known_job(*dbd, config->cluster_name);
  if (!last) {
    log::info("the accounting daemon does not say which job ids it knows: {}",
              error_text(last.error()));
    return kNoJob;
  }
  if (*last == kNoJob || *last < state->next_job_id || *last >= config->max_job_id) return kNoJob;
  log::warning(
      "the accounting daemon knows job ids up to {}, this state only those before {}: it is an older one, and ids go on "
      "behind what is known",
      *last, state->next_job_id);
  return *last + 1;
}

OwnCluster Controller::Graph::own_cluster(uint64_t known_version) const {
  return {config->cluster_name, store->info().cluster_id, short_host_name(), config->slurmctld_port,
          known_version};
}

// Before anything is published that would wake the sender.
void Controller::Graph::start_accounting(uint64_t known_version) {
  if (!has_accounting_daemon(*config)) {
    if (store->outgoing_count() > 0)
      log::warning("{} records wait for an accounting daemon, and AccountingStorageType names none",
                   store->outgoing_count());
    return;
  }
  dbd.emplace(*config, auth, tls_trust);
  sender.emplace(*store, *dbd,
                 HistorySender::Options{own_cluster(known_version), most_dbd_messages(*config),
                                        &daemon_watch});
}

Status Controller::Graph::start_server() {
  services.emplace(ServiceParts{*engine,
                                *publisher,
                                *scheduler,
                                *store,
                                *signer,
                                *links,
                                *liveness,
                                *watches,
                                step_waiters,
                                users,
                                now,
                                now(),
                                short_host_name(),
                                [this] { return reconfigure(); },
                                [this](bool controller_only) { shut_down(controller_only); },
                                runtime,
                                calls,
                                sent_files,
                                config_for_nodes,
                                refusals,
                                submit_hosts,
                                [this](auto& reply) {
                                  reply.history_waiting = store->outgoing_count();
                                  if (!sender) return;
                                  reply.history_waiting_since = sender->refused_since();
                                  reply.history_sent = sender->sent();
                                },
                                [this](auto& reply) { effects->report_orders(reply); },
                                planning,
                                submit_script});
  net::ServerOptions server_options;
  server_options.addresses = {net::controller_listen_address(*config, short_host_name())};
  server_options.receiver = net::kController;
  server_options.auth = auth;
  server_options.tls = tls_identity;
  server_options.slurm_user = config->slurm_user_id;
  server_options.max_request = most_request_bytes(*config);
  server_options.refusals = make_refusal_log();
  server_options.admit = [this](std::string_view method, uint32_t uid) {
    return rate_limits.admit(method, uid, now());
  };
  server_options.on_answered = [this](std::string_view method, uint32_t uid, Duration took) {
    calls.note(method, uid, took);
  };
  // A client that is stopped, or whose host is gone, is noticed by its silence only where a limit
  // is set.
  server_options.keepalive = silence_limit(*config) / 4;
  server.emplace(std::move(server_options));
  add_submit_methods(*server, *services);
  add_step_methods(*server, *services);
  add_change_methods(*server, *services);
  add_usage_methods(*server, *services);
  add_priority_methods(*server, *services);
  add_assoc_mgr_methods(*server, *services);
  add_broadcast_methods(*server, *services);
  add_outside_methods(*server, *services);
  add_reservation_methods(*server, *services);
  add_token_methods(*server, *services);
  add_query_methods(*server, *services);
  add_config_methods(*server, *services);
  add_admin_methods(*server, *services);
  add_statistics_methods(*server, *services);
  add_node_methods(*server, *services);
  return server->start();
}

Status Controller::Graph::read_again() {
  std::vector<std::string> warnings;
  auto fresh = load_config(options.config_path, &warnings);
  if (!fresh) {
    log::error("reconfigure refused: {}", fresh.error().text);
    return tl::unexpected(fresh.error());
  }
  if (auto ok = check_stopping_keys(*fresh); !ok) {
    log::error("reconfigure refused: {}", ok.error().text);
    return ok;
  }
  const auto running = publisher->newest()->state->config;
  if (auto ok = check_new_log(*running, *fresh); !ok) {
    log::error("reconfigure refused: {}", ok.error().text);
    return ok;
  }
  for (const std::string& warning : warnings) log::info("{}", warning);
  if (fresh->without_effect != running->without_effect) {
    if (const std::string ignored = tables::ignored_summary(*fresh); !ignored.empty())
      log::warning("{}: {}", options.config_path, ignored);
  }
  for (const std::string& key : tables::config_changes(*running, *fresh).need_restart) {
    log::info("{} has changed and waits for a restart", key);
  }
  tables::keep_until_restart(*running, *fresh);
  if (auto ok = check_jwt_key(*fresh); !ok) {
    log::error("reconfigure refused: {}", ok.error().text);
    return ok;
  }
  if (auto ok = submit_script.prepare(*fresh); !ok) {
    log::error("reconfigure refused: {}", ok.error().text);
    return ok;
  }
  auto files = SentFiles::read(*fresh);
  if (!files) {
    log::error("reconfigure refused: {}", files.error().text);
    return tl::unexpected(files.error());
  }
  auto next = std::make_shared<const ClusterConfig>(std::move(*fresh));
  // first, for nodes that ask as soon as they are told
  auto before = sent_files.replace(std::move(*files));
  if (auto ok = command(state::ReplaceConfig{next, false, true}); !ok) {
    sent_files.replace(std::move(before));
    log::error("reconfigure refused: {}", error_text(ok.error()));
    return ok;
  }
  log_config_problems(*next);
  users.use(*next);
  rate_limits.use(*next);
  step_waiters.use(step_retry(*next));
  runtime.reset();
  if (!accepts_jwt(*running)) warn_of_open_tokens(*next);
  if (auto ok = daemon::change_log_file(running->slurmctld_log_file, next->slurmctld_log_file); !ok)
    log::error("SlurmctldLogFile: {}", ok.error().text);
  daemon::change_log({running->slurmctld_debug, next->slurmctld_debug}, running->debug_flags,
                     next->debug_flags);
  log::info("configuration read again from {}", options.config_path);
  return {};
}

// The agents are told first; whether they answer or not, this process ends then.
void Controller::Graph::shut_down(bool controller_only) {
  const state::ClusterSnapshot state = publisher->newest()->state;
  Bitmap nodes;
  state->nodes.for_each([&](const Node& node) {
    // an administrator's DOWN does not mean that no agent runs there
    const bool is_lost = node.base == NodeBaseState::kDown && (node.flags & kNodeNoRespond) != 0;
    if (!node.removed && node.hardware && !is_lost) nodes.set(node.id);
  });
  if (controller_only || nodes.none()) return options.end_process();
  links->send(*state, nodes, protocol::ShutdownNodeRequest{},
              [end = options.end_process](const auto&) { end(); });
}

// Outside in: no new requests, then nothing new from within, then everything durable.
void Controller::Graph::stop() {
  if (watches) watches->close();
  step_waiters.close();
  if (server) server->shutdown(std::chrono::milliseconds(200));
  planning.stop();
  if (liveness) liveness->stop();
  if (health_checks) health_checks->stop();
  if (group_checks) group_checks->stop();
  if (follower) follower->stop();
  if (scheduler) scheduler->stop();
  programs.stop();  // what ends in time is told to the engine
  if (engine) engine->stop();
  if (commit) commit->stop();
  if (publisher) publisher->stop();
  if (sender) sender->stop();
  if (event_log) event_log->stop();
  if (effects) effects->stop();
  if (checkpointer) checkpointer->stop();
}

Controller::Controller(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}
Controller::~Controller() { graph_->stop(); }

Result<std::unique_ptr<Controller>> Controller::start(ClusterConfig config,
                                                      ControllerOptions options) {
  auto graph = std::make_unique<Graph>();
  graph->options = std::move(options);
  graph->config = std::make_shared<const ClusterConfig>(std::move(config));
  if (auto ok = may_control_here(*graph->config); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_state_place(*graph->config); !ok) return tl::unexpected(ok.error());
  // first what makes nothing there
  if (!graph->options.clean) {
    if (auto ok = check_journal_file(*graph->config); !ok) return tl::unexpected(ok.error());
  }
  auto files = SentFiles::read(*graph->config);
  if (!files) return tl::unexpected(files.error());
  graph->sent_files.replace(std::move(*files));
  if (auto ok = graph->open_identity(); !ok) return tl::unexpected(ok.error());
  // a start that fails for it would have begun a cluster, and told the accounting daemon of it
  if (auto ok = graph->submit_script.prepare(*graph->config); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = check_own_port(*graph->config); !ok) {
    log_config_problems(*graph->config);
    return tl::unexpected(ok.error());
  }
  const std::filesystem::path folder = graph->config->state_save_location;
  auto opened = journal::open_journal(folder / journal::kJournalFolder, graph->options.clean);
  if (!opened) return tl::unexpected(opened.error());
  if (!opened->set_aside.empty()) log::error("{}", opened->set_aside);
  graph->store = std::move(opened->store);
  log_config_problems(*graph->config);
  graph->users.use(*graph->config);
  graph->rate_limits.use(*graph->config);
  graph->step_waiters.use(step_retry(*graph->config));
  Status ok;
  if (opened->recovered.last > 0 && !graph->options.clean)
    ok = check_cluster_name(opened->recovered, *graph->config);
  if (ok) ok = graph->open_signer(opened->recovered);
  if (ok) ok = graph->start_core(std::move(opened->recovered));
  if (ok) ok = graph->start_server();
  if (ok) graph->liveness->start();  // nodes that are asked register at once
  if (!ok) {
    graph->stop();
    return tl::unexpected(ok.error());
  }
  return std::unique_ptr<Controller>(new Controller(std::move(graph)));
}

Status Controller::reconfigure() { return graph_->reconfigure(); }

void Controller::reopen_logs() {
  if (auto ok = log::reopen(); !ok) log::error("{}", ok.error().text);
  graph_->schedule_log.reopen();
}

}  // namespace sluice::ctld
