// --mem-bind taken apart, and told again.
#include "common/environment/memory_bind.hpp"

#include <gtest/gtest.h>

#include "common/names/broadcast_names.hpp"

namespace sluice {
namespace {

TEST(MemoryBind, Parts) {
  const MemoryBind bind = parse_memory_bind("verbose,mask_mem:0x1,0X2,prefer,sort");
  EXPECT_EQ(bind.kind, MemoryBindKind::kMask);
  EXPECT_EQ(bind.list, (std::vector<std::string>{"1", "2"}));
  EXPECT_TRUE(bind.verbose && bind.prefer && bind.sort);
  EXPECT_EQ(parse_memory_bind("rank,local").kind, MemoryBindKind::kLocal);
  EXPECT_EQ(parse_memory_bind("map_mem:0,1,none").kind, MemoryBindKind::kNone);
  EXPECT_TRUE(parse_memory_bind("map_mem:0,1,none").list.empty());
  EXPECT_EQ(parse_memory_bind("v").kind, MemoryBindKind::kNotSaid);
  EXPECT_FALSE(parse_memory_bind("v,q").verbose);
  EXPECT_FALSE(parse_memory_bind("sort,nosort").sort);
}

TEST(MemoryBind, Variables) {
  Environment step, job;
  const MemoryBind bind = parse_memory_bind("p,map_mem:0,1,sort");
  set_memory_bind_variables(bind, step);
  EXPECT_EQ(step.get("SLURM_MEM_BIND"), "quiet,prefer,map_mem:0,1");
  EXPECT_EQ(step.get("SLURM_MEM_BIND_LIST"), "0,1");
  EXPECT_EQ(step.get("SLURM_MEM_BIND_TYPE"), "map_mem:");
  EXPECT_EQ(step.get("SLURM_MEM_BIND_PREFER"), "prefer");
  set_memory_bind_request(bind, job);
  EXPECT_EQ(job.get("SLURM_MEM_BIND"), "prefer,sort,map_mem:0,1");
  EXPECT_FALSE(job.has("SLURM_MEM_BIND_LIST"));
  EXPECT_EQ(parse_memory_bind(job.get("SLURM_MEM_BIND")).list, bind.list);
  Environment none;
  set_memory_bind_request(parse_memory_bind("quiet"), none);
  EXPECT_FALSE(none.has("SLURM_MEM_BIND")) << "it would be refused";
}

TEST(MemoryBind, VariablesOfABatchScript) {
  Environment script, plain;
  set_batch_memory_bind(parse_memory_bind("v,p,mask_mem:0x1,0x2"), script);
  EXPECT_EQ(script.get("SBATCH_MEM_BIND"), "verbose,prefer,mask_mem:1,2");
  EXPECT_EQ(script.get("SBATCH_MEM_BIND_LIST"), "1,2");
  EXPECT_EQ(script.get("SBATCH_MEM_BIND_TYPE"), "mask_mem:");
  EXPECT_EQ(script.get("SBATCH_MEM_BIND_PREFER"), "prefer");
  EXPECT_EQ(script.get("SBATCH_MEM_BIND_VERBOSE"), "verbose");
  set_batch_memory_bind(parse_memory_bind("local"), plain);
  EXPECT_EQ(plain.get("SBATCH_MEM_BIND"), "local");
  EXPECT_EQ(plain.get("SBATCH_MEM_BIND_VERBOSE"), "quiet");
  EXPECT_FALSE(plain.has("SBATCH_MEM_BIND_PREFER"));
}

TEST(BroadcastNames, Names) {
  EXPECT_EQ(node_file_name("/tmp/.x", "n1"), "/tmp/.x_n1");
  EXPECT_EQ(step_file_name("/tmp/.x", {12, 3}, "n1"), "/tmp/slurm_bcast_12.3_n1");
  EXPECT_EQ(library_path("/tmp/a", ""), "/tmp/a_libs");
  EXPECT_EQ(library_path("/tmp/a", "/lib"), "/tmp/a_libs:/lib");
}

}  // namespace
}  // namespace sluice
