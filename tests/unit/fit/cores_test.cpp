// Which cores of a node a job has, as asked of Slurm 22.05.
#include "ctld/fit/cores.hpp"

#include <gtest/gtest.h>

namespace sluice::fit {
namespace {

// Sockets of four cores.
struct Sockets {
  NodeConfig config;
  Room room;
  Needs needs;

  explicit Sockets(uint32_t sockets, uint32_t threads = 1) {
    config.sockets = sockets;
    config.cores_per_socket = 4;
    config.threads_per_core = threads;
    config.cpus = sockets * 4 * threads;
    config.real_memory_mib = 8000;
    room.node = 0;
    room.config = &config;
    room.free_memory_mib = 8000;
    free_but("");
  }
  void free_but(const char* used) {
    Bitmap cores = Bitmap::first(config.cores());
    cores.and_not(*Bitmap::from_text(used));
    set_free_cores(room, cores, Unit::kCore);
  }
  std::string chosen(uint32_t cores, Unit unit = Unit::kCore) const {
    return choose_cores(needs, room, cores, unit).to_text();
  }
};

// The bug: the first free cores were taken, though another socket had room for all of them.
TEST(Cores, AreOfAsFewSocketsAsCanBe) {
  Sockets four(4);
  four.needs.fill_sockets = true;
  EXPECT_EQ(four.chosen(6), "0-5");
  four.free_but("0-2");
  EXPECT_EQ(four.chosen(1), "3") << "the socket with the fewest that are enough";
  EXPECT_EQ(four.chosen(2), "4-5");
  four.free_but("0-2,4-5");
  EXPECT_EQ(four.chosen(2), "6-7");
  EXPECT_EQ(four.chosen(5), "8-12") << "where none has enough those with the most come first";
  four.free_but("0,4-13");
  EXPECT_EQ(four.chosen(4), "1-3,14");
  EXPECT_EQ(four.chosen(6), "1-3,14-15") << "there are no more";
  Sockets two(2);
  two.needs.fill_sockets = true;
  two.free_but("0-1");
  EXPECT_EQ(two.chosen(5), "2,4-7");
  two.free_but("4-5");
  EXPECT_EQ(two.chosen(2), "6-7");
}

// The bug: more tasks than it allows came to lie on a socket.
TEST(Cores, TasksOfASocket) {
  Sockets two(2);
  two.needs.tasks_per_socket = 2;
  two.needs.fill_sockets = true;
  EXPECT_EQ(two.chosen(4), "0-1,4-5");
  EXPECT_EQ(two.chosen(6), "0-5") << "more than the tasks want";
  EXPECT_EQ(tasks_by_socket(two.needs, two.room), 4U);
  two.free_but("0-1");
  EXPECT_EQ(two.chosen(3), "2-4");
  two.needs.fill_sockets = false;
  two.free_but("0-2");
  EXPECT_EQ(two.chosen(3), "3-5");
  EXPECT_EQ(tasks_by_socket(two.needs, two.room), 3U);
  two.needs.cpus_per_task = 2;
  EXPECT_EQ(tasks_by_socket(two.needs, two.room), 2U);
  two.needs.cpus_per_task = 6;
  EXPECT_EQ(tasks_by_socket(two.needs, two.room), 1U) << "larger than a socket";
  two.needs.cpus_per_task = 0;
  EXPECT_EQ(tasks_by_socket(two.needs, two.room), 4U) << "--overcommit";
  Sockets threads(2, 2);
  threads.needs.tasks_per_socket = 2;
  threads.needs.fill_sockets = true;
  EXPECT_EQ(threads.chosen(2), "0,4") << "two tasks on a core of two threads";
}

// The bug: CR_Socket gave one socket to tasks that go to both in turn.
TEST(Cores, WholeSocketsOfTheCores) {
  Sockets two(2);
  EXPECT_EQ(two.chosen(1, Unit::kSocket), "0-3");
  EXPECT_EQ(two.chosen(2, Unit::kSocket), "0-7");
  two.needs.fill_sockets = true;
  EXPECT_EQ(two.chosen(2, Unit::kSocket), "0-3");
  two.needs.fill_sockets = false;
  two.needs.cpus_per_task = 2;
  EXPECT_EQ(two.chosen(4, Unit::kSocket), "0-3");
  EXPECT_EQ(two.chosen(6, Unit::kSocket), "0-7");
  two.needs.cpus_per_task = 1;
  two.needs.uses_memory = true;
  two.needs.memory_per_cpu_mib = 1500;
  EXPECT_EQ(two.chosen(2, Unit::kSocket), "0-3") << "there is no memory for both";
  two.needs.uses_memory = false;
  two.needs.max_cpus_per_node = 4;
  EXPECT_EQ(two.chosen(2, Unit::kSocket), "0-3") << "MaxCPUsPerNode";
}

// The bug: without memory that jobs take, --mem was of no account.
TEST(Capacity, MemoryOfTheNodeWhereNoneIsGiven) {
  Sockets two(2);
  two.needs.memory_per_node_mib = 8000;
  EXPECT_EQ(capacity(two.needs, two.room).tasks, 8U);
  two.needs.memory_per_node_mib = 8001;
  EXPECT_EQ(capacity(two.needs, two.room).tasks, 0U);
  EXPECT_EQ(lack_of(two.needs, two.room), Lack::kMemory);
  two.needs.memory_per_node_mib = 0;
  two.needs.memory_per_cpu_mib = 5000;
  EXPECT_EQ(capacity(two.needs, two.room).tasks, 8U) << "not for each CPU";
}

}  // namespace
}  // namespace sluice::fit
