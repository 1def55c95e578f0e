#include "ctld/agents/site_programs.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "common/base/errno_text.hpp"
#include "common/base/exec_pointers.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/log/log.hpp"
#include "common/tables/job_states.hpp"
#include "ctld/rpc/job_query.hpp"

namespace sluice::ctld {
namespace {

std::string limit_text(Minutes limit) {
  return limit == kInfiniteMinutes ? "UNLIMITED" : std::to_string(limit);
}

std::string job_name_of_id(const Job& job) {
  if (job.het) return fmt::format("{}+{}", job.het->leader, job.het->offset);
  if (job.array && job.array->task != kNoTask) return fmt::format("{}_{}", job.array->array_job, job.array->task);
  return std::to_string(job.id);
}

std::string exit_text(int status) {
  return WIFSIGNALED(status) ? fmt::format("0:{}", WTERMSIG(status)) : fmt::format("{}:0", WEXITSTATUS(status));
}

// Waits for the program; -1 when it could not be started.
int run_program(const std::vector<std::string>& words, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> pairs;
  pairs.reserve(environment.size());
  for (const auto& [name, value] : environment) pairs.push_back(fmt::format("{}={}", name, value));
  const std::vector<char*> argv = exec_pointers(words);
  const std::vector<char*> envp = exec_pointers(pairs);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (int fd = 0; fd <= 2; ++fd) posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, words[0].c_str(), &files, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    log::error("{}: {}", words[0], errno_text(error));
    return -1;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

std::vector<std::vector<std::string>> one_word_each(const std::vector<std::string>& paths) {
  std::vector<std::vector<std::string>> out;
  out.reserve(paths.size());
  for (const auto& path : paths) out.push_back({path});
  return out;
}

const char* mail_words(state::MailKind kind) {
  switch (kind) {
    case state::MailKind::kBegin: return "Began";
    case state::MailKind::kEnd: return "Ended";
    case state::MailKind::kFail: return "Failed";
    case state::MailKind::kRequeue: return "Requeued";
    case state::MailKind::kTimeLimit: return "Reached time limit";
    case state::MailKind::kInvalidDependency: return "Invalid dependency";
  }
  return "";
}

}  // namespace

SitePrograms::~SitePrograms() { workers_.join(); }

std::map<std::string, std::string> program_environment(const Job& job, const ClusterConfig& config) {
  const JobSpec& spec = *job.spec;
  std::map<std::string, std::string> e{
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
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
      {"SLURM_JOB_EXIT_CODE", std::to_string(job.exit_status)},
      {"SLURM_JOB_EXIT_CODE2", exit_text(job.exit_status)},
      {"SLURM_JOB_DERIVED_EC", std::to_string(job.derived_exit_status)},
      {"SLURM_JOB_STATE", std::string(job_state_text(job.state))},
      {"SLURM_JOB_RESTART_COUNT", std::to_string(job.restart_count)},
      {"SLURM_JOB_START_TIME", std::to_string(to_seconds(job.start))},
      {"SLURM_JOB_END_TIME", std::to_string(to_seconds(job.end))},
  };
  if (job.allocation) {
    e["SLURM_JOB_NODELIST"] = job.allocation->node_list;
    e["SLURM_JOB_NUM_NODES"] = std::to_string(job.allocation->nodes.size());
  }
  if (job.array) {
    e["SLURM_ARRAY_JOB_ID"] = std::to_string(job.array->array_job);
    if (job.array->task != kNoTask) e["SLURM_ARRAY_TASK_ID"] = std::to_string(job.array->task);
  }
  return e;
}

std::string completion_line(const Job& job, const state::ClusterState& state) {
  const JobSpec& spec = *job.spec;
  const uint32_t cpus = job.allocation ? job.allocation->cpus : 0;
  return fmt::format(
      "JobId={} UserId={}({}) GroupId={}({}) Name={} JobState={} Partition={} TimeLimit={} StartTime={} "
      "EndTime={} NodeList={} NodeCnt={} ProcCnt={} WorkDir={} ReservationName={} Tres={} Account={} "
      "QOS={} WcKey={} Cluster={} SubmitTime={} EligibleTime={}{}{} DerivedExitCode={} ExitCode={} \n",
      job.id, spec.user_name.view(), spec.uid, spec.group_name.view(), spec.gid, spec.name.view(),
      job_state_text(job.state), job.partition.view(), limit_text(job.time_limit),
      format_time(job.start), format_time(job.end), job.allocation ? job.allocation->node_list : "(null)",
      job.allocation ? job.allocation->nodes.size() : 0, cpus, spec.work_dir.view(), spec.reservation.view(),
      allocated_tres(job, *state.config), spec.account.view(), spec.qos.view(), spec.wckey.view(),
      state.config->cluster_name, format_time(job.submit), format_time(job.eligible),
      job.array ? fmt::format(" ArrayJobId={}", job.array->array_job) : "",
      job.array && job.array->task != kNoTask ? fmt::format(" ArrayTaskId={}", job.array->task) : "",
      exit_text(job.derived_exit_status), exit_text(job.exit_status));
}

void SitePrograms::record_ended(const Job& job, const state::ClusterSnapshot& state) {
  const ClusterConfig& config = *state->config;
  if (iequals(config.job_comp_type, "jobcomp/filetxt")) {
    const std::string path = config.job_comp_loc.empty() ? "/var/log/slurm_jobcomp.log" : config.job_comp_loc;
    const std::string line = completion_line(job, *state);
    const std::lock_guard lock(file_mutex_);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const bool written = fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    if (!written) log::error("JobCompLoc {}: job {} is not recorded: {}", path, job.id, errno_text(errno));
    if (fd >= 0) close(fd);
  } else if (iequals(config.job_comp_type, "jobcomp/script") && !config.job_comp_loc.empty()) {
    // the script's variables have names of their own
    auto e = program_environment(job, config);
    const std::pair<const char*, std::string> more[] = {
        {"JOBID", std::to_string(job.id)}, {"UID", std::to_string(job.spec->uid)},
        {"GID", std::to_string(job.spec->gid)}, {"JOBNAME", job.spec->name.str()},
        {"JOBSTATE", std::string(job_state_text(job.state))}, {"PARTITION", job.partition.str()},
        {"LIMIT", limit_text(job.time_limit)}, {"SUBMIT", std::to_string(to_seconds(job.submit))},
        {"START", std::to_string(to_seconds(job.start))}, {"END", std::to_string(to_seconds(job.end))},
        {"NODES", job.allocation ? job.allocation->node_list : ""},
        {"PROCS", std::to_string(job.allocation ? job.allocation->cpus : 0)},
        {"NODECNT", std::to_string(job.allocation ? job.allocation->nodes.size() : 0)},
        {"ACCOUNT", job.spec->account.str()}, {"WORK_DIR", job.spec->work_dir.str()},
        {"USERNAME", job.spec->user_name.str()}, {"GROUPNAME", job.spec->group_name.str()},
        {"QOS", job.spec->qos.str()}, {"WCKEY", job.spec->wckey.str()},
        {"RESTARTCNT", std::to_string(job.restart_count)}, {"BATCH", job.spec->batch ? "yes" : "no"}, {"CLUSTER", config.cluster_name},
        {"EXITCODE", exit_text(job.exit_status)}, {"DERIVED_EC", exit_text(job.derived_exit_status)},
        {"STDOUT", job.spec->std_out.str()}, {"STDERR", job.spec->std_err.str()}, {"STDIN", job.spec->std_in.str()}};
    for (const auto& [name, value] : more) e[name] = value;
    run({{config.job_comp_loc}}, std::move(e), {});
  }
}

void SitePrograms::send_mail(const state::SendMail& mail, const state::ClusterSnapshot& state) {
  const ClusterConfig& config = *state->config;
  if (config.mail_prog.empty()) return;
  const Job& job = *mail.job;
  std::string user = job.spec->mail_user.empty() ? job.spec->user_name.str() : job.spec->mail_user.str();
  if (!config.mail_domain.empty() && user.find('@') == std::string::npos) user += "@" + config.mail_domain;
  const std::string which =
      mail.whole_array ? fmt::format("Array Summary Job_id={}_* ({})", job.array->array_job, job.id)
                       : "Job_id=" + job_name_of_id(job);
  std::string subject = fmt::format("Slurm {} Name={} {}", which, job.spec->name.view(), mail_words(mail.kind));
  if (mail.whole_array) {
    if (!mail.outcome.empty()) subject += ", " + mail.outcome;
  } else if (mail.kind == state::MailKind::kInvalidDependency) {
    // has not run
  } else if (mail.kind != state::MailKind::kBegin) {
    subject += fmt::format(", Run time {}, {}, ExitCode {}", format_span(job.end - job.start),
                           job_state_text(job.state), WEXITSTATUS(job.exit_status));
  } else {
    subject += fmt::format(", Queued time {}", format_span(job.start - job.submit));
  }
  run({{config.mail_prog, "-s", subject, user}}, program_environment(job, config), {});
}

void SitePrograms::run_prolog(const Job& job, const state::ClusterSnapshot& state, std::function<void(int)> done) {
  run(one_word_each(state->config->prolog_slurmctld), program_environment(job, *state->config), std::move(done));
}

void SitePrograms::run_epilog(const Job& job, const state::ClusterSnapshot& state) {
  run(one_word_each(state->config->epilog_slurmctld), program_environment(job, *state->config), {});
}

void SitePrograms::run(std::vector<std::vector<std::string>> programs,
                       std::map<std::string, std::string> environment,
                       std::function<void(int)> done) {
  boost::asio::post(workers_, [programs = std::move(programs), environment = std::move(environment),
                               done = std::move(done)] {
    int status = 0;
    for (const auto& words : programs) {
      status = run_program(words, environment);
      if (status != 0) {
        log::error("{} ended with status {}", words[0], status);
        break;
      }
    }
    if (done) done(status);
  });
}

}  // namespace sluice::ctld
