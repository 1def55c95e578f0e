#include "ctld/agents/mail_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/component_name.hpp"
#include "common/syntax/told_cpus.hpp"
#include "common/syntax/file_pattern.hpp"
#include "common/names/job_states.hpp"
#include "ctld/agents/site_programs.hpp"
#include "ctld/state/core/exit_status.hpp"
#include "ctld/state/rules/mail_types.hpp"

namespace sluice::ctld {
namespace {

using state::MailKind;

const char* words_of(MailKind kind) {
  switch (kind) {
    case MailKind::kBegin: return "Began";
    case MailKind::kEnd: return "Ended";
    case MailKind::kFail: return "Failed";
    case MailKind::kRequeue: return "Requeued";
    case MailKind::kTimeLimit: return "Reached time limit";
    case MailKind::kTimeLimit50: return "Reached 50% of time limit";
    case MailKind::kTimeLimit80: return "Reached 80% of time limit";
    case MailKind::kTimeLimit90: return "Reached 90% of time limit";
    case MailKind::kInvalidDependency: return "Invalid dependency";
  }
  return "";
}

bool is_task(const Job& job) { return job.array != nullptr && job.array->task != kNoTask; }

bool tells_end(MailKind kind) { return kind == MailKind::kEnd || kind == MailKind::kFail; }

std::string which(const state::SendMail& mail) {
  const Job& job = *mail.job;
  if (mail.whole_array)
    return fmt::format("Array Summary Job_id={}_* ({})", job.array->array_job, job.id);
  if (is_task(job))
    return fmt::format("Array Task Job_id={}_{} ({})", job.array->array_job, job.array->task,
                       job.id);
  if (job.het) return fmt::format("Job_id={}", component_name(*job.het));
  return fmt::format("Job_id={}", job.id);
}

// Of a job that still runs: since it has begun.
std::string run_time(const state::SendMail& mail) {
  const Job& job = *mail.job;
  Time end = job.end;
  for (const auto& [kind, percent] :
       {std::pair(MailKind::kTimeLimit50, 50), std::pair(MailKind::kTimeLimit80, 80),
        std::pair(MailKind::kTimeLimit90, 90)}) {
    if (kind == mail.kind) end = job.start + (job.end - job.start) * percent / 100;
  }
  return format_span(end - job.start);
}

}  // namespace

std::string mail_subject(const state::SendMail& mail) {
  const Job& job = *mail.job;
  std::string subject = fmt::format("Slurm {} Name={} {}", which(mail),
                                    mask_controls(job.spec->name.view()), words_of(mail.kind));
  if (mail.whole_array) {
    if (!mail.outcome.empty()) subject += ", " + mail.outcome;
    return subject;
  }
  if (mail.kind == MailKind::kInvalidDependency) return subject;  // it has not run
  if (mail.kind == MailKind::kBegin)
    return subject + ", Queued time " + format_span(job.start - job.submit);
  subject += ", Run time " + run_time(mail);
  if (!tells_end(mail.kind)) return subject;
  subject += fmt::format(", {}", job_state_text(job.state));
  if (state::signal_of(job.exit_status) == 0)
    subject += fmt::format(", ExitCode {}", state::code_of(job.exit_status));
  return subject;
}

std::string mail_address(const Job& job, const ClusterConfig& config) {
  const std::string_view asked = job.spec->mail_user.view();
  if (!asked.empty() && state::is_mail_list(asked)) return std::string(asked);
  std::string user = job.spec->user_name.str();
  if (!state::is_mail_list(user)) return {};
  if (!config.mail_domain.empty() && user.find('@') == std::string::npos)
    user += "@" + config.mail_domain;
  return user;
}

std::map<std::string, std::string> mail_environment(const state::SendMail& mail,
                                                    const ClusterConfig& config) {
  const Job& job = *mail.job;
  std::map<std::string, std::string> e = program_environment(job, config);
  e["SLURM_JOB_MAIL_TYPE"] = words_of(mail.kind);
  e["SLURM_JOB_STDIN"] = job.spec->std_in.empty() ? "/dev/null" : job.spec->std_in.str();
  for (const char* name : {"SLURM_JOB_STDOUT", "SLURM_JOB_STDERR"}) {
    if (const auto at = e.find(name); at != e.end())
      at->second = absolute_path(at->second, job.spec->work_dir);
  }
  if (job.allocation != nullptr) {
    std::vector<uint32_t> cpus;
    for (const NodeAllocation& part : job.allocation->nodes)
      cpus.push_back(told_cpus(*job.spec, part));
    e["SLURM_JOB_CPUS_PER_NODE"] = fold_counts(cpus);
  }
  if (mail.kind == MailKind::kBegin && !mail.whole_array)
    e["SLURM_JOB_QUEUED_TIME"] = format_span(job.start - job.submit);
  if (mail.kind != MailKind::kBegin && mail.kind != MailKind::kInvalidDependency)
    e["SLURM_JOB_RUN_TIME"] = run_time(mail);
  if (tells_end(mail.kind)) {
    e["SLURM_JOB_EXIT_CODE_MIN"] = std::to_string(mail.least_code);
    e["SLURM_JOB_EXIT_CODE_MAX"] = std::to_string(mail.most_code);
    e["SLURM_JOB_TERM_SIGNAL_MAX"] = std::to_string(mail.most_signal);
    return e;
  }
  for (const char* name : {"SLURM_JOB_EXIT_CODE", "SLURM_JOB_EXIT_CODE2", "SLURM_JOB_DERIVED_EC"})
    e.erase(name);
  return e;
}

}  // namespace sluice::ctld
