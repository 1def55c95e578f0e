#include "noded/steps/steps.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/os/remove_tree.hpp"
#include "common/step/cpu_settings.hpp"
#include "common/step/gpu_clocks.hpp"
#include "common/names/step_names.hpp"
#include "common/wire/codec.hpp"
#include "noded/node/host_checks.hpp"
#include "noded/steps/orphans.hpp"
#include "noded/steps/signal_targets.hpp"
#include "noded/steps/step_shares.hpp"
#include "noded/steps/stray_daemons.hpp"
#include "noded/steps/waiting_orders.hpp"

namespace sluice::noded {

using protocol::FrameType;

struct Steps::Step {
  protocol::StepKey key;
  uint32_t uid = UINT32_MAX;
  std::shared_ptr<FrameConnection> link;  // null: not connected
  pid_t pid = -1;                         // of the daemon, where it is our child
  bool ready = false;                     // takes orders
  bool began = false;                     // was ready once
  bool over = false;                      // reported
  bool put_down = false;  // its daemon was ended here: nothing is wrong with the node
  uint32_t looks = 0;     // at a key file that says nothing yet
  // SignalStepRequest::issued of the last such order
  Time stopped_or_gone = kNoTime;
  // by this connection or what waits: politely, at once
  std::array<bool, 2> told_to_end{};
  WaitingOrders waiting;  // given before it was ready, or while its script is told
  bool after_script = false;
  uint32_t under_way = 0;  // signals and orders to end that its daemon has not carried out
  // until then, once it was told to end
  std::unique_ptr<boost::asio::steady_timer> silence;
  // until then it is to be suspended, or resumed
  std::unique_ptr<boost::asio::steady_timer> suspension;
  // of a batch script: how long others wait for it
  std::unique_ptr<boost::asio::steady_timer> turn;
  [[nodiscard]] bool takes_orders() const { return ready && link && !after_script; }
};

namespace {

constexpr size_t kMostEarly = 1000;        // orders to end steps that never came
constexpr size_t kMostForgotten = 20000;   // far more than end while a launch may be on its way
constexpr size_t kMostUnsent = 64U << 10;  // to a daemon that takes nothing
constexpr auto kLookAgain = std::chrono::milliseconds(50);
// 5 s: a daemon makes its key file and writes into it at once, or died between
constexpr uint32_t kMostLooks = 100;

constexpr auto kTurnOfScript = std::chrono::milliseconds(500);
// What a daemon takes that was told to end, be the node as busy as may be.
constexpr auto kLongestSilence = std::chrono::seconds(30);
// What a daemon takes that was told to suspend its step, or to resume it.
constexpr auto kLongestSuspension = std::chrono::seconds(3);

protocol::StepEnded failed_report(const NodeState& node, const protocol::StepKey& key,
                                  const std::string& why, bool ran) {
  protocol::StepEnded report;
  report.key = key;
  report.nodes = node.name;
  report.exit_status = ran ? SIGKILL : 0;
  report.failure = why;
  return report;
}

}  // namespace

Steps::Steps(NodeState& node, ChildProcesses& children, JobGroups& groups,
             JobContainers& containers, OnEnded on_ended)
    : node_(node),
      spare_(node, children),
      groups_(groups),
      containers_(containers),
      spool_(node.spool_dir),
      on_ended_(std::move(on_ended)),
      early_(kMostEarly),
      forgotten_(kMostForgotten),
      queries_(node.io) {}

bool Steps::is_live(const Step& step) const { return !step.over; }

bool Steps::knows(const protocol::StepKey& key) const {
  return steps_.contains(key) || spool_.is_claimed(key);
}

bool Steps::has_begun(const protocol::StepKey& key) const {
  const auto place = steps_.find(key);
  return place != steps_.end() && (place->second->began || place->second->over);
}

Status Steps::adopt_all() {
  if (auto ok = spool_.prepare(); !ok) return ok;
  const auto keys = spool_.scan();
  // "no step runs here" would end those that do
  if (!keys) return tl::unexpected<Error>(keys.error());
  end_strays();
  adopt(*keys);
  return {};
}

void Steps::end_strays() {
  const auto daemons = find_step_daemons(
      {node_.name, node_.spool_dir, node_.config_path, node_.cluster_id, node_.spool_id});
  if (daemons.empty()) return;
  const auto keys = spool_.scan();
  for (const StepDaemon& daemon : daemons) {
    const bool recorded = !keys || std::ranges::any_of(*keys, [&](const protocol::StepKey& key) {
      const uint32_t pid = spool_.record_of(key).daemon_pid;
      return pid == daemon.process.pid || (pid == 0 && step_id_text(key.id) == daemon.step);
    });
    if (recorded) continue;
    const size_t tasks = end_with_tasks(daemon.process);
    log::error(
        "JobId={} StepId={}: its step daemon (process {}) ran on, and {} does not know of it: it was ended, with {} processes of its tasks",
        daemon.step.substr(0, daemon.step.find('.')), daemon.step, daemon.process.pid,
        node_.spool_dir, tasks);
  }
}

void Steps::adopt_late_ones() {
  const auto keys = spool_.scan();
  if (!keys) return log::error("{}", keys.error().text);
  adopt(*keys);
}

// All are known before the first report is handed on: what it says of its job depends on the
// others.
void Steps::adopt(const std::vector<protocol::StepKey>& keys) {
  std::vector<std::pair<StepPtr, pid_t>> found;
  for (const protocol::StepKey& key : keys) {
    pid_t daemon = 0;
    if (const StepPtr step = enter(key, daemon)) found.emplace_back(step, daemon);
  }
  for (const auto& [step, daemon] : found) find_daemon(step, daemon, "its step daemon died");
}

void Steps::adopt(const protocol::StepKey& key) { adopt(std::vector{key}); }

// Null: it is known already, or was never begun.
Steps::StepPtr Steps::enter(const protocol::StepKey& key, pid_t& daemon) {
  if (steps_.contains(key) || !spool_.is_claimed(key)) return nullptr;
  const protocol::StepRecord record = spool_.record_of(key);
  auto step = std::make_shared<Step>();
  step->key = record.key;
  step->uid = record.uid;
  step->began = true;
  steps_.emplace(record.key, step);
  if (const auto early = early_.take(key))
    order(step, FrameType::kAgentTerminate, wire::encode(*early));
  daemon = static_cast<pid_t>(record.daemon_pid);
  return step;
}

void Steps::find_daemon(const StepPtr& step, pid_t daemon, const std::string& why) {
  if (step->over || step->link) return;
  if (daemon == 0) {
    const protocol::StepRecord record = spool_.record_of(step->key);
    daemon = static_cast<pid_t>(record.daemon_pid);
    if (daemon != 0) step->uid = record.uid;
  }
  // looked at first: one that goes meanwhile leaves its report before it does
  const bool lives = is_step_daemon(daemon, step->key.id, node_.spool_dir);
  if (auto report = spool_.read_end(step->key)) return ended(step, std::move(*report));
  if (auto fd = spool_.connect(step->key)) {
    log::info("{} runs on", step_log_name(step->key.id));
    return connect(step, *fd);
  }
  // it ended while we looked
  if (auto report = spool_.read_end(step->key)) return ended(step, std::move(*report));
  const bool unknown = daemon == 0 && spool_.is_claimed(step->key) && ++step->looks <= kMostLooks;
  if (!lives && !unknown) return lost(step, why);
  // it has its key, and has not written into it yet, or not its socket yet, or too many wait at
  // that
  auto timer = std::make_shared<boost::asio::steady_timer>(node_.io, kLookAgain);
  timer->async_wait([this, timer, step, daemon, why](const boost::system::error_code& error) {
    if (!error) find_daemon(step, daemon, why);
  });
}

void Steps::launch(const protocol::StepLaunch& launch, std::string encoded, uint32_t node_index) {
  adopt(launch.key);  // a daemon may have claimed it since anybody looked
  if (steps_.contains(launch.key)) return;
  auto step = std::make_shared<Step>();
  step->key = launch.key;
  step->uid = launch.uid;
  steps_.emplace(launch.key, step);
  if (const auto early = early_.take(launch.key))
    order(step, FrameType::kAgentTerminate, wire::encode(*early));
  if (auto ok = may_run(step_daemon(node_)); !ok) return lost(step, ok.error().text, true);
  if (auto ok = spool_.prepare(); !ok) log::error("{}", ok.error().text);  // it was removed
  log_shares(launch, node_index, node_.hardware.devices.size());
  protocol::StepdStart start = start_message(launch, node_index);
  start.cgroup = groups_.setup_for(launch, node_index);
  start.launch = std::move(encoded);
  containers_.prepare(launch.key.id.job, launch.uid,
                      [this, step, start](const Result<std::string>& file) mutable {
                        if (step->over) return;
                        if (!file) return lost(step, file.error().text);
                        start.mount_namespace = *file;
                        start_daemon(step, wire::encode(start));
                      });
}

void Steps::refuse(const protocol::StepKey& key, uint32_t uid, const std::string& why) {
  if (knows(key)) return;
  auto step = std::make_shared<Step>();
  step->key = key;
  step->uid = uid;
  steps_.emplace(key, step);
  lost(step, why, true);
}

void Steps::start_daemon(const StepPtr& step, const std::string& start) {
  const auto daemon = spare_.take([this, step](int status) { on_daemon_exit(step, status); });
  if (!daemon) return lost(step, daemon.error().text, true);
  step->pid = daemon->pid;
  connect(step, daemon->link);
  step->link->send(FrameType::kAgentStart, kNoTask, start);
}

Steps::~Steps() {
  for (const auto& [key, step] : steps_) {
    if (step->link) step->link->close();  // its handlers hold the step
  }
}

void Steps::connect(const StepPtr& step, int fd) {
  using boost::asio::local::stream_protocol;
  step->link = FrameConnection::make(stream_protocol::socket(node_.io, stream_protocol(), fd));
  step->link->start({[this, step](const Frame& frame) { on_frame(step, frame); },
                     [this, step] { on_disconnect(step); }, nullptr});
}

void Steps::on_frame(const StepPtr& step, const Frame& frame) {
  switch (frame.type) {
    case FrameType::kAgentReady: {
      step->ready = true;
      const bool again = std::exchange(step->began, true);
      for (const auto& [type, body] : step->waiting.take()) order(step, type, body);
      if (!again && when_begun_) when_begun_(step->key);
      return;
    }
    case FrameType::kAgentEnded:
      if (auto report = wire::decode<protocol::StepEnded>(frame.body)) {
        ended(step, std::move(*report));
      }
      return;
    case FrameType::kAgentTold:
      if (step->under_way == 0 || --step->under_way > 0) return;
      if (!step->waiting.contains(FrameType::kAgentSignal)) step->suspension.reset();
      if (!step->waiting.contains(FrameType::kAgentTerminate)) step->silence.reset();
      return script_was_told(step);
    case FrameType::kAgentLog:
      log::error("{}: {}", step_log_name(step->key.id), frame.body);
      return;
    case FrameType::kAgentPids:
      if (const auto pids = wire::decode<protocol::ListPidsReply>(frame.body))
        queries_.came(step->key, *pids);
      return;
    case FrameType::kAgentStats:
      if (const auto stats = wire::decode<protocol::StatStepReply>(frame.body))
        queries_.came(step->key, *stats);
      return;
    default: return;
  }
}

// A daemon of ours went away. When it reported, all is well; the connection's last words may come
// after the news of its end, so the spool is asked.
void Steps::on_daemon_exit(const StepPtr& step, int status) {
  step->pid = -1;
  if (step->over) return;
  if (auto report = spool_.read_end(step->key)) return ended(step, std::move(*report));
  if (step->link && step->link->is_open()) step->link->close();
  unconnected(step);
  if (WIFEXITED(status) && WEXITSTATUS(status) == protocol::kStepdAlreadyRun) {
    const auto other = static_cast<pid_t>(spool_.record_of(step->key).daemon_pid);
    return find_daemon(step, other, "it was started on this node before");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == protocol::kStepdNoSpool) {
    return lost(step, "its step daemon cannot write to " + node_.spool_dir, true);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == protocol::kStepdFullSpool)
    return lost(step, protocol::kSpoolIsFull, true);
  if (step->began || step->put_down)
    return lost(step, fmt::format("its step daemon died (status {:#x})", status));
  // of the next step's the same is to be feared, unless it was this job's memory that it lacked
  lost(step, fmt::format("its step daemon died before it began (status {:#x})", status),
       !groups_.starved_daemon(step->key.id.job));
}

void Steps::unconnected(const StepPtr& step) {
  step->link.reset();
  step->ready = false;
  step->told_to_end = {};
  step->under_way = 0;
  script_was_told(step);
}

void Steps::on_disconnect(const StepPtr& step) {
  unconnected(step);
  if (step->over) return;
  if (auto report = spool_.read_end(step->key)) return ended(step, std::move(*report));
  if (auto fd = spool_.connect(step->key)) return connect(step, *fd);
  if (step->pid > 0) return;  // of a child, the exit tells more
  find_daemon(step, static_cast<pid_t>(spool_.record_of(step->key).daemon_pid),
              "its step daemon died");
}

void Steps::lost(const StepPtr& step, const std::string& why, bool node_to_blame) {
  if (step->began) log::error("{}: {}", step_log_name(step->key.id), why);  // else ended() says it
  protocol::StepEnded report = failed_report(node_, step->key, why, step->began);
  report.drain_node = node_to_blame;
  if (node_to_blame) report.happened = now();
  if (step->began && groups_.starved_daemon(step->key.id.job)) {
    // the job's doing, and not the node's
    report.failure.clear();
    report.out_of_memory = true;
    report.exit_status = protocol::kOutOfMemoryStatus;
  }
  // kept, so that a restart of the agent tells the same
  if (spool_.is_claimed(step->key)) {
    // who is in its control group is known for sure; what a process's environment says, anybody may
    // have made it say
    const std::vector<std::string> marks = {
        fmt::format("SLURM_JOB_ID={}", step->key.id.job),
        fmt::format("SLURM_STEP_ID={}", static_cast<int32_t>(number_of_step(step->key.id.step))),
        "SLURMD_NODENAME=" + node_.name, "SLURM_CONF=" + node_.config_path};
    const size_t orphans = groups_.are_used() ? 0 : kill_marked(marks, step->uid);
    groups_.remove_step(step->key.id);
    if (auto ok = ChangedCpus(node_.spool_dir).give_back(step->key); !ok)
      log::error("{}", ok.error().text);
    if (auto ok = ChangedGpus(node_.spool_dir).give_back(step->key); !ok)
      log::error("{}", ok.error().text);
    if (step->key.id.step == kBatchStep) remove_batch_folder(node_.spool_dir, step->key.id.job);
    const std::string& base = node_.config->mpi.pmix_tmp_base;
    (void)remove_tree(pmix_folder(base, node_.spool_dir, node_.name, step->key.id));
    if (orphans > 0)
      log::info("{}: {} processes of it were killed", step_log_name(step->key.id), orphans);
    if (auto ok = spool_.write_end(report); !ok) log::error("{}", ok.error().text);
  }
  ended(step, std::move(report));
}

void Steps::ended(const StepPtr& step, protocol::StepEnded report) {
  if (std::exchange(step->over, true)) return;
  script_was_told(step);
  spare_.prepare();
  // one that began told its failures itself
  if (!step->began && !report.failure.empty())
    log::error("{}: {}", step_log_name(step->key.id), report.failure);
  log::info("{} done with job, status {:#x}", step_log_name(step->key.id), report.exit_status);
  log::flag(log::DebugFlag::kSteps, "step {} ended with status {:#x}{}{}",
            step_id_text(step->key.id), report.exit_status, report.failure.empty() ? "" : ": ",
            report.failure);
  on_ended_(std::move(report));
}

// An answer is for everybody who waits for one. A daemon that does not come to it is asked no more
// often.
void Steps::ask(const StepPtr& step, FrameType type) {
  if (!step->waiting.contains(type)) (void)try_order(step, type, {});
}

// What users may give as often as they like; the controller's own orders are few.
bool Steps::try_order(const StepPtr& step, FrameType type, const std::string& body) {
  if (!step->takes_orders()) return step->waiting.add(type, body);
  if (step->link->queued_bytes() > kMostUnsent) return false;
  order(step, type, body);
  return true;
}

void Steps::order(const StepPtr& step, FrameType type, const std::string& body) {
  if (!step->takes_orders()) return step->waiting.put({type, body});
  log::flag(log::DebugFlag::kSteps, "order {} of {} bytes to the daemon of step {}",
            static_cast<uint32_t>(type), body.size(), step_id_text(step->key.id));
  step->link->send(type, kNoTask, body);
  const bool is_answered = type == FrameType::kAgentSignal || type == FrameType::kAgentTerminate;
  if (is_answered) ++step->under_way;
}

// The user's processes can keep it busy, and would run on without an end.
void Steps::watch_silence(const StepPtr& step) {
  if (step->silence) return;
  step->silence = std::make_unique<boost::asio::steady_timer>(node_.io, kLongestSilence);
  step->silence->async_wait([this, step](const boost::system::error_code& error) {
    if (!error) end_daemon(step->key);
  });
}

// Likewise: jobs that take their turns, or go before it, have its CPUs. Also of a daemon that takes
// no orders yet: some of its tasks may have begun, and after a restart of the agent it may be as
// deaf as before.
void Steps::watch_suspension(const StepPtr& step, int signal) {
  step->suspension = std::make_unique<boost::asio::steady_timer>(node_.io, kLongestSuspension);
  step->suspension->async_wait([this, step, signal](const boost::system::error_code& error) {
    const pid_t daemon = error || step->over ? 0 : daemon_of(*step);
    if (daemon == 0) return;
    if (signal == SIGCONT) groups_.freeze_step(step->key.id, false);
    signal_below(daemon, step->key.id, signal);
    if (signal == SIGSTOP) groups_.freeze_step(step->key.id, true);
  });
}

// 0: there is none.
pid_t Steps::daemon_of(const Step& step) const {
  if (step.pid > 0) return step.pid;
  const auto daemon = static_cast<pid_t>(spool_.record_of(step.key).daemon_pid);
  return is_step_daemon(daemon, step.key.id, node_.spool_dir) ? daemon : 0;
}

void Steps::end_daemon(const protocol::StepKey& key) {
  const auto place = steps_.find(key);
  if (place == steps_.end() || place->second->over) return;
  const pid_t daemon = daemon_of(*place->second);
  if (daemon == 0) return;
  place->second->put_down = true;
  groups_.freeze_step(key.id, false);  // what is frozen does not end
  end_deaf(daemon, key.id);
}

// What its job's other steps are told waits until its daemon has done as it was told: on a busy
// node theirs may be faster.
void Steps::let_script_go_first(const StepPtr& script) {
  if (script->key.id.step != kBatchStep || script->under_way == 0) return;
  for (const protocol::StepKey& key : live_of(script->key.id.job)) {
    if (key.restart == script->key.restart) steps_.at(key)->after_script = key != script->key;
  }
  script->turn = std::make_unique<boost::asio::steady_timer>(node_.io, kTurnOfScript);
  script->turn->async_wait([this, script](const boost::system::error_code& error) {
    if (!error) script_was_told(script);
  });
}

void Steps::script_was_told(const StepPtr& script) {
  if (std::exchange(script->turn, nullptr) == nullptr) return;
  for (const protocol::StepKey& key : live_of(script->key.id.job)) {
    const StepPtr& step = steps_.at(key);
    step->after_script = false;
    for (const auto& [type, body] : step->waiting.take()) order(step, type, body);
  }
}

Status Steps::signal(const protocol::SignalStepRequest& request) {
  bool found = false, refused = false;
  const std::string body = wire::encode(request);
  for (const protocol::StepKey& key : signal_targets(request, live_of(request.key.id.job))) {
    const StepPtr& step = steps_.at(key);
    if (request.issued != kNoTime) {
      if (request.issued < step->stopped_or_gone) continue;
      step->stopped_or_gone = request.issued;
      order(step, FrameType::kAgentSignal, body);
      watch_suspension(step, static_cast<int>(request.signal));
    } else if (!try_order(step, FrameType::kAgentSignal, body)) {
      refused = true;
      continue;
    }
    if (!found && request.all_steps && request.issued == kNoTime) let_script_go_first(step);
    found = true;
  }
  return found ? Status() : failure(refused ? ErrorCode::kRetry : ErrorCode::kInvalidStepId);
}

bool Steps::terminate(const protocol::TerminateStepRequest& request) {
  const auto place = steps_.find(request.key);
  if (place == steps_.end()) {
    if (!is_forgotten(request.key)) early_.put(request.key, request);
    return false;
  }
  const StepPtr& step = place->second;
  if (!is_live(*step)) return false;
  const bool told = std::exchange(step->told_to_end[request.at_once ? 1 : 0], true);
  watch_silence(step);
  if (!told) order(step, FrameType::kAgentTerminate, wire::encode(request));
  else if (step->ready) (void)try_order(step, FrameType::kAgentTerminate, wire::encode(request));
  if (!told && !request.at_once) let_script_go_first(step);
  return true;
}

Status Steps::attach(const protocol::AttachRequest& request, uint32_t uid) {
  if (!protocol::is_short(request.io)) {
    return failure(ErrorCode::kBadRequest,
                   "Pathname of a file, directory or other parameter too long");
  }
  for (const auto& [key, step] : steps_) {
    if (key.id != request.key.id || !is_live(*step)) continue;
    if (uid != 0 && uid != step->uid) return failure(ErrorCode::kAccessDenied);
    if (!try_order(step, FrameType::kAgentAttach, wire::encode(request)))
      return failure(ErrorCode::kRetry);
    return {};
  }
  return failure(ErrorCode::kInvalidStepId);
}

std::vector<protocol::StepKey> Steps::live_of(JobId job) const {
  std::vector<protocol::StepKey> keys;
  for (auto at = steps_.lower_bound({{job, 0}, 0}); at != steps_.end() && at->first.id.job == job;
       ++at) {
    if (is_live(*at->second)) keys.push_back(at->first);
  }
  script_first(keys);
  return keys;
}

std::vector<protocol::StepKey> Steps::live(std::optional<uint32_t> only_of) const {
  std::vector<protocol::StepKey> keys;
  for (const auto& [key, step] : steps_) {
    if (is_live(*step) && (!only_of || step->uid == *only_of)) keys.push_back(key);
  }
  return keys;
}

std::vector<protocol::StepKey> Steps::unacknowledged() const {
  std::vector<protocol::StepKey> keys;
  for (const auto& [key, step] : steps_) {
    if (!is_live(*step)) keys.push_back(key);
  }
  return keys;
}

void Steps::list_pids(const protocol::ListPidsRequest& request, std::optional<uint32_t> only_of,
                      StepQueries::OnPids done) {
  std::set<protocol::StepKey> asked;
  for (const auto& [key, step] : steps_) {
    const bool meant = (request.job == kNoJob || key.id.job == request.job) &&
                       (request.step == UINT32_MAX || key.id.step == request.step);
    if (!meant || !is_live(*step) || (only_of && step->uid != *only_of)) continue;
    asked.insert(key);
    ask(step, FrameType::kAgentListPids);
  }
  queries_.wait_for_pids(std::move(asked), std::move(done));
}

void Steps::stat(const StepId& id, StepQueries::OnStats done) {
  const auto place = std::find_if(steps_.begin(), steps_.end(), [&](const auto& entry) {
    return entry.first.id == id && is_live(*entry.second);
  });
  if (place == steps_.end()) return done(failure(ErrorCode::kInvalidStepId));
  queries_.wait_for_stats(place->first, std::move(done));
  ask(place->second, FrameType::kAgentStat);
}

void Steps::make_reports_safe() {
  if (auto ok = spool_.sync(); !ok) log::error("{}", ok.error().text);
}

void Steps::forget(const protocol::StepKey& key) {
  spool_.remove(key);
  forgotten_.put(key, {});
  const auto place = steps_.find(key);
  if (place != steps_.end() && place->second->over) steps_.erase(place);
}

}  // namespace sluice::noded
