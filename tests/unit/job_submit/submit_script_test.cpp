// JobSubmitPlugins=lua: what a script reads, sets, refuses and says, and what stops it.
#include "ctld/job_submit/submit_script.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "common/names/errors.hpp"
#include "ctld/state/core/fold.hpp"
#include "support/core_fixture.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::ctld {
namespace {

using state::kAnn;
using state::kRoot;

constexpr const char* kModifies =
    "\nfunction slurm_job_modify(j, r, p, u) return slurm.SUCCESS end\n";

class Script : public state::CoreTest {
 protected:
  void SetUp() override { use({"lua"}); }

  void use(std::vector<std::string> plugins) {
    auto changed = std::make_shared<ClusterConfig>(*config_);
    changed->config_path = (folder_ / "slurm.conf").string();
    changed->job_submit_plugins = std::move(plugins);
    config_ = changed;
    ASSERT_TRUE(run(state::ReplaceConfig{config_}));
  }
  void write(const std::string& text) {
    // a name of its own, so that it is another file within one tick of the clock
    const std::filesystem::path fresh = folder_ / ("script" + std::to_string(++written_));
    std::ofstream(fresh) << text;
    std::filesystem::rename(fresh, folder_ / "job_submit.lua");
  }
  // The body of slurm_job_submit(j, p, u).
  void write_body(const std::string& body) {
    write("function slurm_job_submit(j, p, u)\ndo " + body + " end\nreturn slurm.SUCCESS end" +
          kModifies);
  }
  Result<std::vector<std::string>> submit_with(const std::string& body) {
    write_body(body);
    return submit_now();
  }
  Result<std::vector<std::string>> submit_now() {
    return script_.submit(state_, command_, text_, environment_);
  }
  // What the script says of a value.
  std::string said(const std::string& expression) {
    const auto lines = submit_with("slurm.user_msg(tostring(" + expression + "))");
    if (!lines) return "error: " + lines.error().text;
    return lines->empty() ? "" : lines->front();
  }
  std::string refusal_of(const std::string& body) {
    const auto lines = submit_with(body);
    return lines ? "none" : lines.error().text;
  }
  JobSpec& spec() { return command_.job; }

  test::TempFolder folder_;
  SubmitScript script_;
  state::SubmitJob command_{kAnn, batch_spec(), {"users"}, {}};
  std::string text_ = "#!/bin/sh\ntrue\n", environment_;
  int written_ = 0;
};

TEST_F(Script, WhatIsNotGivenIsNoVal) {
  spec() = JobSpec();
  for (const char* name : {"min_nodes", "max_nodes", "num_tasks", "time_limit", "time_min",
                           "priority", "nice", "req_switch", "pn_min_tmp_disk", "delay_boot"})
    EXPECT_EQ(said(std::string("j.") + name + " == slurm.NO_VAL"), "true") << name;
  for (const char* name : {"cpus_per_task", "ntasks_per_node", "shared", "requeue", "reboot",
                           "threads_per_core", "sockets_per_node", "pn_min_cpus"})
    EXPECT_EQ(said(std::string("j.") + name + " == slurm.NO_VAL16"), "true") << name;
  for (const char* name : {"account", "partition", "qos", "features", "gres", "min_mem_per_cpu",
                           "min_mem_per_node", "no_such_field"})
    EXPECT_EQ(said(std::string("j.") + name), "nil") << name;
  EXPECT_EQ(said("j.pn_min_memory == slurm.NO_VAL64"), "true");
  EXPECT_EQ(said("j.contiguous"), "0");
}

TEST_F(Script, WhatIsGivenIsRead) {
  spec() = JobSpec();
  spec().uid = kAnn.uid;
  spec().min_nodes = 2;
  spec().num_tasks = 6;
  spec().cpus_per_task = 3;
  spec().time_limit = kInfiniteMinutes;
  spec().memory_kind = MemoryKind::kPerCpu;
  spec().memory_mib = 70;
  spec().gres = "gres/gpu:2";
  spec().switches = "1@5";
  spec().mail_type = "BEGIN,TIME_LIMIT_80";
  spec().nice = 5;
  spec().hold = true;
  spec().command = "/home/ann/job.sh";
  spec().arguments = {SharedText("a b")};
  EXPECT_EQ(said("j.min_nodes"), "2");
  EXPECT_EQ(said("j.min_cpus"), "18");
  EXPECT_EQ(said("j.time_limit == slurm.INFINITE"), "true");
  EXPECT_EQ(said("j.min_mem_per_cpu"), "70");
  EXPECT_EQ(said("j.min_mem_per_node"), "nil");
  EXPECT_EQ(said("j.tres_per_node .. ' ' .. j.gres"), "gres/gpu:2 gres/gpu:2");
  EXPECT_EQ(said("j.req_switch .. ' ' .. j.wait4switch"), "1 300");
  EXPECT_EQ(said("j.mail_type"), "65");
  EXPECT_EQ(said("j.nice - slurm.NICE_OFFSET"), "5");
  EXPECT_EQ(said("j.priority"), "0");
  EXPECT_EQ(said("j.argc .. ' ' .. j.argv[0] .. ' ' .. j.argv[1]"), "2 /home/ann/job.sh a b");
  EXPECT_EQ(said("string.find(j.script, 'true') ~= nil"), "true");
  EXPECT_EQ(said("j.user_id == u"), "true");
  spec().work_dir = "/scratch/ann";
  spec().std_out = "out-%j";
  spec().batch = true;
  EXPECT_EQ(said("j.std_out .. ' ' .. j.std_in .. ' ' .. tostring(j.std_err)"),
            "/scratch/ann/out-%j /dev/null nil");
  EXPECT_EQ(said("j.pn_min_cpus"), "3");
  spec().overcommit = true;
  EXPECT_EQ(said("j.min_cpus"), "2");
}

TEST_F(Script, WhatIsSetIsWhatTheJobAsksFor) {
  ASSERT_TRUE(submit_with(R"(
    j.partition = "large,debug"; j.time_limit = 5; j.comment = "x"; j.min_nodes = 2; j.max_nodes = 3
    j.min_mem_per_node = 77; j.gres = "gpu:2"; j.shared = 0; j.requeue = true; j.mail_type = 3
    j.nice = slurm.NICE_OFFSET - 7; j.admin_comment = "by the site"; j.req_switch = 2
    j.bitflags = j.bitflags | slurm.SPREAD_JOB | slurm.KILL_INV_DEP; j.name = nil; j.priority = 9
    j.cpus_per_task = "4"; j.script = "#!/bin/sh\nfalse\n"; j.num_tasks = slurm.NO_VAL)"));
  EXPECT_EQ(spec().partitions, "large,debug");
  EXPECT_EQ(spec().time_limit, 5U);
  EXPECT_EQ(spec().comment, "x");
  EXPECT_EQ(spec().min_nodes, 2U);
  EXPECT_EQ(spec().max_nodes, 3U);
  EXPECT_EQ(spec().memory_kind, MemoryKind::kPerNode);
  EXPECT_EQ(spec().memory_mib, 77U);
  EXPECT_EQ(spec().gres, "gres/gpu:2");
  EXPECT_EQ(spec().sharing, Sharing::kExclusive);
  EXPECT_EQ(spec().requeue, Toggle::kYes);
  EXPECT_EQ(spec().mail_type, "BEGIN,END");
  EXPECT_EQ(spec().nice, -7);
  EXPECT_EQ(spec().admin_comment, "by the site");
  EXPECT_EQ(spec().switches, "2");
  EXPECT_TRUE(spec().spread);
  EXPECT_EQ(spec().kill_on_invalid_dependency, Toggle::kYes);
  EXPECT_TRUE(spec().name.empty());
  EXPECT_EQ(spec().priority, 9U);
  EXPECT_EQ(spec().cpus_per_task, 4U);
  EXPECT_EQ(spec().num_tasks, 0U);
  EXPECT_EQ(text_, "#!/bin/sh\nfalse\n");
}

// The site may give what the user may not ask for.
TEST_F(Script, TheUsersRightsAreLookedAtBefore) {
  spec().admin_comment = "mine";
  EXPECT_EQ(said("j.admin_comment"), "nil");
  ASSERT_TRUE(submit_with("j.nice = slurm.NICE_OFFSET - 7; j.admin_comment = 'its'"));
  const JobId id = std::get<state::JobSubmittedReply>(*run(command_)).job;
  EXPECT_EQ(job(id).spec->nice, -7);
  EXPECT_EQ(job(id).spec->admin_comment, "its");
  command_ = {kAnn, batch_spec(), {"users"}, {}};
  spec().nice = -5;
  const auto refused = submit_with("j.nice = 0");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidNice);
}

TEST_F(Script, TheEnvironmentIsATable) {
  environment_ = std::string("A=1\0B=2\0", 8);
  EXPECT_EQ(said("j.environment['A'] .. j.environment.B .. tostring(j.environment.C)"), "12nil");
  ASSERT_TRUE(
      submit_with("j.environment.A = 'x=y'; j.environment['C'] = 3; j.environment.B = nil"));
  EXPECT_EQ(environment_, std::string("A=x=y\0C=3\0", 10));
  EXPECT_NE(refusal_of("j.environment['A=B'] = '1'"), "none");
  EXPECT_EQ(
      said(
          "(function() local n = 0 for k in pairs(j.environment) do n = n + 1 end return n end)()"),
      "2");
}

TEST_F(Script, PartitionsAreThoseThatTheUserMayUse) {
  auto changed = std::make_shared<ClusterConfig>(*config_);
  PartitionConfig roots = changed->partitions.front(), others = roots;
  roots.name = "roots", roots.root_only = true, roots.is_default = false;
  others.name = "others", others.allow_groups = {"staff"}, others.is_default = false;
  changed->partitions.front().default_time = 10;
  changed->partitions.push_back(roots);
  changed->partitions.push_back(others);
  config_ = changed;
  ASSERT_TRUE(run(state::ReplaceConfig{config_}));
  spec().uid = kAnn.uid;
  const char* names =
      "(function() local out = '' for n, q in pairs(p) do out = out .. n .. '=' .. q.name .. ' ' end return out end)()";
  EXPECT_EQ(said(names), "debug=debug ");
  EXPECT_EQ(said("p.debug.flag_default .. ' ' .. p['debug'].default_time .. ' ' .. p.debug.nodes"),
            "1 10 n[1-4]");
  EXPECT_EQ(said("p.nope"), "nil");
  command_.groups = {"staff"};
  EXPECT_EQ(said("p.others.allow_groups"), "staff");
}

TEST_F(Script, JobsAreSeen) {
  const JobId id = submit(batch_spec());
  EXPECT_EQ(said("slurm.jobs['" + std::to_string(id) + "'].job_id"), std::to_string(id));
  EXPECT_EQ(said("slurm.jobs[" + std::to_string(id) + "].job_state"), "0");
  EXPECT_EQ(said("slurm.jobs[999999]"), "nil");
}

TEST_F(Script, RefusalsHaveTheSitesWordsFirst) {
  EXPECT_EQ(refusal_of(
                "slurm.log_user('no %s', 'way'); slurm.user_msg('two\\nthree') return slurm.ERROR"),
            "no way\ntwo\nthree\nUnspecified error");
  const auto known = submit_with("slurm.user_msg('why') return slurm.ESLURM_INVALID_TIME_LIMIT");
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().code, ErrorCode::kInvalidTimeLimit);
  EXPECT_EQ(known.error().text, "why");
  EXPECT_EQ(refusal_of("return 99"), "Cannot assign requested address");
  EXPECT_EQ(refusal_of("return -5"), "Unspecified error");
}

TEST_F(Script, WordsOfComponentsHaveTheirNumbers) {
  command_.components = {batch_spec()};
  command_.components.front().name = "second";
  const auto lines = submit_with("slurm.user_msg(j.name == 'second' and 'b' or 'a')");
  ASSERT_TRUE(lines);
  EXPECT_EQ(*lines, (std::vector<std::string>{"0: a", "1: b"}));
}

TEST_F(Script, AFailureOfTheScriptRefusesTheJob) {
  for (const char* body : {"error('oops')", "local x = nil; x.y = 1", "j.time_limit = 'abc'",
                           "j.partition = {}", "j.min_nodes = -1", "error({})", "return 'x'",
                           "return nil", "j.name = 'a\\0b'", "os.exit(1)"})
    EXPECT_EQ(refusal_of(body), "Unspecified error") << body;
  EXPECT_EQ(refusal_of("j.no_such_field = 3"), "none") << "as in Slurm";
}

TEST_F(Script, ATableIsGoneWithItsCall) {
  write_body(R"(
    if kept ~= nil then
      local ok, why = pcall(function() return kept.name end)
      slurm.user_msg(tostring(ok) .. (string.find(why, "a call that is over") and " over" or why))
    end
    kept = j)");
  ASSERT_TRUE(submit_now());
  EXPECT_EQ(submit_now().value().front(), "false over");
}

TEST_F(Script, ItTakesNoMoreMemoryThanItMay) {
  EXPECT_EQ(refusal_of("local s = 'x' while true do s = s .. s end"), "Unspecified error");
  EXPECT_EQ(said("1"), "1") << "it goes on";
}

TEST_F(Script, AChangedFileIsReadAgainAndABrokenOneIsNot) {
  EXPECT_EQ(said("'first'"), "first");
  write("function slurm_job_submit(");
  EXPECT_EQ(submit_now().value().front(), "first");
  write("function slurm_job_submit(j, p, u) return 0 end");
  EXPECT_EQ(submit_now().value().front(), "first") << "without slurm_job_modify";
  std::filesystem::remove(folder_ / "job_submit.lua");
  EXPECT_EQ(submit_now().value().front(), "first");
  EXPECT_EQ(said("'second'"), "second");
}

TEST_F(Script, ItIsLookedAtBeforeTheStart) {
  const auto problem = [&] {
    const Status ok = check_submit_script(*config_);
    return ok ? "" : ok.error().text;
  };
  EXPECT_NE(problem().find("job_submit.lua"), std::string::npos) << problem();
  write("function slurm_job_submit(j, p, u) return 0 end");
  EXPECT_NE(problem().find("slurm_job_modify is not there"), std::string::npos) << problem();
  write_body("");
  EXPECT_EQ(problem(), "");
  use({"all_partitions"});
  std::filesystem::remove(folder_ / "job_submit.lua");
  EXPECT_EQ(problem(), "") << "nobody wants it";
}

TEST_F(Script, OtherPluginsRunInTheirOrder) {
  use({"all_partitions", "job_submit/lua"});
  use({"all_partitions", "lua"});
  EXPECT_EQ(said("j.partition"), "debug");
  command_ = {kAnn, batch_spec(), {"users"}, {}};
  use({"lua", "require_timelimit"});
  spec().time_limit = 0;
  EXPECT_EQ(said("1"), "error: ");
  EXPECT_TRUE(submit_with("j.time_limit = 3"));
}

TEST_F(Script, ChangesAreSeenAndMayBeRefused) {
  JobSpec before = batch_spec();
  before.comment = "old";
  const JobId id = submit(before);
  const auto modify = [&](const std::string& body, JobUpdate update) {
    write(
        "function slurm_job_submit(j, p, u) return 0 end\nfunction slurm_job_modify(j, r, p, u)\ndo " +
        body + " end\nreturn slurm.SUCCESS end\n");
    state::UpdateJob command{kRoot, std::to_string(id), std::move(update), {}};
    const Status ok = script_.modify(state_, state::find_job(state_, id), command);
    return std::pair(ok ? "" : error_text(ok.error()), command.update);
  };
  JobUpdate update;
  update.comment = "new";
  update.nice = 3;
  const auto [refused, kept] = modify(
      "if j.comment ~= 'new' or r.comment ~= 'old' or j.nice ~= slurm.NICE_OFFSET + 3 or j.time_limit ~= slurm.NO_VAL"
      " or r.job_id ~= " +
          std::to_string(id) +
          " or u ~= 0 then return slurm.ERROR end"
          " if j.pn_min_memory ~= slurm.NO_VAL64 then return slurm.ERROR end j.pn_min_memory = 90"
          " j.comment = 'by the site'; j.time_limit = 7; j.nice = slurm.NO_VAL",
      update);
  EXPECT_EQ(refused, "");
  EXPECT_EQ(kept.comment, "by the site");
  EXPECT_EQ(kept.time_limit, 7U);
  EXPECT_EQ(kept.memory_per_node_mib, 90U);
  EXPECT_FALSE(kept.nice);
  // it was kept as it was written, which is none
  EXPECT_EQ(modify("j.tres_per_node = 'gpu:2'", update).second.gres, "gres/gpu:2");
  EXPECT_EQ(modify("j.gres = ''", update).second.gres, "");
  EXPECT_EQ(modify("j.gres = nil", update).second.gres, std::nullopt);
  EXPECT_EQ(modify("return slurm.ERROR", update).first, "Unspecified error");
  EXPECT_EQ(modify("return slurm.ESLURM_ACCESS_DENIED", update).first, "Access/permission denied");
}

}  // namespace
}  // namespace sluice::ctld
