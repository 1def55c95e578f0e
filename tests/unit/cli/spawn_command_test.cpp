#include "cli/step/spawn_command.hpp"

#include <gtest/gtest.h>

#include "common/step/mpi_spawned.hpp"

namespace sluice::cli {
namespace {

using protocol::MpiSpawnRequest;
using Words = std::vector<std::string>;

const SpawnPlace kPlace{5, "5.0", "/home/u", false};

TEST(SpawnCommand, OneProgramIsOnTheCommandLine) {
  const MpiSpawnRequest request{{{{"./worker", "two words", "-n9"}, 3, {}, {}}}, {}};
  EXPECT_FALSE(needs_programs_file(request));
  EXPECT_EQ(spawn_words(request, kPlace, {}),
            (Words{"srun", "--jobid=5", "--ntasks=3", "--mpi=pmi2", "--exact", "--input=none",
                   "--chdir=/home/u", "--", "./worker", "two words", "-n9"}));
}

TEST(SpawnCommand, InfosSayWhere) {
  const MpiSpawnRequest request{{{{"a"}, 1, "/tmp", "n1,n2"}, {{"b"}, 2, {}, "n3"}}, {}};
  const SpawnPlace place{5, "5.0", "/home/u", true};
  EXPECT_EQ(spawn_words(request, place, "/proc/self/fd/7"),
            (Words{"srun", "--jobid=5", "--ntasks=3", "--mpi=pmi2", "--exact", "--input=none",
                   "--chdir=/tmp", "--nodelist=n1,n2,n3", "--kill-on-bad-exit=1", "--multi-prog",
                   "--", "/proc/self/fd/7"}));
}

TEST(SpawnCommand, SeveralProgramsAreInAFile) {
  const MpiSpawnRequest request{
      {{{"./a b", "it's", "100%t", ""}, 2, {}, {}}, {{"c\\", "#"}, 1, {}, {}}}, {}};
  EXPECT_TRUE(needs_programs_file(request));
  const auto file = programs_file(request);
  ASSERT_TRUE(file);
  EXPECT_EQ(*file, "0-1 './a b' 'it'\\''s' '100%t' ''\n2 'c\\' '#'\n");
  EXPECT_FALSE(programs_file({{{{"a", "two\nlines"}, 1, {}, {}}, {{"b"}, 1, {}, {}}}, {}}));
  // it would be two components
  EXPECT_TRUE(needs_programs_file({{{{"a", ":", "b"}, 1, {}, {}}}, {}}));
}

TEST(SpawnCommand, TheEnvironmentTellsOfTheParentAndNotOfItsOptions) {
  Environment own;
  own.set("PATH", "/bin");
  own.set("SLURM_CONF", "/c");
  own.set("SLURM_EXPORT_ENV", "NONE");
  for (const char* option : {"SLURM_NTASKS", "SLURM_JOB_NUM_NODES", "SLURM_OVERLAP"})
    own.set(option, "1");
  const MpiSpawnRequest request{{{{"a"}, 2, {}, {}}, {{"b"}, 1, {}, {}}}, {{"port", "tag#0;\n"}}};
  const auto made = spawn_environment(request, kPlace, own);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->get("PATH"), "/bin");
  EXPECT_EQ(made->get("SLURM_CONF"), "/c");
  EXPECT_EQ(made->get("SLURM_EXPORT_ENV"), "NONE");
  for (const char* gone : {"SLURM_NTASKS", "SLURM_JOB_NUM_NODES", "SLURM_OVERLAP"})
    EXPECT_FALSE(made->has(gone)) << gone;
  const auto told = read_mpi_spawned(made->get(kMpiSpawnedVariable));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->spawner, "5.0");
  EXPECT_EQ(told->tasks, (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(told->pairs, request.pairs);
  EXPECT_FALSE(
      spawn_environment({{}, {{"port", std::string(kMaxMpiSpawnedText, 'x')}}}, kPlace, own));
}

TEST(MpiSpawned, OtherTextsAreNone) {
  for (const char* text : {"", "0", "0x", "zz", "ff"}) EXPECT_FALSE(read_mpi_spawned(text)) << text;
}

}  // namespace
}  // namespace sluice::cli
