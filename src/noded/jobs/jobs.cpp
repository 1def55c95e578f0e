#include "noded/jobs/jobs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/time_text.hpp"
#include "common/log/log.hpp"
#include "common/environment/gres_env.hpp"
#include "common/environment/output_env.hpp"
#include "common/names/step_names.hpp"

namespace sluice::noded {
namespace {

constexpr size_t kRememberedJobs = 10000;
// A step daemon gives up by itself; what it takes longer than that, it hangs itself.
constexpr Duration kStepdGrace = std::chrono::seconds(10);

}  // namespace

std::string with_time(std::string_view message) {
  constexpr std::string_view kVerb = "CANCELLED";
  if (!message.empty() && !message.starts_with(kVerb)) return std::string(message);
  const std::string_view rest = message.empty() ? message : message.substr(kVerb.size());
  if (rest.starts_with(" AT ")) return std::string(message);
  return fmt::format("{} AT {}{}", kVerb, format_time(now()), rest);
}

struct Jobs::Job {
  Job(boost::asio::io_context& io, const Id& run) : id(run), timer(io) {}
  const Id id;  // facts.restart is what the job's processes are told
  JobFacts facts;
  Prolog prolog = Prolog::kNotRun;
  int prolog_status = 0;
  Time prolog_ended = kNoTime;
  bool reports_prolog = false;  // its success, too
  ProcessMark script;           // of its prolog or epilog, the one that runs
  bool left = false;            // an agent before this one started `script`
  bool in_group = false;        // its scripts run in its control group, which its extern step makes
  bool extern_over = false;
  bool ending = false;
  bool forced = false;  // its step daemons, which did not end it in time, were ended
  bool epilog_running = false;
  boost::asio::steady_timer timer;  // UnkillableStepTimeout
  struct Waiting {
    protocol::StepLaunch launch;
    std::string encoded;
    uint32_t node_index = 0;
  };
  std::vector<Waiting> waiting;  // for the prolog, or for the end of an earlier run
};

Jobs::Jobs(NodeState& node, SiteScripts& scripts, JobGroups& groups)
    : node_(node), scripts_(scripts), groups_(groups), kept_(node.spool_dir + "/jobs") {}

void Jobs::connect(Steps& steps, Reporter& reporter) {
  steps_ = &steps;
  reporter_ = &reporter;
}

// Only a job with a prolog or an epilog must be known to the next agent.
void Jobs::store(const Job& job) const {
  if (node_.config->epilog.empty() && node_.config->prolog.empty()) return;
  KeptJob record;
  record.job = job.id.first;
  record.restart = job.id.second;
  record.job_spec = job.facts.spec;
  record.partition = job.facts.partition;
  record.node_list = job.facts.node_list;
  record.allocation = job.facts.allocation;
  record.in_group = job.in_group;
  if (job.prolog == Prolog::kRunning || job.prolog == Prolog::kUnknown)
    record.prolog = PrologOutcome::kUnknown;
  if (job.prolog == Prolog::kFailed) record.prolog = PrologOutcome::kFailed;
  record.prolog_status = job.prolog_status;
  record.prolog_ended = job.prolog_ended;
  record.script = job.script;
  if (auto ok = kept_.store(record); !ok) log::error("{}", ok.error().text);
}

void Jobs::load() {
  for (const KeptJob& record : kept_.load()) {
    const JobPtr job = job_of(record.job, record.restart);
    job->facts.spec = record.job_spec;
    job->facts.partition = record.partition;
    job->facts.node_list = record.node_list;
    job->facts.allocation = record.allocation;
    job->in_group = record.in_group;
    job->prolog_status = record.prolog_status;
    job->prolog_ended = record.prolog_ended;
    switch (record.prolog) {
      case PrologOutcome::kPassed: job->prolog = Prolog::kDone; break;
      case PrologOutcome::kUnknown: job->prolog = Prolog::kUnknown; break;
      case PrologOutcome::kFailed: job->prolog = Prolog::kFailed; break;
    }
    if (job->prolog == Prolog::kFailed) report_prolog(*job);
    if (runs(record.script)) await_left(job, record.script);
  }
}

// Nobody will know how a prolog ended that an earlier agent started. It is run again, not beside
// itself.
void Jobs::await_left(const JobPtr& job, const ProcessMark& script) {
  log::info("a prolog or epilog of JobId={} runs still", job->id.first);
  job->script = script;
  job->left = true;
  const ClusterConfig& config = *node_.config;
  const bool prolog = job->prolog == Prolog::kUnknown;
  const auto await =
      has_option(config.prolog_flags, "Serial") ? &SiteScripts::await_in_turn : &SiteScripts::await;
  const auto& limit = prolog ? config.prolog_timeout : config.epilog_timeout;
  (scripts_.*await)(script, limit.value_or(config.prolog_epilog_timeout), [this, job] {
    job->script = {};
    job->left = false;
    continue_end(job);
    go_on(job);
  });
}

std::vector<JobId> Jobs::prepared() {
  std::vector<JobId> ids;
  offered_.clear();
  for (const auto& [id, job] : jobs_) {
    if (job->prolog == Prolog::kNotRun) continue;
    ids.push_back(id.first);
    offered_.insert(id);
  }
  return ids;
}

bool Jobs::keeps_group(JobId id) const {
  return std::ranges::any_of(runs_of(id), [](const JobPtr& job) {
    return job->script.pid != 0 || (job->in_group && job->prolog != Prolog::kNotRun);
  });
}

std::vector<Jobs::JobPtr> Jobs::runs_of(JobId id) const {
  std::vector<JobPtr> runs;
  for (auto at = jobs_.lower_bound({id, 0}); at != jobs_.end() && at->first.first == id; ++at)
    runs.push_back(at->second);
  return runs;
}

Jobs::JobPtr Jobs::job_of(JobId id, uint32_t restart) {
  JobPtr& job = jobs_[{id, restart}];
  if (job == nullptr) {
    job = std::make_shared<Job>(node_.io, Id{id, restart});
    job->facts.job = id;
    job->facts.restart = restart;
    job->facts.cluster = node_.config->cluster_name;
    job->facts.spec = std::make_shared<const JobSpec>();
  }
  return job;
}

Status Jobs::launch(protocol::StepLaunch launch, std::string encoded, uint32_t node_index) {
  const Id id{launch.key.id.job, launch.key.restart};
  steps_->adopt(launch.key);
  if (steps_->knows(launch.key)) return {};
  if (over_.contains(id)) return failure(ErrorCode::kAlreadyDone, protocol::kUsedJobId);
  const JobPtr job = job_of(id.first, id.second);
  if (job->ending) return failure(ErrorCode::kAlreadyDone, protocol::kUsedJobId);
  if (job->prolog == Prolog::kFailed) return failure("the prolog failed on this node");
  job->facts = facts_of(launch);
  if (launch.key.id.step == kExternStep && has_option(node_.config->prolog_flags, "RunInJob"))
    job->in_group = true;
  for (const Job::Waiting& other : job->waiting) {
    if (other.launch.key == launch.key) return {};
  }
  for (const protocol::StepKey& key : steps_->live_of(id.first)) {
    // its order to end was lost with the connection
    if (key.restart < id.second) steps_->terminate({key, true, {}});
  }
  job->waiting.push_back({std::move(launch), std::move(encoded), node_index});
  go_on(job);
  return {};
}

bool Jobs::earlier_run_left(const Job& job) const {
  for (const protocol::StepKey& key : steps_->live_of(job.id.first)) {
    if (key.restart < job.id.second) return true;
  }
  for (const JobPtr& run : runs_of(job.id.first)) {
    if (run->id < job.id && run->ending) return true;
  }
  return false;
}

// PrologFlags=RunInJob: the extern step does not wait for the prolog, but the prolog for its
// control groups. Without them, where it cannot begin, the prolog runs all the same.
bool Jobs::has_group_for_prolog(const JobPtr& job) {
  if (!job->in_group || job->extern_over) return true;
  const protocol::StepKey key{{job->id.first, kExternStep}, job->id.second};
  const auto place = std::ranges::find_if(
      job->waiting, [&](const Job::Waiting& step) { return step.launch.key == key; });
  if (place != job->waiting.end()) {
    Job::Waiting step = std::move(*place);
    job->waiting.erase(place);
    steps_->launch(step.launch, std::move(step.encoded), step.node_index);
  }
  return job->extern_over || steps_->has_begun(key);
}

void Jobs::go_on(const JobPtr& job) {
  if (job->ending || job->left || earlier_run_left(*job)) return;
  const bool wanted = job->reports_prolog || !job->waiting.empty();
  const auto due = [&] {
    return job->prolog == Prolog::kNotRun || job->prolog == Prolog::kUnknown;
  };
  // a launch that fails comes by here
  if (wanted && due() && has_group_for_prolog(job) && due()) return start_prolog(job);
  if (job->prolog != Prolog::kDone) return;
  for (Job::Waiting& waiting : std::exchange(job->waiting, {})) {
    steps_->launch(waiting.launch, std::move(waiting.encoded), waiting.node_index);
  }
}

void Jobs::run_prolog(const protocol::RunPrologRequest& request) {
  if (over_.contains({request.job, request.restart})) return;
  const JobPtr job = job_of(request.job, request.restart);
  if (request.job_spec != nullptr) job->facts.spec = request.job_spec;
  job->facts.partition = request.partition;
  job->facts.node_list = request.node_list;
  job->facts.allocation = request.allocation;
  job->in_group = request.in_group;
  job->reports_prolog = true;
  if (job->prolog == Prolog::kDone || job->prolog == Prolog::kFailed) return report_prolog(*job);
  if (job->prolog != Prolog::kRunning) go_on(job);  // its end will be reported
}

void Jobs::report_prolog(const Job& job) {
  reporter_->add(protocol::PrologEnded{job.id.first, job.id.second, node_.name, job.prolog_status,
                                       job.prolog_ended});
}

Environment Jobs::script_environment(const Job& job, std::string_view context) const {
  Environment env = helper_environment(node_);
  set_script_variables(job.facts, {node_.name, 0, node_.config_path}, context, env);
  const auto names = expand_hosts(job.facts.node_list);
  for (size_t at = 0; names && job.facts.allocation != nullptr && at < names->size(); ++at) {
    if ((*names)[at] != node_.name || at >= job.facts.allocation->nodes.size()) continue;
    const GresShares& gres = job.facts.allocation->nodes[at].gres;
    const Bitmap gpus = gpu_units(gres);
    if (gpus.none()) break;
    env.set("SLURM_JOB_GPUS", number_list(gpus));
    const auto devices = list_devices(node_.self.gres, node_.hardware.devices, gres, {});
    set_visible_gpus(gpus, devices, env);
    set_mps_percentage(gres, devices, env);
  }
  return env;
}

void Jobs::run_scripts(const JobPtr& job, const std::vector<std::string>& programs,
                       std::string_view context, const std::optional<Duration>& limit,
                       std::function<void(int)> done) {
  const ClusterConfig& config = *node_.config;
  ScriptRow row{.of = fmt::format("JobId={}: ", job->id.first),
                .patterns = programs,
                .environment = script_environment(*job, context),
                .limit = limit.value_or(config.prolog_epilog_timeout)};
  row.done = [job, done = std::move(done)](int status) {
    job->script = {};
    done(status);
  };
  row.before = [this, job](pid_t pid) {
    job->script = mark_of(pid);
    store(*job);
  };
  std::vector<std::string> files;
  if (job->in_group) files = groups_.for_scripts(job->id.first);
  row.through = {step_daemon(node_), protocol::kRunWhenToldMode};
  row.through.insert(row.through.end(), files.begin(), files.end());
  row.through.emplace_back("--");
  const auto run =
      has_option(config.prolog_flags, "Serial") ? &SiteScripts::run_in_turn : &SiteScripts::run;
  (scripts_.*run)(std::move(row));
}

void Jobs::start_prolog(const JobPtr& job) {
  job->prolog = Prolog::kRunning;
  reporter_->set_route(job->id, job->facts.node_list);
  const ClusterConfig& config = *node_.config;
  run_scripts(job, config.prolog, "prolog_slurmd", config.prolog_timeout,
              [this, job](int status) { prolog_over(job, status); });
}

void Jobs::prolog_over(const JobPtr& job, int status) {
  job->prolog = status == 0 ? Prolog::kDone : Prolog::kFailed;
  job->prolog_status = status;
  job->prolog_ended = now();
  store(*job);
  if (status != 0) log::error("prolog of JobId={} failed with status {:#x}", job->id.first, status);
  // a failure drains this node and takes the job away: the controller orders both
  if (job->reports_prolog || status != 0) report_prolog(*job);
  if (job->ending) return continue_end(job);
  go_on(job);
}

void Jobs::terminate(const protocol::TerminateJobRequest& request) {
  const Id id{request.job, request.restart};
  reporter_->set_route(id, request.node_list);
  if (over_.contains(id) && steps_->live_of(request.job).empty()) {
    reporter_->add(protocol::JobCleaned{request.job, request.restart, node_.name, 0, false});
    return;
  }
  const JobPtr job = job_of(request.job, request.restart);
  if (request.job_spec != nullptr) job->facts.spec = request.job_spec;
  if (job->facts.node_list.empty()) job->facts.node_list = request.node_list;
  if (job->facts.partition.empty()) job->facts.partition = request.partition;
  if (job->facts.allocation == nullptr) job->facts.allocation = request.allocation;
  job->facts.exit_status = request.exit_status;
  job->facts.derived_exit_status = request.derived_exit_status;
  end_steps(job, request);
}

void Jobs::clean(JobId id) {
  protocol::TerminateJobRequest request;
  request.job = id;
  for (const JobPtr& run : runs_of(id)) {
    // launched after the controller was asked: it sees to what is left of earlier ones
    if (!offered_.contains(run->id)) return;
    request.restart = run->id.second;
  }
  request.at_once = true;
  terminate(request);
}

void Jobs::end_steps(const JobPtr& job, const protocol::TerminateJobRequest& request) {
  std::string message = request.message;
  if (message.empty() && request.timed_out) message = "CANCELLED DUE TO TIME LIMIT";
  for (const protocol::StepKey& key : steps_->live_of(request.job)) {
    if (key.restart > request.restart) continue;  // a later run of the job
    steps_->terminate({key, request.at_once, with_time(message)});
  }
  const bool again = std::exchange(job->ending, true);
  job->waiting.clear();
  if (!again) {
    const ClusterConfig& config = *node_.config;
    job->timer.expires_after(config.unkillable_step_timeout + kStepdGrace +
                             (request.at_once ? Duration(0) : config.kill_wait));
    job->timer.async_wait([this, job](const boost::system::error_code& error) {
      if (!error) unkillable(job);
    });
  }
  continue_end(job);
}

// The epilog runs once nothing of the job is left.
void Jobs::continue_end(const JobPtr& job) {
  if (!job->ending || job->epilog_running || job->left || job->prolog == Prolog::kRunning) return;
  for (const protocol::StepKey& key : steps_->live_of(job->id.first)) {
    if (key.restart <= job->id.second) return;
  }
  job->timer.cancel();
  job->epilog_running = true;
  const ClusterConfig& config = *node_.config;
  run_scripts(job, config.epilog, "epilog_slurmd", config.epilog_timeout,
              [this, job](int status) { cleaned(job, status, false); });
}

void Jobs::unkillable(const JobPtr& job) {
  const auto left = steps_->live_of(job->id.first);
  if (left.empty()) return;
  if (!std::exchange(job->forced, true)) {
    run_unkillable_program(left.front());
    // what can be killed without them is reported by their ends
    for (const protocol::StepKey& key : left) steps_->end_daemon(key);
    job->timer.expires_after(kStepdGrace);
    return job->timer.async_wait([this, job](const boost::system::error_code& error) {
      if (!error) unkillable(job);
    });
  }
  cleaned(job, 0, true);
}

void Jobs::run_unkillable_program(const protocol::StepKey& key) {
  log::error("{} has processes that cannot be killed", step_log_name(key.id));
  const auto job = jobs_.find({key.id.job, key.restart});
  if (job == jobs_.end() || node_.config->unkillable_step_program.empty()) return;
  Environment env = script_environment(*job->second, "unkillable");
  env.set("SLURM_STEP_ID", std::to_string(static_cast<int32_t>(number_of_step(key.id.step))));
  scripts_.run({.of = fmt::format("JobId={}: ", key.id.job),
                .patterns = {node_.config->unkillable_step_program},
                .environment = std::move(env),
                .done = [](int) {}});
}

void Jobs::cleaned(const JobPtr& job, int epilog_status, bool kill_failed) {
  const Id id = job->id;
  if (epilog_status != 0) {
    log::error("epilog of JobId={} failed with status {:#x}", id.first, epilog_status);
  }
  remember_over(id);
  kept_.remove(id.first, id.second);
  jobs_.erase(id);
  groups_.remove_job(id.first);
  reporter_->add(
      protocol::JobCleaned{id.first, id.second, node_.name, epilog_status, kill_failed, now()});
  for (const JobPtr& run : runs_of(id.first)) go_on(run);
}

void Jobs::remember_over(const Id& id) {
  if (when_over_) when_over_(id.first);
  if (!over_.insert(id).second) return;
  over_order_.push_back(id);
  if (over_order_.size() < 2 * kRememberedJobs) return;
  for (size_t i = 0; i < kRememberedJobs; ++i) over_.erase(over_order_[i]);
  over_order_.erase(over_order_.begin(),
                    over_order_.begin() + static_cast<std::ptrdiff_t>(kRememberedJobs));
}

bool Jobs::clean_after(const protocol::StepEnded& report) {
  const protocol::StepKey& key = report.key;
  if (key.id.step != kBatchStep || !node_.config->epilog.empty()) return false;
  const auto place = jobs_.find({key.id.job, key.restart});
  if (place != jobs_.end() && (place->second->ending || !place->second->waiting.empty() ||
                               place->second->left || place->second->prolog == Prolog::kRunning)) {
    return false;
  }
  if (!steps_->live_of(key.id.job).empty()) return false;
  // from here on nothing of this run starts on this node
  remember_over({key.id.job, key.restart});
  if (place != jobs_.end()) {
    if (!node_.config->prolog.empty()) kept_.remove(key.id.job, key.restart);
    jobs_.erase(place);
  }
  groups_.remove_job(key.id.job);
  return true;
}

void Jobs::step_over(const protocol::StepKey& key) {
  if (is_outside_jobs(key.id.job) && steps_->live_of(key.id.job).empty()) {
    // nobody else will end it
    protocol::TerminateJobRequest end;
    end.job = key.id.job;
    end.at_once = true;
    return terminate(end);
  }
  for (const JobPtr& job : runs_of(key.id.job)) {
    if (key.id.step == kExternStep && key.restart == job->id.second) job->extern_over = true;
    continue_end(job);
    go_on(job);
  }
}

void Jobs::step_began(const protocol::StepKey& key) {
  if (key.id.step != kExternStep) return;
  for (const JobPtr& job : runs_of(key.id.job)) go_on(job);
}

}  // namespace sluice::noded
