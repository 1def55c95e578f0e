// On a node of 2 sockets with 2 cores of 2 threads; tests/system/test_affinity.py compares with
// Slurm.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "stepd/binding/task_binding.hpp"

namespace sluice::stepd {
namespace {

BindRequest request_of(uint32_t tasks, std::string_view bind,
                       std::vector<uint32_t> cpus = {0, 1, 2, 3, 4, 5, 6, 7}) {
  BindRequest request;
  request.bind = bind;
  request.shape = {2, 2};
  request.demand.tasks = tasks;
  request.node_cpus = 8;
  request.cpus = std::move(cpus);
  request.domains = {Bitmap::first(4), *Bitmap::from_text("4-7")};
  return request;
}

// As SLURM_CPU_BIND has it, without its first word; or the error.
std::string bound(const BindRequest& request) {
  const auto binding = bind_tasks(request);
  return binding ? std::string(binding->type) + binding->list : binding.error().text;
}

const std::vector<uint32_t> kHalf = {0, 1, 4, 5};  // a core of each socket

TEST(TaskBinding, FollowsTheNumberOfTasks) {
  EXPECT_EQ(bound(request_of(1, "")), "mask_cpu:0xFF");
  EXPECT_EQ(bound(request_of(2, "")), "mask_cpu:0x0F,0xF0");
  EXPECT_EQ(bound(request_of(3, "quiet")), "mask_cpu:0xFF");
  EXPECT_EQ(bound(request_of(4, "")), "mask_cpu:0x03,0x30,0x0C,0xC0");
  EXPECT_EQ(bound(request_of(8, "")), "mask_cpu:0x01,0x10,0x02,0x20,0x04,0x40,0x08,0x80");
  EXPECT_EQ(bound(request_of(9, "")), "mask_cpu:0xFF");
  EXPECT_EQ(bound(request_of(4, "", kHalf)), "mask_cpu:0x01,0x10,0x02,0x20");
}

// Without task/affinity.
TEST(TaskBinding, SaysWhatWasAskedForWhereNothingBinds) {
  const auto asked = [](std::string_view bind) {
    const auto binding = asked_binding(bind);
    return binding ? (binding->verbose ? "verbose|" : "quiet|") + std::string(binding->type) + "|" +
                         binding->list
                   : "";
  };
  EXPECT_EQ(asked("none"), "quiet|none|");
  EXPECT_EQ(asked("v,no"), "verbose|none|");
  EXPECT_EQ(asked("rank"), "quiet|rank|");
  EXPECT_EQ(asked("core"), "quiet|cores|");
  EXPECT_EQ(asked("map_cpu:0,1"), "quiet|map_cpu:|0,1");
  EXPECT_EQ(asked("verbose"), "verbose||");
  EXPECT_EQ(asked("quiet"), "");
  EXPECT_EQ(asked(""), "");
}

// TaskPluginParam=Autobind: where the number of tasks is that of nothing.
TEST(TaskBinding, BindsToTheSitesUnitWhereNothingFits) {
  auto request = request_of(3, "");
  request.autobind = "Threads";
  EXPECT_EQ(bound(request), bound(request_of(3, "threads")));
  request.autobind = "cores";
  EXPECT_EQ(bound(request), bound(request_of(3, "cores")));
  request.autobind = "Sockets";
  EXPECT_EQ(bound(request), bound(request_of(3, "sockets")));
  request.autobind = "none";
  EXPECT_EQ(bound(request), "mask_cpu:0xFF");
  auto fits = request_of(4, "");
  fits.autobind = "threads";
  EXPECT_EQ(bound(fits), bound(request_of(4, ""))) << "as many as cores";
  auto said = request_of(3, "none");
  said.autobind = "threads";
  EXPECT_EQ(bound(said), "none");
}

TEST(TaskBinding, DealsWhatIsNamed) {
  EXPECT_EQ(bound(request_of(3, "threads")), "mask_cpu:0x01,0x10,0x02");
  EXPECT_EQ(bound(request_of(5, "cores")), "mask_cpu:0x03,0x30,0x0C,0xC0,0x03");
  EXPECT_EQ(bound(request_of(3, "sockets")), "mask_cpu:0x0F,0xF0,0x0F");
  EXPECT_EQ(bound(request_of(2, "Cores", {0, 1})), "mask_cpu:0x03,0x03");
  EXPECT_EQ(bound(request_of(2, "ldoms", kHalf)), "mask_cpu:0x0F,0xF0");
  auto block = request_of(6, "cores");
  block.demand.order = SocketOrder::kBlock;
  EXPECT_EQ(bound(block), "mask_cpu:0x03,0x0C,0x30,0xC0,0x03,0x0C");
  block.bind = "sockets";
  EXPECT_EQ(bound(block), "mask_cpu:0x0F,0x0F,0x0F,0x0F,0xF0,0xF0");
  auto wide = request_of(2, "threads");
  wide.demand.each = 4;
  EXPECT_EQ(bound(wide), "mask_cpu:0x0F,0xF0");
  wide.demand.order = SocketOrder::kFcyclic;
  EXPECT_EQ(bound(wide), "mask_cpu:0x33,0xCC");
}

// Half a gigabyte of the daemon's, which no job's limit holds, for the bits of one number.
TEST(TaskBinding, ANumberBeyondAllCpusCostsNoMemory) {
  rusage before{}, after{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &before), 0);
  const std::string refused = bound(request_of(1, "map_cpu:4294967295"));
  EXPECT_TRUE(refused.starts_with("CPU binding outside of job step allocation")) << refused;
  // counted round, as all are
  const auto domains = bind_tasks(request_of(1, "map_ldom:4294967295"));
  ASSERT_TRUE(domains);
  EXPECT_EQ(domains->masks.at(0), *Bitmap::from_text("4-7"));
  std::string long_list = "map_cpu:0";
  for (int i = 0; i < 5000; ++i) long_list += ",0*4096";
  EXPECT_TRUE(bind_tasks(request_of(1, long_list)));
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100'000);
}

TEST(TaskBinding, FollowsThreadsAndTasksPerPlace) {
  auto one_thread = request_of(2, "", kHalf);
  one_thread.demand.used_threads = 1;
  one_thread.says_threads = true;
  EXPECT_EQ(bound(one_thread), "mask_cpu:0x01,0x10");
  one_thread.bind = "cores";
  EXPECT_EQ(bound(one_thread), "mask_cpu:0x03,0x30");
  one_thread.bind = "none";
  EXPECT_EQ(bound(one_thread), "mask_cpu:0x33");
  auto per_place = request_of(2, "");
  per_place.ntasks_per_core = 1;
  EXPECT_EQ(bound(per_place), "mask_cpu:0x03,0x30");
  per_place.ntasks_per_core = 0;
  per_place.ntasks_per_socket = 4;
  EXPECT_EQ(bound(per_place), "mask_cpu:0x0F,0xF0");
}

TEST(TaskBinding, TakesMapsAndMasksOfTheStep) {
  EXPECT_EQ(bound(request_of(2, "map_cpu:5,3,verbose")), "map_cpu:5,3");
  EXPECT_EQ(bound(request_of(4, "mask_cpu:0x3,0x30", kHalf)), "mask_cpu:3,30");
  const std::string outside =
      "CPU binding outside of job step allocation, allocated CPUs are: 0x33.\n"
      "Unable to satisfy cpu bind request";
  EXPECT_EQ(bound(request_of(4, "map_cpu:2", kHalf)), outside);
  EXPECT_EQ(bound(request_of(4, "mask_cpu:0x7", kHalf)), outside);
  EXPECT_EQ(bound(request_of(1, "map_cpu:9")).substr(0, 62),
            "CPU binding outside of job step allocation, allocated CPUs are");
  EXPECT_EQ(bound(request_of(3, "map_cpu:1*2,3")), "map_cpu:1,1,3");
  const auto binding = bind_tasks(request_of(3, "v,mask_cpu:0x1*2,0x6"));
  ASSERT_TRUE(binding);
  EXPECT_TRUE(binding->verbose);
  EXPECT_EQ(binding->masks[1].to_text(), "0");
  EXPECT_EQ(binding->masks[2].to_text(), "1-2");
}

TEST(TaskBinding, WantsTheNodeForRanksAndDomains) {
  for (const std::string kind : {"rank", "rank_ldom", "map_ldom:1,0", "mask_ldom:0x2,0x3"}) {
    EXPECT_EQ(bound(request_of(2, kind, kHalf)), "Entire node must be allocated for " +
                                                     kind.substr(0, kind.find(':')) +
                                                     "\nUnable to satisfy cpu bind request");
  }
  EXPECT_EQ(bound(request_of(2, "rank")), "rank");
  EXPECT_EQ(bind_tasks(request_of(2, "rank"))->masks[1].to_text(), "1");
  EXPECT_EQ(bind_tasks(request_of(3, "rank_ldom"))->masks[2].to_text(), "0-3");
  EXPECT_EQ(bind_tasks(request_of(2, "map_ldom:1,0"))->masks[0].to_text(), "4-7");
  EXPECT_EQ(bind_tasks(request_of(2, "mask_ldom:2,3"))->masks[1].to_text(), "0-7");
  auto rest = request_of(2, "rank", {0, 1, 2, 3, 4, 5});
  rest.system_cpus = 2;
  EXPECT_EQ(bound(rest), "rank");
}

TEST(TaskBinding, NoneIsSaidWhereOthersHaveCpus) {
  EXPECT_EQ(bound(request_of(2, "none")), "none");
  EXPECT_EQ(bind_tasks(request_of(2, "none"))->mask_of(0), nullptr);
  EXPECT_EQ(bound(request_of(2, "none", kHalf)), "mask_cpu:0x33");
}

TEST(TaskBinding, SpeaksOfCpusAsTheKernelNumbersThem) {
  auto request = request_of(2, "cores");
  request.numbers = {0, 4, 1, 5, 2, 6, 3, 7};  // siblings are four apart
  EXPECT_EQ(bound(request), "mask_cpu:0x11,0x44");
}

TEST(TaskBinding, WritesMasks) {
  EXPECT_EQ(hex_mask(*Bitmap::from_text("0,11"), 2, false), "0x801");
  EXPECT_EQ(hex_mask(*Bitmap::from_text("1,3"), 4, true), "0x000A");
  EXPECT_EQ(hex_mask(Bitmap(), 0, true), "0x0");
}

}  // namespace
}  // namespace sluice::stepd
