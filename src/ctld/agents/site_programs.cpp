#include "ctld/agents/site_programs.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "common/os/append_file.hpp"
#include "common/os/ending_text.hpp"
#include "common/base/errno_text.hpp"
#include "common/os/replace_file.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/log/log.hpp"
#include "common/names/job_states.hpp"
#include "common/format/json_parts.hpp"
#include "ctld/agents/mail_text.hpp"
#include "common/daemon/run_program.hpp"
#include "ctld/query/job_query.hpp"

namespace sluice::ctld {
namespace {

constexpr size_t kMostMails = 10000;  // that wait in a lane
constexpr size_t kLastMails = 10;     // of a lane that are still sent when the controller ends
constexpr auto kMailTime = std::chrono::minutes(2);
constexpr auto kTriggerTime = std::chrono::minutes(10);
constexpr auto kLastMailTime = std::chrono::seconds(1);
// of prologs and epilogs, when the controller ends
constexpr auto kLastProgramTime = std::chrono::seconds(1);
constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string limit_text(Minutes limit) {
  return limit == kInfiniteMinutes ? "UNLIMITED" : std::to_string(limit);
}

std::string exit_text(int status) {
  return WIFSIGNALED(status) ? fmt::format("0:{}", WTERMSIG(status))
                             : fmt::format("{}:0", WEXITSTATUS(status));
}

std::vector<std::vector<std::string>> one_word_each(const std::vector<std::string>& paths) {
  std::vector<std::vector<std::string>> out;
  out.reserve(paths.size());
  for (const auto& path : paths) out.push_back({path});
  return out;
}

// The key and its value.
std::pair<const char*, std::string> power_program(const ClusterConfig& config,
                                                  state::PowerProgram program) {
  switch (program) {
    case state::PowerProgram::kSuspend: return {"SuspendProgram", config.suspend_program};
    case state::PowerProgram::kResume: return {"ResumeProgram", config.resume_program};
    default: return {"ResumeFailProgram", config.resume_fail_program};
  }
}

// Which of the nodes each job waits for, as JSON.
std::string resume_text(const state::ClusterState& state, const Bitmap& nodes) {
  std::set<JobId> jobs;
  nodes.for_each([&](size_t id) {
    const Node* node = state.nodes.find(static_cast<NodeId>(id));
    if (node != nullptr) jobs.insert(node->jobs.begin(), node->jobs.end());
  });
  Json list = Json::array();
  for (const JobId id : jobs) {
    const Job& job = state.jobs.at(id);
    if (is_completing(job)) continue;
    list.push_back(
        {{"job_id", id}, {"nodes", state::node_list(state, state::held_nodes(job) & nodes)}});
  }
  return Json{{"jobs", std::move(list)}, {"all_nodes", state::node_list(state, nodes)}}.dump();
}

// A file of this process's user, which is SlurmUser as the program is; empty: there is none.
std::string resume_file(const std::string& state_folder, const std::string& text) {
  const std::string folder = state_folder + "/resume";
  std::error_code ignored;
  std::filesystem::create_directory(folder, ignored);
  std::string path = folder + "/XXXXXX";
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  const bool written = fd >= 0 && write_all(fd, text);
  if (!written) log::error("SLURM_RESUME_FILE: {}: {}", path, errno_text(errno));
  if (fd >= 0) ::close(fd);
  if (fd >= 0 && !written) ::unlink(path.c_str());
  return written ? path : "";
}

// Files of programs that a controller before this one did not wait for.
void remove_old_resume_files(const std::string& state_folder) {
  constexpr auto kOld = std::chrono::hours(24);
  std::error_code ignored;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (std::filesystem::directory_iterator at(state_folder + "/resume", ignored), end;
       !ignored && at != end; at.increment(ignored)) {
    const auto written = at->last_write_time(ignored);
    if (!ignored && now - written > kOld) std::filesystem::remove(at->path(), ignored);
  }
}

// 0: none, as run_program() takes it.
std::chrono::milliseconds time_limit(const std::optional<Duration>& own,
                                     const ClusterConfig& config) {
  const Duration limit = own.value_or(config.prolog_epilog_timeout);
  return limit >= kNoLimit ? std::chrono::milliseconds(0)
                           : std::chrono::duration_cast<std::chrono::milliseconds>(limit);
}

}  // namespace

SitePrograms::~SitePrograms() {
  stop();
  triggers_.join();
  user_triggers_.join();
  for (Lane& lane : mail_lanes_) lane.worker.join();
}

void SitePrograms::stop() {
  *ending_ = true;
  running_.end(kLastProgramTime);
  workers_.join();
}

std::map<std::string, std::string> program_environment(const Job& job,
                                                       const ClusterConfig& config) {
  const JobSpec& spec = *job.spec;
  std::map<std::string, std::string> e{
      {"PATH", kPath},
      {"SLURM_CLUSTER_NAME", config.cluster_name},
      {"SLURM_CONF", config.config_path},
      {"SLURM_JOB_ID", std::to_string(job.id)},
      {"SLURM_JOBID", std::to_string(job.id)},
      {"SLURM_JOB_NAME", spec.name.str()},
      {"SLURM_JOB_UID", std::to_string(spec.uid)},
      {"SLURM_JOB_GID", std::to_string(spec.gid)},
      {"SLURM_JOB_USER", spec.user_name.str()},
      {"SLURM_JOB_GROUP", spec.group_name.str()},
      {"SLURM_JOB_PARTITION", job.partition.str()},
      {"SLURM_JOB_ACCOUNT", spec.account.str()},
      {"SLURM_JOB_CONSTRAINTS", spec.constraint.str()},
      {"SLURM_JOB_COMMENT", spec.comment.str()},
      {"SLURM_JOB_WORK_DIR", spec.work_dir.str()},
      {"SLURM_JOB_NTASKS", std::to_string(std::max(spec.num_tasks, 1U))},
      {"SLURM_JOB_EXIT_CODE", std::to_string(job.exit_status)},
      {"SLURM_JOB_EXIT_CODE2", exit_text(job.exit_status)},
      {"SLURM_JOB_DERIVED_EC", std::to_string(job.derived_exit_status)},
      {"SLURM_JOB_STATE", std::string(job_state_text(job.state))},
      {"SLURM_JOB_OVERSUBSCRIBE", spec.sharing == Sharing::kOversubscribe ? "YES" : "NO"},
      {"SLURM_JOB_EXCLUSIVE", spec.sharing == Sharing::kExclusive ? "YES" : "NO"},
      {"SLURM_JOB_RESTART_COUNT", std::to_string(job.restart_count)},
      {"SLURM_JOB_START_TIME", std::to_string(to_seconds(job.start))},
  };
  if (job.end != kNoTime && job.end < kNever)
    e["SLURM_JOB_END_TIME"] = std::to_string(to_seconds(job.end));
  for (const auto& [name, value] :
       {std::pair("SLURM_WCKEY", &spec.wckey), std::pair("SLURM_JOB_EXTRA", &spec.extra),
        std::pair("SLURM_JOB_LICENSES", &spec.licenses), std::pair("SLURM_JOB_QOS", &spec.qos),
        std::pair("SLURM_JOB_RESERVATION", &job.reservation),
        std::pair("SLURM_JOB_STDERR", &spec.std_err), std::pair("SLURM_JOB_STDIN", &spec.std_in),
        std::pair("SLURM_JOB_STDOUT", &spec.std_out)}) {
    if (!value->empty()) e[name] = value->str();
  }
  if (job.allocation) {
    e["SLURM_JOB_NODELIST"] = job.allocation->node_list;
    e["SLURM_JOB_NUM_NODES"] = std::to_string(job.allocation->nodes.size());
  }
  if (job.array) {
    e["SLURM_ARRAY_JOB_ID"] = std::to_string(job.array->array_job);
    if (job.array->task != kNoTask) {
      e["SLURM_ARRAY_TASK_ID"] = std::to_string(job.array->task);
      e["SLURM_ARRAY_TASK_COUNT"] = std::to_string(job.array->task_count);
      e["SLURM_ARRAY_TASK_MIN"] = std::to_string(job.array->task_min);
      e["SLURM_ARRAY_TASK_MAX"] = std::to_string(job.array->task_max);
      e["SLURM_ARRAY_TASK_STEP"] = std::to_string(job.array->task_step);
    }
  }
  return e;
}

// A line stands for one job: what users chose cannot begin another one, nor hide in it.
std::string in_one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) out += fmt::format("\\{:03o}", byte);
    else out += c;
  }
  return out;
}

std::string completion_line(const Job& job, const state::ClusterState& state) {
  const JobSpec& spec = *job.spec;
  const uint32_t cpus = job.allocation ? job.allocation->cpus : 0;
  return fmt::format(
      "JobId={} UserId={}({}) GroupId={}({}) Name={} JobState={} Partition={} TimeLimit={} StartTime={} "
      "EndTime={} NodeList={} NodeCnt={} ProcCnt={} WorkDir={} ReservationName={} Tres={} Account={} "
      "QOS={} WcKey={} Cluster={} SubmitTime={} EligibleTime={}{}{} DerivedExitCode={} ExitCode={} \n",
      job.id, in_one_line(spec.user_name.view()), spec.uid, in_one_line(spec.group_name.view()),
      spec.gid, in_one_line(spec.name.view()), job_state_text(job.state), job.partition.view(),
      limit_text(job.time_limit), format_time(job.start), format_time(job.end),
      job.allocation ? job.allocation->node_list : "(null)",
      job.allocation ? job.allocation->nodes.size() : 0, cpus, in_one_line(spec.work_dir.view()),
      in_one_line(reservation_of(job).view()), allocated_tres(state, job),
      in_one_line(spec.account.view()), in_one_line(spec.qos.view()),
      in_one_line(spec.wckey.view()), state.config->cluster_name, format_time(job.submit),
      format_time(job.eligible),
      job.array ? fmt::format(" ArrayJobId={}", job.array->array_job) : "",
      job.array && job.array->task != kNoTask ? fmt::format(" ArrayTaskId={}", job.array->task)
                                              : "",
      exit_text(job.derived_exit_status), exit_text(job.exit_status));
}

void SitePrograms::record_ended(const Job& job, const state::ClusterSnapshot& state) {
  const ClusterConfig& config = *state->config;
  if (iequals(config.job_comp_type, "jobcomp/filetxt")) {
    const std::string path =
        config.job_comp_loc.empty() ? "/var/log/slurm_jobcomp.log" : config.job_comp_loc;
    const std::string line = completion_line(job, *state);
    const std::lock_guard lock(file_mutex_);
    const auto fd = open_daemon_file(path, O_WRONLY | O_APPEND);
    if (!fd) return log::error("JobCompLoc: JobId={} is not recorded: {}", job.id, fd.error().text);
    if (!write_all(*fd, line))
      log::error("JobCompLoc {}: JobId={} is not recorded: {}", path, job.id, errno_text(errno));
    close(*fd);
  } else if (iequals(config.job_comp_type, "jobcomp/script") && !config.job_comp_loc.empty()) {
    // the script's variables have names of their own
    auto e = program_environment(job, config);
    const std::pair<const char*, std::string> more[] = {
        {"JOBID", std::to_string(job.id)},
        {"UID", std::to_string(job.spec->uid)},
        {"GID", std::to_string(job.spec->gid)},
        {"JOBNAME", job.spec->name.str()},
        {"JOBSTATE", std::string(job_state_text(job.state))},
        {"PARTITION", job.partition.str()},
        {"LIMIT", limit_text(job.time_limit)},
        {"SUBMIT", std::to_string(to_seconds(job.submit))},
        {"START", std::to_string(to_seconds(job.start))},
        {"END", std::to_string(to_seconds(job.end))},
        {"NODES", job.allocation ? job.allocation->node_list : ""},
        {"PROCS", std::to_string(job.allocation ? job.allocation->cpus : 0)},
        {"NODECNT", std::to_string(job.allocation ? job.allocation->nodes.size() : 0)},
        {"ACCOUNT", job.spec->account.str()},
        {"WORK_DIR", job.spec->work_dir.str()},
        {"USERNAME", job.spec->user_name.str()},
        {"GROUPNAME", job.spec->group_name.str()},
        {"QOS", job.spec->qos.str()},
        {"WCKEY", job.spec->wckey.str()},
        {"RESTARTCNT", std::to_string(job.restart_count)},
        {"BATCH", job.spec->batch ? "yes" : "no"},
        {"CLUSTER", config.cluster_name},
        {"EXITCODE", exit_text(job.exit_status)},
        {"DERIVED_EC", exit_text(job.derived_exit_status)},
        {"STDOUT", job.spec->std_out.str()},
        {"STDERR", job.spec->std_err.str()},
        {"STDIN", job.spec->std_in.str()}};
    for (const auto& [name, value] : more) e[name] = value;
    run({{config.job_comp_loc}}, std::move(e), {}, {});
  }
}

void SitePrograms::send_mail(const state::SendMail& mail, const state::ClusterSnapshot& state) {
  const ClusterConfig& config = *state->config;
  if (config.mail_prog.empty()) return;
  const Job& job = *mail.job;
  const std::string address = mail_address(job, config);
  if (address.empty())
    return log::error("JobId={}: no mail is sent, its user's name is no address", job.id);
  // those of one job go one after another, and neither a slow mailer nor many mails hold anything
  // else up
  const JobId group = job.array != nullptr ? job.array->array_job : job.id;
  Lane& lane = mail_lanes_[group % mail_lanes_.size()];
  if (lane.waiting->load() >= kMostMails)
    return log::error("JobId={}: no mail is sent, {} wait for MailProg", job.id, kMostMails);
  ++*lane.waiting;
  boost::asio::post(
      lane.worker,
      [words = std::vector<std::string>{config.mail_prog, "-s", mail_subject(mail), address},
       of = fmt::format("JobId={}: ", job.id), environment = mail_environment(mail, config),
       waiting = lane.waiting, ending = ending_] {
        if (*ending && waiting->load() > kLastMails) {
          --*waiting;
          return;
        }
        const int status =
            daemon::run_program(words, environment, {}, *ending ? kLastMailTime : kMailTime, of);
        if (status != 0) log::error("{}{} {}", of, words[0], ending_text(status));
        --*waiting;
      });
}

// "PROGRAM ARGUMENTS… RESOURCE"
void SitePrograms::run_trigger(const state::RunTrigger& firing,
                               const state::ClusterSnapshot& state) {
  const Trigger& trigger = firing.trigger;
  std::vector<std::string> words = split_list(trigger.program, ' ');
  if (words.empty()) return;
  const bool as_user = ::geteuid() == 0 && !trigger.user_name.empty();
  const bool of_admin = state::is_admin(*state, trigger.uid);
  if (!as_user && !of_admin) {  // never as somebody who may do more
    return log::error("trigger {}: {} cannot be run as user {}", trigger.id, words[0], trigger.uid);
  }
  words.push_back(firing.resource);
  std::map<std::string, std::string> environment{
      {"PATH", kPath},
      {"USER", trigger.user_name},
      {"SLURM_CONF", state->config->config_path},
      {"SLURM_CLUSTER_NAME", state->config->cluster_name}};
  const daemon::ProgramUser user{trigger.user_name, trigger.uid, trigger.gid};
  auto run = [words = std::move(words), environment = std::move(environment), user] {
    const int status = daemon::run_program(words, environment, user, kTriggerTime);
    if (status != 0) log::error("{} {}", words[0], ending_text(status));
  };
  // a program takes as long as its user likes: prologs do not wait for it, nor do administrators'
  // triggers for those of others
  if (of_admin) return boost::asio::post(triggers_, std::move(run));
  auto unless_ending = [run = std::move(run), ending = ending_, id = trigger.id] {
    if (!*ending) return run();
    log::error("trigger {}: its program is not run, the controller ends", id);
  };
  if (user_triggers_.add(trigger.uid, std::move(unless_ending))) return;
  log::error("trigger {}: its program is not run, {} of user {} wait", trigger.id,
             UserQueues::kMostWaiting, trigger.uid);
}

void SitePrograms::run_reboot(const Bitmap& nodes, const std::string& features,
                              const state::ClusterSnapshot& state, std::function<void(int)> done) {
  const ClusterConfig& config = *state->config;
  std::vector<std::string> words = split_list(config.reboot_program, ' ');
  if (words.empty()) {
    log::error("nodes are to reboot, but RebootProgram is not set");
    return done(-1);
  }
  std::vector<std::string> names;
  nodes.for_each([&](size_t id) {
    if (const Node* node = state->nodes.find(static_cast<NodeId>(id))) names.push_back(node->name);
  });
  words.push_back(join(names, ","));
  if (!features.empty()) words.push_back(features);
  std::map<std::string, std::string> environment{{"PATH", kPath},
                                                 {"SLURM_CONF", config.config_path},
                                                 {"SLURM_CLUSTER_NAME", config.cluster_name}};
  run({std::move(words)}, std::move(environment), std::move(done), {});
}

void SitePrograms::run_power(const state::PowerNodes& order, const state::ClusterSnapshot& state) {
  const ClusterConfig& config = *state->config;
  const auto [key, program] = power_program(config, order.program);
  std::vector<std::string> words = split_list(program, ' ');
  const std::string nodes = state::node_list(*state, order.nodes);
  if (words.empty()) {
    if (order.program != state::PowerProgram::kResumeFail)
      log::error("{} is not set, but wanted for {}", key, nodes);
    return;
  }
  log::info("{} is run for nodes {}", key, nodes);
  words.push_back(nodes);
  std::map<std::string, std::string> environment{{"PATH", kPath},
                                                 {"SLURM_CONF", config.config_path}};
  std::string file;
  if (order.program == state::PowerProgram::kResume) {
    remove_old_resume_files(config.state_save_location);
    file = resume_file(config.state_save_location, resume_text(*state, order.nodes));
  }
  if (!file.empty()) environment["SLURM_RESUME_FILE"] = file;
  std::thread([words = std::move(words), environment = std::move(environment), file,
               ending = ending_] {
    const int status = daemon::run_program(words, environment, {});
    if (!file.empty()) ::unlink(file.c_str());
    if (*ending) return;  // there may be no log any more
    if (status != 0) log::error("{} {}", words[0], ending_text(status));
  }).detach();
}

void SitePrograms::run_prolog(const Job& job, const state::ClusterSnapshot& state,
                              std::function<void(int)> done) {
  const ClusterConfig& config = *state->config;
  auto environment = program_environment(job, config);
  environment["SLURM_SCRIPT_CONTEXT"] = "prolog_slurmctld";
  auto never_late = [done = std::move(done), ending = ending_, id = job.id](int status) {
    if (status == 0 || !*ending) return done(status);
    log::info("JobId={}: its PrologSlurmctld is run again by the next controller", id);
  };
  run(one_word_each(config.prolog_slurmctld), std::move(environment), std::move(never_late),
      {.name = "PrologSlurmctld",
       .most = time_limit(config.prolog_timeout, config),
       .again_later = true});
}

void SitePrograms::run_epilog(const Job& job, const state::ClusterSnapshot& state) {
  const ClusterConfig& config = *state->config;
  auto environment = program_environment(job, config);
  environment["SLURM_SCRIPT_CONTEXT"] = "epilog_slurmctld";
  run(one_word_each(config.epilog_slurmctld), std::move(environment), {},
      {.name = "EpilogSlurmctld", .most = time_limit(config.epilog_timeout, config)});
}

void SitePrograms::run_reservation(const state::RunReservationProgram& order,
                                   const state::ClusterSnapshot& state) {
  const ClusterConfig& config = *state->config;
  const char* key = order.begins ? "ResvProlog" : "ResvEpilog";
  const auto program = config.values.find(key);
  if (program == config.values.end() || program->second.empty()) return;
  const std::vector<std::string> words{program->second, order.reservation};
  const std::map<std::string, std::string> environment{{"PATH", kPath},
                                                       {"SLURM_CONF", config.config_path},
                                                       {"SLURM_CLUSTER_NAME", config.cluster_name}};
  log::info("reservation {}: {} {} is run", order.reservation, key, words[0]);
  boost::asio::post(triggers_, [words, environment] {
    const int status = daemon::run_program(words, environment, {}, kTriggerTime);
    if (status != 0) log::error("{} {}", words[0], ending_text(status));
  });
}

void SitePrograms::run(std::vector<std::vector<std::string>> programs,
                       std::map<std::string, std::string> environment,
                       std::function<void(int)> done, const Terms& terms) {
  boost::asio::post(workers_, [this, programs = std::move(programs),
                               environment = std::move(environment), done = std::move(done),
                               terms] {
    const auto id = environment.find("SLURM_JOB_ID");
    const std::string job = id == environment.end() ? "" : fmt::format("JobId={}: ", id->second);
    int status = 0;
    for (const auto& words : programs) {
      if (*ending_ && terms.again_later) {
        status = -1;
        break;
      }
      std::optional<daemon::RunningPrograms::Here> here;
      if (!terms.name.empty())
        here.emplace(running_, fmt::format("{}{} {}", job, terms.name, words[0]));
      status =
          daemon::run_program(words, environment, {},
                              *ending_ && !terms.name.empty() ? kLastProgramTime : terms.most, job);
      if (status != 0) {
        log::error("{}{} {}", job, words[0], ending_text(status));
        break;
      }
    }
    if (done) done(status);
  });
}

}  // namespace sluice::ctld
