#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/wire/codec.hpp"
#include "stepd/mpi/pmi_node.hpp"
#include "stepd/mpi/process_mapping.hpp"
#include "support/cpu_time.hpp"

namespace sluice::stepd {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

// All requests in `bytes`, however they are cut.
std::vector<PmiMessage> read_all(std::string_view bytes, PmiVersion version) {
  PmiReader reader;
  std::vector<PmiMessage> out;
  for (const char byte : bytes) {
    reader.feed({&byte, 1});
    auto message = reader.next(version);
    if (!message) {
      ADD_FAILURE() << message.error().text;
      break;
    }
    if (message->has_value()) out.push_back(**message);
  }
  return out;
}

TEST(PmiWire, ReadsLinesOfPmi1) {
  const auto got = read_all(
      "cmd=init pmi_version=1 pmi_subversion=1\n"
      "cmd=put kvsname=5.0 key=P1-b value=mpi#0A$ x=y;z \ncmd=barrier_in\n",
      PmiVersion::kOne);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].command, "init");
  EXPECT_EQ(got[0].get("pmi_version"), "1");
  EXPECT_EQ(got[1].fields,
            (Fields{{"kvsname", "5.0"}, {"key", "P1-b"}, {"value", "mpi#0A$ x=y;z "}}));
  EXPECT_EQ(got[2].command, "barrier_in");
}

TEST(PmiWire, ReadsASpawnOfManyLinesAsOneRequest) {
  const auto got = read_all(
      "mcmd=spawn\nnprocs=2\nexecname=./a.out\narg1=two words\narg2=x=y\narg3=\nendcmd\ncmd=finalize\n",
      PmiVersion::kOne);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].command, "spawn");
  EXPECT_EQ(got[0].get("execname"), "./a.out");
  EXPECT_EQ(got[0].get("arg1"), "two words");
  EXPECT_EQ(got[0].get("arg2"), "x=y");
  EXPECT_EQ(got[1].command, "finalize");
}

TEST(PmiWire, ReadsCountedTextsOfPmi2) {
  const auto got = read_all("    20cmd=kvs-get;key=ab", PmiVersion::kTwo);
  ASSERT_EQ(got.size(), 0U);  // the last byte is missing
  const auto whole =
      read_all("    29cmd=kvs-put;key=a;value=1;;2;14    cmd=job-getid;", PmiVersion::kTwo);
  ASSERT_EQ(whole.size(), 2U);
  EXPECT_EQ(whole[0].get("value"), "1;2");
  EXPECT_EQ(whole[1].command, "job-getid");
}

TEST(PmiWire, WhatIsWrittenIsRead) {
  const PmiMessage message{"kvs-get-response", {{"rc", "0"}, {"value", ";a;;b=c;"}}};
  const auto got = read_all(encode_pmi(message, PmiVersion::kTwo), PmiVersion::kTwo);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].fields, message.fields);
  EXPECT_EQ(encode_pmi({"barrier_out", {{"rc", "0"}}}, PmiVersion::kOne), "cmd=barrier_out rc=0\n");
}

TEST(PmiWire, RefusesWhatIsNoRequest) {
  PmiReader no_number;
  no_number.feed("abcdefcmd=x;");
  EXPECT_FALSE(no_number.next(PmiVersion::kTwo));
  PmiReader no_command;
  no_command.feed("hello\n");
  EXPECT_FALSE(no_command.next(PmiVersion::kOne));
  PmiReader endless;
  endless.feed(std::string(kMaxPmiBytes + 1, 'x'));
  EXPECT_FALSE(endless.next(PmiVersion::kOne));
  PmiReader endless_spawn;
  std::string lines = "mcmd=spawn\n";
  while (lines.size() <= 2 * kMaxPmiBytes)
    lines += "arg=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n";
  endless_spawn.feed(lines);
  EXPECT_FALSE(endless_spawn.next(PmiVersion::kOne));
}

// A node of a step with what its tasks were told.
struct Tasks {
  explicit Tasks(std::vector<uint32_t> ranks, std::string mapping = "(vector,(0,2,2))",
                 std::optional<protocol::MpiSpawned> spawned = std::nullopt, uint32_t size = 4)
      : node({"5.0", size, std::move(ranks), std::move(mapping), std::move(spawned)},
             {[this](uint32_t local, const std::string& bytes) { told[local] += bytes; },
              [this](const PmiPairs& pairs) { shared.push_back(pairs); },
              [this](uint32_t rank) { aborted.push_back(rank); },
              [this](const std::string& question, protocol::MpiMessageKind kind,
                     const protocol::PublishedName& what) {
                asked.push_back(fmt::format("{}:{}:{}={}", question, static_cast<int>(kind),
                                            what.name, what.value));
              },
              [this](const std::string& question, uint32_t rank,
                     const protocol::MpiSpawnRequest& request) {
                asked.push_back(fmt::format("{} of {}", question, rank));
                wanted = request;
              },
              [this] { ++ready; }}) {}

  // The answer to one request.
  std::string ask(uint32_t local, const std::string& command, Fields fields = {}) {
    told[local].clear();
    node.received(local, {command, std::move(fields)});
    return told[local];
  }
  std::map<uint32_t, std::string> told;
  std::vector<PmiPairs> shared;
  std::vector<uint32_t> aborted;
  std::vector<std::string> asked;
  protocol::MpiSpawnRequest wanted;
  int ready = 0;
  PmiNode node;
};

TEST(PmiNode, TellsOfTheJobInPmi1) {
  Tasks tasks({2, 3});
  EXPECT_EQ(tasks.ask(0, "init", {{"pmi_version", "1"}}),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  EXPECT_EQ(tasks.ask(0, "get_my_kvsname"), "cmd=my_kvsname rc=0 kvsname=5.0\n");
  EXPECT_EQ(tasks.ask(0, "get_universe_size"), "cmd=universe_size rc=0 size=4\n");
  EXPECT_EQ(tasks.ask(1, "get", {{"kvsname", "5.0"}, {"key", "PMI_process_mapping"}}),
            "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
  EXPECT_EQ(tasks.ask(1, "get", {{"kvsname", "5.0"}, {"key", "no"}}),
            "cmd=get_result rc=-1 msg=no_such_key value=unknown\n");
  EXPECT_EQ(tasks.ask(1, "finalize"), "cmd=finalize_ack rc=0\n");
}

TEST(PmiNode, ABarrierWaitsForAllTasksAndThenForAllNodes) {
  Tasks here({0, 1});
  Tasks there({2, 3});
  here.ask(0, "put", {{"kvsname", "5.0"}, {"key", "P0"}, {"value", "a"}});
  there.ask(0, "put", {{"kvsname", "5.0"}, {"key", "P2"}, {"value", "b"}});
  EXPECT_EQ(here.ask(0, "barrier_in"), "");
  EXPECT_TRUE(here.shared.empty());
  here.ask(0, "barrier_in");  // twice is once
  EXPECT_TRUE(here.shared.empty());
  here.ask(1, "barrier_in");
  there.ask(0, "barrier_in");
  there.ask(1, "barrier_in");
  ASSERT_EQ(here.shared.size(), 1U);
  ASSERT_EQ(there.shared.size(), 1U);
  // srun puts the encoded ones one after the other
  const auto all =
      wire::decode<PmiPairs>(wire::encode(here.shared[0]) + wire::encode(there.shared[0]));
  ASSERT_TRUE(all);
  here.node.fence_done(true, *all);
  EXPECT_EQ(here.told[0], "cmd=barrier_out rc=0\n");
  EXPECT_EQ(here.ask(1, "get", {{"kvsname", "5.0"}, {"key", "P2"}}),
            "cmd=get_result rc=0 msg=success value=b\n");
  here.node.fence_done(true, *all);  // nobody is in a fence: not told again
  here.ask(0, "barrier_in");
  here.ask(1, "barrier_in");
  ASSERT_EQ(here.shared.size(), 2U);
  EXPECT_TRUE(here.shared[1].pairs.empty());  // what was put once is not sent twice
}

TEST(PmiNode, AFenceFailsWhenOtherNodesAreOutOfReach) {
  Tasks tasks({0, 1});
  tasks.ask(0, "barrier_in");
  tasks.ask(1, "barrier_in");
  tasks.node.alone();
  EXPECT_EQ(tasks.told[0], "cmd=barrier_out rc=-1\n");
  EXPECT_EQ(tasks.told[1], "cmd=barrier_out rc=-1\n");
  tasks.ask(0, "barrier_in");
  EXPECT_EQ(tasks.ask(1, "barrier_in"), "cmd=barrier_out rc=-1\n");
}

std::string counted(const std::string& text) { return fmt::format("{:6}{}", text.size(), text); }

TEST(PmiNode, SpeaksPmi2) {
  Tasks tasks({2, 3});
  EXPECT_EQ(tasks.ask(0, "init", {{"pmi_version", "2"}}),
            "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
  tasks.ask(1, "init", {{"pmi_version", "2"}});
  EXPECT_EQ(
      tasks.ask(0, "fullinit", {{"pmirank", "2"}}),
      counted("cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=2;size=4;appnum=0;"
              "debugged=FALSE;pmiverbose=FALSE;"));
  EXPECT_EQ(tasks.ask(0, "info-getjobattr", {{"key", "universeSize"}}),
            counted("cmd=info-getjobattr-response;rc=0;found=TRUE;value=4;"));
  EXPECT_EQ(tasks.ask(0, "info-getjobattr", {{"key", "no"}}),
            counted("cmd=info-getjobattr-response;rc=0;found=FALSE;"));
  EXPECT_EQ(tasks.ask(0, "kvs-put", {{"key", "k"}, {"value", "v;w"}}),
            counted("cmd=kvs-put-response;rc=0;"));
  EXPECT_EQ(tasks.ask(0, "kvs-fence", {{"thrid", "7"}}), "");
  tasks.ask(1, "kvs-fence");
  ASSERT_EQ(tasks.shared.size(), 1U);
  tasks.node.fence_done(true, tasks.shared[0]);
  EXPECT_EQ(tasks.told[0], counted("cmd=kvs-fence-response;thrid=7;rc=0;"));
  EXPECT_EQ(tasks.ask(1, "kvs-get", {{"key", "k"}}),
            counted("cmd=kvs-get-response;rc=0;found=TRUE;value=v;;w;"));
  tasks.ask(0, "abort", {{"msg", "enough"}});
  EXPECT_EQ(tasks.aborted, std::vector<uint32_t>{2});
}

TEST(PmiNode, ANodeAttributeIsWaitedFor) {
  Tasks tasks({0, 1});
  for (const uint32_t local : {0U, 1U}) tasks.ask(local, "init", {{"pmi_version", "2"}});
  EXPECT_EQ(tasks.ask(0, "info-getnodeattr", {{"key", "shm"}, {"wait", "FALSE"}}),
            counted("cmd=info-getnodeattr-response;rc=0;found=FALSE;"));
  EXPECT_EQ(tasks.ask(0, "info-getnodeattr", {{"key", "shm"}, {"wait", "TRUE"}}), "");
  tasks.ask(1, "info-putnodeattr", {{"key", "shm"}, {"value", "/x"}});
  EXPECT_EQ(tasks.told[0], counted("cmd=info-getnodeattr-response;rc=0;found=TRUE;value=/x;"));
}

// The bugs: each attribute that was put had all that wait for others looked at again, and a pair by
// its number all before it: the step daemon heard no order to end the step any more.
TEST(PmiNode, ManyThatWaitHoldNobodyUp) {
  Tasks tasks({0, 1});
  for (const uint32_t local : {0U, 1U}) tasks.ask(local, "init", {{"pmi_version", "2"}});
  for (int i = 0; i < 40'000; ++i)
    tasks.ask(0, "info-getnodeattr", {{"key", "x"}, {"wait", "TRUE"}});
  const auto before = cpu_time();
  for (int i = 0; i < 4'000; ++i) tasks.ask(1, "info-putnodeattr", {{"key", "a"}, {"value", ""}});
  EXPECT_LT(cpu_time() - before, std::chrono::seconds(5));
  Tasks old({0});
  for (int i = 0; i < 40'000; ++i)
    old.ask(0, "put", {{"kvsname", "5.0"}, {"key", std::to_string(i)}, {"value", "v"}});
  const auto then = cpu_time();
  for (int i = 0; i < 20'000; ++i)
    EXPECT_NE(old.ask(0, "getbyidx", {{"kvsname", "5.0"}, {"idx", "30000"}}).find("nextidx=30001"),
              std::string::npos);
  EXPECT_LT(cpu_time() - then, std::chrono::seconds(5));
}

TEST(PmiNode, AnotherProgramOfTheSameTaskBeginsAnew) {
  Tasks tasks({0});
  tasks.ask(0, "init", {{"pmi_version", "2"}});
  EXPECT_EQ(tasks.ask(0, "finalize"), counted("cmd=finalize-response;rc=0;"));
  EXPECT_EQ(tasks.node.version(0), PmiVersion::kOne);
  EXPECT_EQ(tasks.ask(0, "init", {{"pmi_version", "1"}}),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
}

TEST(PmiNode, TakesOnlySoMuch) {
  Tasks tasks({0});
  const std::string value(100U << 10, 'x');
  const auto put = [&](size_t i) {
    return tasks.ask(0, "put", {{"kvsname", "5.0"}, {"key", std::to_string(i)}, {"value", value}});
  };
  size_t taken = 0;
  while (taken < 1000 && put(taken).find("rc=0") != std::string::npos) ++taken;
  EXPECT_EQ(taken, kMaxPmiSpace / (value.size() + 3));
}

StepLayout layout(std::vector<std::vector<uint32_t>> tasks) {
  StepLayout out;
  for (auto& of_node : tasks) {
    out.num_tasks += static_cast<uint32_t>(of_node.size());
    StepNode& node = out.nodes.emplace_back();
    node.tasks = std::move(of_node);
  }
  return out;
}

TEST(ProcessMapping, FollowsTheRanks) {
  EXPECT_EQ(process_mapping(layout({{0, 1}, {2, 3}, {4, 5}})), "(vector,(0,3,2))");
  EXPECT_EQ(process_mapping(layout({{0, 1, 2}, {3, 4}, {5, 6}})), "(vector,(0,1,3),(1,2,2))");
  EXPECT_EQ(process_mapping(layout({{0, 2, 4}, {1, 3, 5}})), "(vector,(0,2,1))");  // cyclic
  // ends within a round
  EXPECT_EQ(process_mapping(layout({{0, 2, 4}, {1, 3}})), "(vector,(0,2,1))");
  EXPECT_EQ(process_mapping(layout({{0, 1, 4, 5, 8}, {2, 3, 6, 7}})), "(vector,(0,2,2))");
  EXPECT_EQ(process_mapping(layout({{0, 3}, {1, 2, 4, 5}})), "(vector,(0,1,1),(1,1,2))");
  EXPECT_EQ(process_mapping(layout({{1}, {0}})), "(vector,(1,1,1),(0,1,1))");
}

TEST(ProcessMapping, IsNotToldWhenItWouldBeTooLong) {
  std::vector<std::vector<uint32_t>> ragged(200);  // blocks of one rank, nodes backwards
  for (uint32_t i = 0; i < 200; ++i) ragged[199 - i] = {i};
  EXPECT_EQ(process_mapping(layout(ragged)), "");
  std::vector<std::vector<uint32_t>> cyclic(64);
  for (uint32_t rank = 0; rank < 64 * 64; ++rank) cyclic[rank % 64].push_back(rank);
  EXPECT_EQ(process_mapping(layout(cyclic)), "(vector,(0,64,1))");
}

TEST(ProcessMapping, NodesThatComponentsShareHaveANameForEach) {
  StepLayout world = layout({{0}, {1}, {2}, {3}, {4}});
  const char* names[] = {"n1", "n1_2", "n1", "n2", "n1"};
  for (size_t i = 0; i < 5; ++i) world.nodes[i].name = names[i];
  EXPECT_EQ(distinct_node_names(world),
            (std::vector<std::string>{"n1", "n1_2", "n1_3", "n2", "n1_4"}));
}

TEST(ProcessMapping, OfALargeWorldIsShort) {
  constexpr uint32_t kRanks = 4096, kNodes = 100;
  std::vector<std::vector<uint32_t>> cyclic(kNodes), block(kNodes);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    cyclic[rank % kNodes].push_back(rank);
    block[rank / 41].push_back(rank);
  }
  EXPECT_EQ(process_mapping(layout(cyclic)), "(vector,(0,100,1))");
  EXPECT_EQ(process_mapping(layout(block)), "(vector,(0,99,41),(99,1,37))");
}

TEST(ProcessMapping, IsNeverLongerThanAValue) {
  for (uint32_t nodes = 80; nodes < 130; ++nodes) {  // backwards: a block for each node
    std::vector<std::vector<uint32_t>> ragged(nodes);
    for (uint32_t i = 0; i < nodes; ++i) ragged[nodes - 1 - i] = {i};
    EXPECT_LT(process_mapping(layout(ragged)).size(), kMaxPmiValue) << nodes;
  }
}

TEST(PmiNode, PublishedNamesAreSrunsAffair) {
  Tasks tasks({2, 3});
  EXPECT_EQ(tasks.ask(0, "publish_name", {{"service", "ocean"}, {"port", "tag#0$"}}), "");
  EXPECT_EQ(tasks.asked, std::vector<std::string>{"name.1:6:ocean=tag#0$"});
  tasks.node.name_answer("name.1", true, {});
  EXPECT_EQ(tasks.told[0], "cmd=publish_result rc=0 msg=success\n");
  tasks.ask(1, "init", {{"pmi_version", "2"}});
  EXPECT_EQ(tasks.ask(1, "name-lookup", {{"name", "ocean"}, {"thrid", "7"}}), "");
  EXPECT_EQ(tasks.asked.back(), "name.2:7:ocean=");
  tasks.node.name_answer("name.2", true, "tag#0$");
  EXPECT_NE(tasks.told[1].find("cmd=name-lookup-response;thrid=7;rc=0;value=tag#0$;"),
            std::string::npos)
      << tasks.told[1];
  tasks.ask(1, "name-unpublish", {{"name", "land"}});
  tasks.node.name_answer("name.3", false, {});
  EXPECT_NE(tasks.told[1].find("cmd=name-unpublish-response;rc=14;errmsg="), std::string::npos)
      << tasks.told[1];
  tasks.node.name_answer("name.3", true, {});  // was answered
  tasks.ask(0, "lookup_name", {{"service", "land"}});
  tasks.told[0].clear();
  tasks.node.alone();
  EXPECT_EQ(tasks.told[0], "cmd=lookup_result rc=-1 msg=no_such_name_or_taken\n");
  EXPECT_EQ(tasks.ask(0, "lookup_name", {{"service", "land"}}), tasks.told[0]);
  EXPECT_EQ(tasks.asked.size(), 4U);
}

const Fields kFirstCommand = {{"nprocs", "2"},
                              {"execname", "./worker"},
                              {"totspawns", "2"},
                              {"spawnssofar", "1"},
                              {"arg1", "two words"},
                              {"arg2", ""},
                              {"argcnt", "2"},
                              {"preput_num", "1"},
                              {"preput_key_0", "PARENT_ROOT_PORT_NAME"},
                              {"preput_val_0", "tag#0$"},
                              {"info_num", "3"},
                              {"info_key_0", "wdir"},
                              {"info_val_0", "/tmp"},
                              {"info_key_1", "host"},
                              {"info_val_1", "n1 n2"},
                              {"info_key_2", "soft"},
                              {"info_val_2", "1:2"}};
const Fields kSecondCommand = {{"nprocs", "1"},      {"execname", "b"}, {"totspawns", "2"},
                               {"spawnssofar", "2"}, {"argcnt", "0"},   {"preput_num", "0"},
                               {"info_num", "0"}};
const std::vector<protocol::MpiCommand> kCommands = {
    {{"./worker", "two words", ""}, 2, "/tmp", "n1,n2"}, {{"b"}, 1, "", ""}};
const std::vector<protocol::MpiPair> kPairs = {{"PARENT_ROOT_PORT_NAME", "tag#0$"}};

TEST(PmiNode, ASpawnOfPmi1IsAnsweredWhenItsStepIsThere) {
  Tasks tasks({2, 3});
  EXPECT_EQ(tasks.ask(1, "spawn", kFirstCommand), "");
  EXPECT_TRUE(tasks.asked.empty());
  EXPECT_EQ(tasks.ask(1, "spawn", kSecondCommand), "");
  EXPECT_EQ(tasks.asked, std::vector<std::string>{"spawn.1 of 3"});
  EXPECT_EQ(tasks.wanted.commands, kCommands);
  EXPECT_EQ(tasks.wanted.pairs, kPairs);
  EXPECT_FALSE(tasks.node.spawn_answer("name.1", true, "5.1"));
  EXPECT_TRUE(tasks.node.spawn_answer("spawn.1", true, "5.1"));
  EXPECT_EQ(tasks.told[1], "cmd=spawn_result rc=0 jobid=5.1 errcodes=0,0,0\n");
  EXPECT_FALSE(tasks.node.spawn_answer("spawn.1", true, "5.1"));  // was answered
  tasks.ask(1, "spawn", kFirstCommand);
  tasks.ask(1, "spawn", kSecondCommand);
  EXPECT_TRUE(tasks.node.spawn_answer("spawn.2", false, {}));
  EXPECT_EQ(tasks.told[1], "cmd=spawn_result rc=-1 msg=the_step_was_not_started\n");
}

TEST(PmiNode, ASpawnOfPmi1ThatMakesNoSenseIsAnsweredOnce) {
  Tasks tasks({0});
  const auto with = [](Fields fields, const std::string& key, const std::string& value) {
    for (auto& field : fields) {
      if (field.first == key) field.second = value;
    }
    return fields;
  };
  const std::string refused = "cmd=spawn_result rc=-1 msg=the_request_makes_no_sense\n";
  for (const auto& [key, value] : Fields{{"nprocs", "0"},
                                         {"nprocs", "9999999999"},
                                         {"execname", ""},
                                         {"argcnt", "1000"},
                                         {"preput_num", "x"},
                                         {"info_num", "-1"}}) {
    // its client sends all before it reads
    EXPECT_EQ(tasks.ask(0, "spawn", with(kFirstCommand, key, value)), "");
    EXPECT_EQ(tasks.ask(0, "spawn", kSecondCommand), refused) << key;
  }
  EXPECT_EQ(tasks.ask(0, "spawn", kSecondCommand), refused);  // where is the first?
  EXPECT_EQ(tasks.ask(0, "spawn"), refused);
  EXPECT_TRUE(tasks.asked.empty());
  tasks.ask(0, "spawn", kFirstCommand);
  EXPECT_EQ(tasks.ask(0, "spawn", kSecondCommand), "");  // the next good one is taken
  EXPECT_EQ(tasks.asked.size(), 1U);
  tasks.node.alone();
  EXPECT_EQ(tasks.told[0], "cmd=spawn_result rc=-1 msg=the_step_was_not_started\n");
  tasks.ask(0, "spawn", kFirstCommand);
  EXPECT_EQ(tasks.ask(0, "spawn", kSecondCommand),
            "cmd=spawn_result rc=-1 msg=there_is_no_srun_to_start_a_step\n");
}

TEST(PmiNode, ASpawnOfPmi2IsAnsweredWhenItsStepIsThere) {
  Tasks tasks({0});
  tasks.ask(0, "init", {{"pmi_version", "2"}});
  const Fields request = {{"thrid", "7"},         {"ncmds", "2"},
                          {"preputcount", "1"},   {"ppkey0", "PARENT_ROOT_PORT_NAME"},
                          {"ppval0", "tag#0$"},   {"subcmd", "./worker"},
                          {"maxprocs", "2"},      {"argc", "2"},
                          {"argv0", "two words"}, {"argv1", ""},
                          {"infokeycount", "2"},  {"infokey0", "wdir"},
                          {"infoval0", "/tmp"},   {"infokey1", "host"},
                          {"infoval1", "n1 n2"},  {"subcmd", "b"},
                          {"maxprocs", "1"},      {"argc", "0"},
                          {"infokeycount", "0"}};
  EXPECT_EQ(tasks.ask(0, "spawn", request), "");
  EXPECT_EQ(tasks.wanted.commands, kCommands);
  EXPECT_EQ(tasks.wanted.pairs, kPairs);
  EXPECT_TRUE(tasks.node.spawn_answer("spawn.1", true, "5.1"));
  EXPECT_EQ(tasks.told[0],
            counted("cmd=spawn-response;thrid=7;rc=0;jobid=5.1;nerrs=3;errcodes=0,0,0;"));
  tasks.ask(0, "spawn", request);
  EXPECT_TRUE(tasks.node.spawn_answer("spawn.2", false, {}));
  EXPECT_EQ(tasks.told[0],
            counted("cmd=spawn-response;thrid=7;rc=14;errmsg=the step was not started;"));
  EXPECT_EQ(tasks.ask(0, "spawn", {{"ncmds", "2"}, {"subcmd", "b"}, {"maxprocs", "1"}}),
            counted("cmd=spawn-response;rc=14;errmsg=the request makes no sense;"));
}

TEST(PmiNode, ASpawnOfManyTasksGetsAnAnswerThatFitsIntoALine) {
  Tasks tasks({0});
  const auto spawn = [&](const std::string& tasks_wanted, const std::string& question) {
    tasks.ask(
        0, "spawn",
        {{"nprocs", tasks_wanted}, {"execname", "b"}, {"totspawns", "1"}, {"spawnssofar", "1"}});
    static_cast<void>(tasks.node.spawn_answer(question, true, "5.1"));
    return tasks.told[0];
  };
  EXPECT_LT(spawn("400", "spawn.1").size(), 1024U);
  EXPECT_EQ(spawn("4096", "spawn.2"), "cmd=spawn_result rc=0 jobid=5.1\n");
}

TEST(PmiNode, SpawnedTasksFindTheirParent) {
  Tasks tasks({1, 2}, "", protocol::MpiSpawned{"4.0", {2, 1}, kPairs}, 3);
  tasks.ask(0, "init", {{"pmi_version", "1"}});
  EXPECT_EQ(tasks.ready, 0);
  tasks.ask(0, "init", {{"pmi_version", "1"}});  // twice is once
  EXPECT_EQ(tasks.ready, 0);
  tasks.ask(1, "init", {{"pmi_version", "2"}});
  EXPECT_EQ(tasks.ready, 1);
  EXPECT_EQ(tasks.ask(0, "get_appnum"), "cmd=appnum rc=0 appnum=0\n");
  EXPECT_EQ(tasks.ask(0, "get", {{"kvsname", "5.0"}, {"key", "PARENT_ROOT_PORT_NAME"}}),
            "cmd=get_result rc=0 msg=success value=tag#0$\n");
  EXPECT_EQ(
      tasks.ask(1, "fullinit"),
      counted("cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=2;size=3;appnum=1;"
              "debugged=FALSE;pmiverbose=FALSE;spawner-jobid=4.0;"));
  for (const char* how : {"kvs-get", "info-getjobattr"})
    EXPECT_NE(
        tasks.ask(1, how, {{"key", "PARENT_ROOT_PORT_NAME"}}).find("found=TRUE;value=tag#0$;"),
        std::string::npos);
}

// 64 nodes with 64 tasks each, in fences by way of what srun does with them.
TEST(PmiNode, AWorldOf4096RanksKnowsItself) {
  constexpr uint32_t kNodes = 64, kTasks = 64, kRanks = kNodes * kTasks;
  const std::string address(kMaxPmiValue - 1, 'x');
  std::vector<std::unique_ptr<Tasks>> nodes;
  std::string all;
  for (uint32_t node = 0; node < kNodes; ++node) {
    std::vector<uint32_t> ranks(kTasks);
    std::iota(ranks.begin(), ranks.end(), node * kTasks);
    Tasks& tasks = *nodes.emplace_back(
        std::make_unique<Tasks>(ranks, "(vector,(0,64,64))", std::nullopt, kRanks));
    for (uint32_t local = 0; local < kTasks; ++local) {
      tasks.ask(
          local, "put",
          {{"kvsname", "5.0"}, {"key", fmt::format("P{}", ranks[local])}, {"value", address}});
      tasks.ask(local, "barrier_in");
    }
    ASSERT_EQ(tasks.shared.size(), 1U);
    all += wire::encode(tasks.shared.front());
  }
  const auto pairs = wire::decode<PmiPairs>(all);
  ASSERT_TRUE(pairs);
  for (auto& tasks : nodes) {
    tasks->node.fence_done(true, *pairs);
    for (uint32_t rank = 0; rank < kRanks; rank += 63) {
      const std::string answer =
          tasks->ask(rank % kTasks, "get", {{"kvsname", "5.0"}, {"key", fmt::format("P{}", rank)}});
      ASSERT_EQ(answer, "cmd=get_result rc=0 msg=success value=" + address + "\n");
      ASSERT_LE(answer.size(), 1024U);
    }
    tasks.reset();  // it keeps all of it
  }
}

// What a hostile task could have its node's daemon keep.
TEST(PmiNode, KeepsNoMoreThanItsBounds) {
  size_t good = 0, refused = 0, asked = 0;
  PmiNode node({"5.0", 1, {0}, {}, {}}, {[&](uint32_t, const std::string& bytes) {
                                           good += bytes.find("rc=0") != std::string::npos ? 1 : 0;
                                           refused +=
                                               bytes.find("rc=0") == std::string::npos ? 1 : 0;
                                         },
                                         [](const PmiPairs&) {}, [](uint32_t) {},
                                         [&](const std::string&, protocol::MpiMessageKind,
                                             const protocol::PublishedName&) { ++asked; }});
  node.received(0, PmiMessage{"init", {}}.add("pmi_version", "1"));
  good = 0;
  for (int i = 0; i < 200000; ++i) {
    node.received(
        0,
        PmiMessage{"put", {}}.add("kvsname", "5.0").add("key", std::to_string(i)).add("value", ""));
  }
  EXPECT_LE(good * kPmiPairBytes, kMaxPmiSpace) << "pairs without a value cost memory, too";
  EXPECT_GT(refused, 0U);
  const std::string big(200U << 10, 'x');
  for (int i = 0; i < 1000; ++i)
    node.received(0, PmiMessage{"lookup_name", {}}.add("service", big));
  EXPECT_GT(asked, 10U);
  EXPECT_LE(asked * big.size(), kMaxPmiWaiting);
}

}  // namespace
}  // namespace sluice::stepd
