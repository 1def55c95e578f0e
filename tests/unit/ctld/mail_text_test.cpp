// What MailProg and the site's programs of the controller are told.
#include "ctld/agents/mail_text.hpp"

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "common/daemon/run_program.hpp"
#include "ctld/agents/site_programs.hpp"
#include "ctld/state/rules/mail_types.hpp"
#include "unit/anns_job.hpp"

namespace sluice::ctld {
namespace {

using state::MailKind;
using state::SendMail;

// Started after 10 s of waiting, over after 100 s with exit code 3.
Job ended_job() {
  Job job;
  job.id = 7;
  job.spec = std::make_shared<const JobSpec>(testing::anns_spec());
  job.state = JobState::kFailed;
  job.submit = from_seconds(1000);
  job.start = from_seconds(1010);
  job.end = from_seconds(1110);
  job.exit_status = 3 << 8;
  job.derived_exit_status = 5 << 8;
  job.restart_count = 2;
  return job;
}

SendMail mail_of(Job job, MailKind kind) {
  return {std::make_shared<const Job>(std::move(job)), kind, false, {}};
}

TEST(MailText, SubjectsOfEachKind) {
  const std::pair<MailKind, const char*> kinds[] = {
      {MailKind::kBegin, "Began, Queued time 00:00:10"},
      {MailKind::kEnd, "Ended, Run time 00:01:40, FAILED, ExitCode 3"},
      {MailKind::kFail, "Failed, Run time 00:01:40, FAILED, ExitCode 3"},
      {MailKind::kRequeue, "Requeued, Run time 00:01:40"},
      {MailKind::kTimeLimit, "Reached time limit, Run time 00:01:40"},
      {MailKind::kTimeLimit50, "Reached 50% of time limit, Run time 00:00:50"},
      {MailKind::kTimeLimit80, "Reached 80% of time limit, Run time 00:01:20"},
      {MailKind::kTimeLimit90, "Reached 90% of time limit, Run time 00:01:30"},
      {MailKind::kInvalidDependency, "Invalid dependency"},
  };
  for (const auto& [kind, words] : kinds) {
    EXPECT_EQ(mail_subject(mail_of(ended_job(), kind)),
              std::string("Slurm Job_id=7 Name=post ") + words);
  }
}

TEST(MailText, Addresses) {
  ClusterConfig config;
  Job job = ended_job();
  EXPECT_EQ(mail_address(job, config), "ann");
  config.mail_domain = "example.org";
  EXPECT_EQ(mail_address(job, config), "ann@example.org");
  JobSpec spec = *job.spec;
  spec.mail_user = "bob";
  job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_EQ(mail_address(job, config), "bob") << "as given";
  spec.mail_user = "-Ssendmail=/tmp/own";
  job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_EQ(mail_address(job, config), "ann@example.org") << "MailProg would take it for an option";
  spec.mail_user = "|touch /tmp/own";
  job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_EQ(mail_address(job, config), "ann@example.org") << "mailx would run it";
  spec.mail_user = "";
  spec.user_name = "/etc/passwd";
  job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_EQ(mail_address(job, config), "") << "no mail then";
}

TEST(MailText, WhatAnAddressIs) {
  for (const char* good : {"ann", "ann,bob@example.org", "a.b+c@x-y.org", "SITE\\ann", "_x",
                           "j\xc3\xb6rg@x.org", "o'hara@x.org"}) {
    EXPECT_TRUE(state::is_mail_list(good)) << good;
  }
  for (const char* bad : {"", ",", "a,,b", "a,", "-s", "a,-s", "|sh", "/etc/passwd", "a b", "a\nb",
                          "+inbox", "@x", "a;b", "$(id)", "a\x1b[1m",
                          "\xc2\x9b"
                          "1m"}) {
    EXPECT_FALSE(state::is_mail_list(bad)) << bad;
  }
}

TEST(MailText, ASubjectIsOneLineWithoutControlCharacters) {
  Job job = ended_job();
  JobSpec spec = *job.spec;
  spec.name = "x\nBcc: all@example.org\x1b[2J";
  job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_EQ(mail_subject(mail_of(job, MailKind::kInvalidDependency)),
            "Slurm Job_id=7 Name=x?Bcc: all@example.org?[2J Invalid dependency");
}

// A mailer that hangs is not waited for; nor are others while it does.
TEST(Programs, ThatTakeTooLongAreKilled) {
  const auto begun = std::chrono::steady_clock::now();
  const int status = daemon::run_program({"/bin/sh", "-c", "sleep 600 & sleep 600"}, {}, {},
                                         std::chrono::milliseconds(100));
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
  EXPECT_EQ(daemon::run_program({"/bin/sh", "-c", "exit 3"}, {}, {}, std::chrono::minutes(1)),
            3 << 8);
}

TEST(MailText, Variables) {
  ClusterConfig config;
  config.cluster_name = "test";
  SendMail mail = mail_of(ended_job(), MailKind::kEnd);
  mail.least_code = 3;
  mail.most_code = 5;
  mail.most_signal = 9;
  auto found = mail_environment(mail, config);
  const std::pair<const char*, const char*> wanted[] = {
      {"SLURM_CLUSTER_NAME", "test"},     {"SLURM_JOB_ID", "7"},
      {"SLURM_JOB_NAME", "post"},         {"SLURM_JOB_USER", "ann"},
      {"SLURM_JOB_MAIL_TYPE", "Ended"},   {"SLURM_JOB_STATE", "FAILED"},
      {"SLURM_JOB_RUN_TIME", "00:01:40"}, {"SLURM_JOB_EXIT_CODE_MIN", "3"},
      {"SLURM_JOB_EXIT_CODE_MAX", "5"},   {"SLURM_JOB_TERM_SIGNAL_MAX", "9"},
      {"SLURM_JOB_STDIN", "/dev/null"},   {"SLURM_JOB_STDOUT", "/srv/out.txt"},
      {"SLURM_JOB_WORK_DIR", "/srv"}};
  for (const auto& [name, value] : wanted) EXPECT_EQ(found[name], value) << name;
  EXPECT_FALSE(found.contains("SLURM_JOB_STDERR")) << "what was not asked for is not there";
  found = mail_environment(mail_of(ended_job(), MailKind::kBegin), config);
  EXPECT_EQ(found["SLURM_JOB_QUEUED_TIME"], "00:00:10");
  EXPECT_FALSE(found.contains("SLURM_JOB_EXIT_CODE_MAX"));
}

TEST(CompletionLine, IsOneLineWhateverUsersChose) {
  Job job = ended_job();
  JobSpec spec = *job.spec;
  spec.name = "a\nJobId=8 UserId=root(0)\r\x1b[2K\x7f";
  spec.work_dir = "/srv/\n/gr\u00fcn";
  job.spec = std::make_shared<const JobSpec>(spec);
  const std::string line = completion_line(job, {});
  EXPECT_EQ(std::count_if(line.begin(), line.end(),
                          [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
            1)
      << line;
  EXPECT_TRUE(line.ends_with(" \n"));
  EXPECT_NE(line.find(" Name=a\\012JobId=8 UserId=root(0)\\015\\033[2K\\177 JobState="),
            std::string::npos)
      << line;
  EXPECT_NE(line.find(" WorkDir=/srv/\\012/gr\u00fcn "), std::string::npos) << line;
}

TEST(ProgramEnvironment, TellsOfTheJob) {
  ClusterConfig config;
  config.cluster_name = "test";
  config.config_path = "/etc/slurm.conf";
  Job job = ended_job();
  ArrayInfo array;
  array.array_job = 5;
  array.task = 4;
  array.task_count = 3;
  array.task_min = 2;
  array.task_max = 6;
  array.task_step = 2;
  job.array = std::make_shared<const ArrayInfo>(array);
  auto found = program_environment(job, config);
  const std::pair<const char*, const char*> wanted[] = {
      {"SLURM_CLUSTER_NAME", "test"},   {"SLURM_CONF", "/etc/slurm.conf"},
      {"SLURM_JOB_NTASKS", "4"},        {"SLURM_JOB_OVERSUBSCRIBE", "NO"},
      {"SLURM_JOB_EXIT_CODE", "768"},   {"SLURM_JOB_EXIT_CODE2", "3:0"},
      {"SLURM_JOB_DERIVED_EC", "1280"}, {"SLURM_ARRAY_JOB_ID", "5"},
      {"SLURM_ARRAY_TASK_ID", "4"},     {"SLURM_ARRAY_TASK_COUNT", "3"},
      {"SLURM_ARRAY_TASK_MIN", "2"},    {"SLURM_ARRAY_TASK_MAX", "6"},
      {"SLURM_ARRAY_TASK_STEP", "2"}};
  for (const auto& [name, value] : wanted) EXPECT_EQ(found[name], value) << name;
  for (const auto& [name, value] : testing::kAnnsVariables) EXPECT_EQ(found[name], value) << name;
  EXPECT_FALSE(found.contains("SLURM_JOB_STDERR")) << "what was not asked for is not there";
  job.end = kNever;
  EXPECT_FALSE(program_environment(job, config).contains("SLURM_JOB_END_TIME"))
      << "the bug: year 73,000,000";
}

}  // namespace
}  // namespace sluice::ctld
