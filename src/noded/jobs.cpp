#include "noded/jobs.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/time_text.hpp"
#include "common/log/log.hpp"
#include "common/tables/gres_env.hpp"
#include "common/tables/output_env.hpp"
#include "common/tables/step_names.hpp"
#include "common/wire/codec.hpp"

namespace sluice::noded {
namespace {

constexpr size_t kRememberedJobs = 10000;
// A step daemon gives up by itself; what it takes longer than that, it hangs itself.
constexpr Duration kStepdGrace = std::chrono::seconds(10);

// "CANCELLED" and "CANCELLED DUE TO …" with the time in its place; a job that ended by itself has
// cancelled what it left running.
std::string with_time(std::string_view message) {
  constexpr std::string_view kVerb = "CANCELLED";
  if (!message.empty() && !message.starts_with(kVerb)) return std::string(message);
  const std::string_view rest = message.empty() ? message : message.substr(kVerb.size());
  if (rest.starts_with(" AT ")) return std::string(message);
  return fmt::format("{} AT {}{}", kVerb, format_time(now()), rest);
}

}  // namespace

struct Jobs::Job {
  explicit Job(boost::asio::io_context& io) : timer(io) {}
  JobFacts facts;
  Prolog prolog = Prolog::kNotRun;
  bool reports_prolog = false;  // its success, too
  bool ending = false;
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
    : node_(node), scripts_(scripts), groups_(groups) {}

void Jobs::connect(Steps& steps, Reporter& reporter) {
  steps_ = &steps;
  reporter_ = &reporter;
}

std::string Jobs::file_of(const Job& job) const {
  return fmt::format("{}/jobs/{}.{}", node_.spool_dir, job.facts.job, job.facts.restart);
}

// Only a job with a prolog or an epilog must be known to the next agent.
void Jobs::store(const Job& job) const {
  if (node_.config->epilog.empty() && node_.config->prolog.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(node_.spool_dir + "/jobs", ignored);
  protocol::RunPrologRequest record;
  record.job = job.facts.job;
  record.restart = job.facts.restart;
  record.job_spec = job.facts.spec;
  record.partition = job.facts.partition;
  record.node_list = job.facts.node_list;
  std::ofstream(file_of(job), std::ios::binary) << wire::encode(record);
}

void Jobs::load() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(node_.spool_dir + "/jobs", error)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    const auto record = wire::decode<protocol::RunPrologRequest>(bytes.str());
    if (!record || record->job_spec == nullptr) continue;
    const JobPtr job = job_of(record->job, record->restart);
    job->facts.spec = record->job_spec;
    job->facts.partition = record->partition;
    job->facts.node_list = record->node_list;
    job->prolog = Prolog::kDone;
  }
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

std::vector<Jobs::JobPtr> Jobs::runs_of(JobId id) const {
  std::vector<JobPtr> runs;
  for (auto at = jobs_.lower_bound({id, 0}); at != jobs_.end() && at->first.first == id; ++at)
    runs.push_back(at->second);
  return runs;
}

Jobs::JobPtr Jobs::job_of(JobId id, uint32_t restart) {
  JobPtr& job = jobs_[{id, restart}];
  if (job == nullptr) {
    job = std::make_shared<Job>(node_.io);
    job->facts.job = id;
    job->facts.restart = restart;
    job->facts.cluster = node_.config->cluster_name;
    job->facts.spec = std::make_shared<const JobSpec>();
  }
  return job;
}

Status Jobs::launch(protocol::StepLaunch launch, std::string encoded, uint32_t node_index) {
  const Id id{launch.key.id.job, launch.key.restart};
  if (steps_->knows(launch.key)) return {};
  if (over_.contains(id)) return failure(ErrorCode::kAlreadyDone);
  const JobPtr job = job_of(id.first, id.second);
  if (job->ending) return failure(ErrorCode::kAlreadyDone);
  if (job->prolog == Prolog::kFailed) return failure("the prolog failed on this node");
  job->facts = facts_of(launch);
  for (const Job::Waiting& other : job->waiting) {
    if (other.launch.key == launch.key) return {};
  }
  for (const protocol::StepKey& key : steps_->live_of(id.first)) {
    if (key.restart < id.second) steps_->terminate({key, true, {}});  // its order to end was lost with the connection
  }
  job->waiting.push_back({std::move(launch), std::move(encoded), node_index});
  go_on(job);
  return {};
}

bool Jobs::earlier_run_left(const Job& job) const {
  for (const protocol::StepKey& key : steps_->live_of(job.facts.job)) {
    if (key.restart < job.facts.restart) return true;
  }
  for (const JobPtr& run : runs_of(job.facts.job)) {
    if (run->facts.restart < job.facts.restart && run->ending) return true;
  }
  return false;
}

void Jobs::go_on(const JobPtr& job) {
  if (job->ending || earlier_run_left(*job)) return;
  const bool wanted = job->reports_prolog || !job->waiting.empty();
  if (job->prolog == Prolog::kNotRun && wanted) return start_prolog(job);
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
  job->reports_prolog = true;
  if (job->prolog == Prolog::kNotRun) return go_on(job);
  if (job->prolog == Prolog::kRunning) return;  // its end will be reported
  reporter_->add(protocol::PrologDoneRequest{request.job, request.restart, node_.name,
                                             job->prolog == Prolog::kDone ? 0 : 1});
}

Environment Jobs::script_environment(const Job& job, std::string_view context) const {
  Environment env;
  env.set("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
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

void Jobs::run_scripts(const Job& job, const std::vector<std::string>& programs, std::string_view context,
                       const std::optional<Duration>& limit, std::function<void(int)> done) {
  const ClusterConfig& config = *node_.config;
  const auto run = has_option(config.prolog_flags, "Serial") ? &SiteScripts::run_in_turn : &SiteScripts::run;
  (scripts_.*run)(programs, script_environment(job, context), limit.value_or(config.prolog_epilog_timeout), std::move(done));
}

void Jobs::start_prolog(const JobPtr& job) {
  job->prolog = Prolog::kRunning;
  store(*job);
  const ClusterConfig& config = *node_.config;
  run_scripts(*job, config.prolog, "prolog_slurmd", config.prolog_timeout,
              [this, job](int status) { prolog_over(job, status); });
}

void Jobs::prolog_over(const JobPtr& job, int status) {
  job->prolog = status == 0 ? Prolog::kDone : Prolog::kFailed;
  if (status != 0) log::error("prolog of job {} failed with status {:#x}", job->facts.job, status);
  // a failure drains this node and takes the job away: the controller orders both
  if (job->reports_prolog || status != 0) {
    reporter_->add(
        protocol::PrologDoneRequest{job->facts.job, job->facts.restart, node_.name, status});
  }
  if (job->ending) return continue_end(job);
  go_on(job);
}

void Jobs::terminate(const protocol::TerminateJobRequest& request) {
  const Id id{request.job, request.restart};
  if (over_.contains(id) && steps_->live_of(request.job).empty()) {
    reporter_->add(protocol::JobCleaned{request.job, request.restart, node_.name, 0, false});
    return;
  }
  const JobPtr job = job_of(request.job, request.restart);
  if (request.job_spec != nullptr) job->facts.spec = request.job_spec;
  if (job->facts.node_list.empty()) job->facts.node_list = request.node_list;
  if (job->facts.partition.empty()) job->facts.partition = request.partition;
  if (job->facts.allocation == nullptr) job->facts.allocation = request.allocation;
  end_steps(job, request);
}

void Jobs::clean(JobId id) {
  protocol::TerminateJobRequest request;
  request.job = id;
  for (const JobPtr& run : runs_of(id)) {
    // launched after the controller was asked: it sees to what is left of earlier ones
    if (!offered_.contains({id, run->facts.restart})) return;
    request.restart = run->facts.restart;
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
  if (!job->ending || job->epilog_running || job->prolog == Prolog::kRunning) return;
  for (const protocol::StepKey& key : steps_->live_of(job->facts.job)) {
    if (key.restart <= job->facts.restart) return;
  }
  job->timer.cancel();
  job->epilog_running = true;
  const ClusterConfig& config = *node_.config;
  run_scripts(*job, config.epilog, "epilog_slurmd", config.epilog_timeout,
              [this, job](int status) { cleaned(job, status, false); });
}

void Jobs::unkillable(const JobPtr& job) {
  const auto left = steps_->live_of(job->facts.job);
  if (left.empty()) return;
  run_unkillable_program(left.front());
  cleaned(job, 0, true);
}

void Jobs::run_unkillable_program(const protocol::StepKey& key) {
  log::error("step {} has processes that cannot be killed", step_id_text(key.id));
  const auto job = jobs_.find({key.id.job, key.restart});
  if (job == jobs_.end() || node_.config->unkillable_step_program.empty()) return;
  Environment env = script_environment(*job->second, "unkillable");
  env.set("SLURM_STEP_ID", std::to_string(static_cast<int32_t>(key.id.step)));
  scripts_.run({node_.config->unkillable_step_program}, env, std::nullopt, [](int) {});
}

void Jobs::cleaned(const JobPtr& job, int epilog_status, bool kill_failed) {
  const Id id{job->facts.job, job->facts.restart};
  if (epilog_status != 0) {
    log::error("epilog of job {} failed with status {:#x}", id.first, epilog_status);
  }
  remember_over(id);
  groups_.remove_job(id.first);
  std::remove(file_of(*job).c_str());
  jobs_.erase(id);
  reporter_->add(protocol::JobCleaned{id.first, id.second, node_.name, epilog_status, kill_failed});
  for (const JobPtr& run : runs_of(id.first)) go_on(run);
}

void Jobs::remember_over(const Id& id) {
  if (when_over_) when_over_(id.first);
  if (!over_.insert(id).second) return;
  over_order_.push_back(id);
  if (over_order_.size() < 2 * kRememberedJobs) return;
  for (size_t i = 0; i < kRememberedJobs; ++i)
    over_.erase(over_order_[i]);
  over_order_.erase(over_order_.begin(),
                    over_order_.begin() + static_cast<std::ptrdiff_t>(kRememberedJobs));
}

bool Jobs::clean_after(const protocol::StepEnded& report) {
  const protocol::StepKey& key = report.key;
  if (key.id.step != kBatchStep || !node_.config->epilog.empty()) return false;
  const auto place = jobs_.find({key.id.job, key.restart});
  if (place != jobs_.end() && (place->second->ending || !place->second->waiting.empty() ||
                               place->second->prolog == Prolog::kRunning)) {
    return false;
  }
  if (!steps_->live_of(key.id.job).empty()) return false;
  // from here on nothing of this run starts on this node
  remember_over({key.id.job, key.restart});
  groups_.remove_job(key.id.job);
  if (place == jobs_.end()) return true;
  if (!node_.config->prolog.empty()) std::remove(file_of(*place->second).c_str());
  jobs_.erase(place);
  return true;
}

void Jobs::step_over(const protocol::StepKey& key) {
  if (is_outside_jobs(key.id.job) && steps_->live_of(key.id.job).empty()) {  // nobody else will end it
    protocol::TerminateJobRequest end;
    end.job = key.id.job;
    end.at_once = true;
    return terminate(end);
  }
  for (const JobPtr& job : runs_of(key.id.job)) {
    continue_end(job);
    go_on(job);
  }
}

}  // namespace sluice::noded
