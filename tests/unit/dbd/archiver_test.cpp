// What an administrator asks for in place of slurmdbd.conf, and what a script is told.
#include "dbd/archive/archiver.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/os/read_file.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/history/ingest.hpp"
#include "dbd/store/entity_store.hpp"
#include "dbd/store/usage_store.hpp"
#include "unit/dbd/storages.hpp"

namespace sluice::dbd {
namespace {

using protocol::DumpArchiveRequest;

const Time kNow = from_seconds(1'760'000'000);

PurgeRules rules_of_conf() {
  PurgeRules rules;
  rules.folder = "/conf";
  rules.rules[static_cast<size_t>(Purged::kJobs)] = {parse_purge_age("12months"), false};
  return rules;
}

TEST(AskedRules, TakeThePlaceOfTheFiles) {
  DumpArchiveRequest request;
  EXPECT_EQ(asked_rules(rules_of_conf(), request)->folder, "/conf");
  request.folder = "/asked";
  request.rules = {{Purged::kJobs, true, ""}, {Purged::kEvents, false, "48hours"}};
  const auto rules = asked_rules(rules_of_conf(), request);
  ASSERT_TRUE(rules) << rules.error().text;
  EXPECT_EQ(rules->folder, "/asked");
  EXPECT_TRUE(rules->of(Purged::kJobs).archive);
  EXPECT_EQ(rules->of(Purged::kJobs).age->count, 12);
  EXPECT_EQ(rules->of(Purged::kEvents).age->count, 48);
  EXPECT_FALSE(rules->of(Purged::kEvents).archive);
  EXPECT_FALSE(rules->of(Purged::kSteps).age);
}

TEST(AskedRules, NothingIsArchivedThatIsNotPurged) {
  DumpArchiveRequest request;
  request.rules = {{Purged::kSteps, true, ""}};
  const auto rules = asked_rules(rules_of_conf(), request);
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.error().text.find("PurgeStepAfter is wanted"), std::string::npos);
}

TEST(AskedRules, AreChecked) {
  DumpArchiveRequest request;
  request.rules = {{Purged::kJobs, false, "soon"}};
  EXPECT_FALSE(asked_rules(rules_of_conf(), request));
  request.rules = {{static_cast<Purged>(kPurgedKinds), true, "1days"}};
  EXPECT_FALSE(asked_rules(rules_of_conf(), request));
  request.rules.clear();
  request.folder = "relative";
  EXPECT_FALSE(asked_rules(rules_of_conf(), request));
}

TEST(ScriptVariables, TellWhatAndUntilWhen) {
  PurgeRules rules = rules_of_conf();
  rules.rules[static_cast<size_t>(Purged::kEvents)] = {parse_purge_age("48hours"), true};
  rules.rules[static_cast<size_t>(Purged::kSuspensions)] = {parse_purge_age("2days"), true};
  ScriptVariables variables = script_variables(rules, "c", kNow);
  const int64_t hour = 1'760'000'000 / 3600 * 3600;
  EXPECT_EQ(variables["SLURM_ARCHIVE_LAST_EVENT"], std::to_string(hour - 48 * 3600 - 1));
  EXPECT_EQ(variables["SLURM_ARCHIVE_EVENTS"], "1");
  EXPECT_EQ(variables["SLURM_ARCHIVE_JOBS"], "0");
  EXPECT_EQ(variables["SLURM_ARCHIVE_LAST_JOB"],
            std::to_string(to_seconds(month_of(kNow, -12)) - 1));
  EXPECT_EQ(variables["SLURM_ARCHIVE_SUSPEND"], "1");
  EXPECT_EQ(variables["SLURM_ARCHIVE_CLUSTER"], "c");
  EXPECT_EQ(variables["PATH"], "/bin:/usr/bin");
  EXPECT_EQ(variables.count("SLURM_ARCHIVE_STEPS"), 0U);
  EXPECT_EQ(variables.size(), 8U);
}

class Script : public test::WithStorage {
 protected:
  Script() {
    auto opened = Database::open(storage);
    EXPECT_TRUE(opened) << opened.error().text;
    database = std::move(*opened);
    EXPECT_TRUE(EntityStore(*database, SiteRules{}).open());
    JobHistory job;
    job.id = 1;
    job.account = "physics";
    job.cpus = 2;
    job.state = JobState::kCompleted;
    job.submit = job.eligible = job.start = kNow - std::chrono::hours(24 * 900);
    job.end = job.start + std::chrono::hours(1);
    HistoryRecord record;
    record.job = std::make_shared<const JobHistory>(job);
    protocol::StoreHistoryRequest request;
    request.cluster = "c";
    request.stream = "s";
    request.records = {wire::encode(record)};
    EXPECT_TRUE(store_history(*database, request, kNow));
    rules = rules_of_conf();
    rules.script = folder / "script";
  }
  void script(const std::string& text) {
    { std::ofstream(rules.script, std::ios::trunc) << "#!/bin/sh\n" << text; }
    ASSERT_EQ(::chmod(rules.script.c_str(), 0700), 0);
  }
  long long number(const std::string& query) {
    long long out = 0;
    EXPECT_TRUE(database->read([&](Session& sql) -> Status {
      sql << query, soci::into(out);
      return {};
    }));
    return out;
  }
  std::string said() { return read_file(folder / "out").value_or(""); }

  std::unique_ptr<Database> database;
  PurgeRules rules;
};
SLUICE_STORAGES(Script);

TEST_P(Script, TakesThePlaceOfPurging) {
  script("echo $# $SLURM_ARCHIVE_CLUSTER $SLURM_ARCHIVE_JOBS >> " + (folder / "out").string() +
         "\n");
  Archiver archiver(*database, rules);
  const auto done = archiver.by_clock(kNow);
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(said(), "0 c 0\n");
  EXPECT_EQ(number("SELECT count(*) FROM job"), 1);
  EXPECT_EQ(number("SELECT floor FROM purge_state"),
            month_of(kNow, -12).time_since_epoch().count());
  // there is nothing more for it in this month; who asks has it run at once
  ASSERT_TRUE(archiver.by_clock(kNow + std::chrono::hours(1)));
  EXPECT_EQ(said(), "0 c 0\n");
  ASSERT_TRUE(archiver.as_asked({}, kNow));
  EXPECT_EQ(said(), "0 c 0\n0 c 0\n");
}

TEST_P(Script, ThatFailsIsToldOfAndRunsAgain) {
  script("exit 3\n");
  Archiver archiver(*database, rules);
  const auto failed = archiver.by_clock(kNow);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text, rules.script + " ended with status 3");
  EXPECT_EQ(number("SELECT count(*) FROM purge_state"), 0);
  script("kill -9 $$\n");
  EXPECT_EQ(archiver.by_clock(kNow).error().text, rules.script + " was ended by signal 9");
  script("exit 0\n");
  EXPECT_TRUE(archiver.by_clock(kNow));
}

TEST_P(Script, BeginsNoMoreWhenTheDaemonEnds) {
  script("echo x > " + (folder / "out").string() + "\n");
  Archiver archiver(*database, rules);
  archiver.end();
  EXPECT_FALSE(archiver.by_clock(kNow));
  EXPECT_EQ(said(), "");
}

}  // namespace
}  // namespace sluice::dbd
