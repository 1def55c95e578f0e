// The program is run here as the kernel would: by its instructions.
#include "common/cgroup/device_program.hpp"

#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "unit/cgroup/fake_mount.hpp"

namespace sluice::cgroup {
namespace {

uint64_t run(const std::vector<bpf_insn>& program, const bpf_cgroup_dev_ctx& context) {
  uint64_t registers[11] = {};
  for (size_t at = 0; at < program.size(); ++at) {
    const bpf_insn& in = program[at];
    uint64_t& to = registers[in.dst_reg];
    switch (in.code) {
      case BPF_LDX | BPF_MEM | BPF_W:
        to = *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(&context) + in.off);
        break;
      case BPF_ALU | BPF_AND | BPF_K: to &= static_cast<uint32_t>(in.imm); break;
      case BPF_ALU64 | BPF_MOV | BPF_K: to = static_cast<uint64_t>(in.imm); break;
      case BPF_JMP | BPF_JNE | BPF_K:
        if (to != static_cast<uint64_t>(in.imm)) at += static_cast<size_t>(in.off);
        break;
      case BPF_JMP | BPF_EXIT: return registers[0];
      default: ADD_FAILURE() << "instruction " << int{in.code}; return 2;
    }
  }
  ADD_FAILURE() << "no end";
  return 2;
}

constexpr uint32_t kRead = BPF_DEVCG_ACC_READ << 16;

TEST(DeviceProgram, ClosesWhatIsNamed) {
  const auto program = device_program({{false, 195, 0}, {true, 8, 1}});
  EXPECT_EQ(run(program, {kRead | BPF_DEVCG_DEV_CHAR, 195, 0}), 0U);
  EXPECT_EQ(run(program, {kRead | BPF_DEVCG_DEV_BLOCK, 8, 1}), 0U);
  EXPECT_EQ(run(program, {kRead | BPF_DEVCG_DEV_CHAR, 195, 1}), 1U);
  EXPECT_EQ(run(program, {kRead | BPF_DEVCG_DEV_BLOCK, 195, 0}), 1U);
  EXPECT_EQ(run(program, {kRead | BPF_DEVCG_DEV_CHAR, 8, 1}), 1U);
  EXPECT_EQ(run(device_program({}), {kRead | BPF_DEVCG_DEV_CHAR, 1, 3}), 1U);
}

TEST(DeviceProgram, TheFirstVersionHasAFile) {
  testing::FakeMount mount;
  const auto tree = Tree::open(mount.setup(1, {"freezer", "devices"}));
  mount.put("freezer/tasks", "");
  mount.put("devices/tasks", "");
  ASSERT_TRUE(tree->make("uid_0/job_1"));
  mount.put("devices/slurm_n1/uid_0/job_1/devices.deny", "");
  EXPECT_TRUE(tree->close_devices("uid_0/job_1", {{false, 195, 7}}));
  EXPECT_EQ(mount.get("devices/slurm_n1/uid_0/job_1/devices.deny"), "c 195:7 rwm");
  EXPECT_TRUE(
      Tree::open(mount.setup(1, {"freezer"}))->close_devices("uid_0/job_1", {{true, 8, 0}}));
}

}  // namespace
}  // namespace sluice::cgroup
