#include "common/cgroup/device_program.hpp"

#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"

namespace sluice::cgroup {
namespace {

constexpr uint8_t kContext = BPF_REG_1;
constexpr uint8_t kAnswer = BPF_REG_0;
constexpr uint8_t kType = BPF_REG_2;
constexpr uint8_t kMajor = BPF_REG_3;
constexpr uint8_t kMinor = BPF_REG_4;

bpf_insn instruction(uint8_t code, uint8_t to, uint8_t from, int16_t offset, int32_t number) {
  bpf_insn out{};
  out.code = code;
  out.dst_reg = to & 0xF;
  out.src_reg = from & 0xF;
  out.off = offset;
  out.imm = number;
  return out;
}
bpf_insn load(uint8_t to, size_t offset) {
  return instruction(BPF_LDX | BPF_MEM | BPF_W, to, kContext, static_cast<int16_t>(offset), 0);
}
bpf_insn skip_unless(uint8_t what, uint32_t is, int16_t count) {
  return instruction(BPF_JMP | BPF_JNE | BPF_K, what, 0, count, static_cast<int32_t>(is));
}
bpf_insn set(uint8_t to, int32_t number) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number);
}

// bpf(2), which the C library has no function for.
long call_bpf(int command, bpf_attr& attributes) {
  return ::syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

int load_program(const std::vector<DeviceFile>& devices) {
  const std::vector<bpf_insn> program = device_program(devices);
  static constexpr char kLicense[] = "Apache-2.0";
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insns = reinterpret_cast<uintptr_t>(program.data());
  attributes.insn_cnt = static_cast<uint32_t>(program.size());
  attributes.license = reinterpret_cast<uintptr_t>(kLicense);
  return static_cast<int>(call_bpf(BPF_PROG_LOAD, attributes));
}

bool has_program(int group) {
  uint32_t ids[8] = {};
  bpf_attr attributes{};
  attributes.query.target_fd = static_cast<uint32_t>(group);
  attributes.query.attach_type = BPF_CGROUP_DEVICE;
  attributes.query.prog_ids = reinterpret_cast<uintptr_t>(ids);
  attributes.query.prog_cnt = 8;
  return call_bpf(BPF_PROG_QUERY, attributes) == 0 && attributes.query.prog_cnt > 0;
}

Status bpf_failure(std::string_view what, const std::string& folder) {
  return failure(
      fmt::format("cannot {} a device program for {}: {}", what, folder, errno_text(errno)));
}

}  // namespace

std::vector<bpf_insn> device_program(const std::vector<DeviceFile>& devices) {
  std::vector<bpf_insn> program = {
      load(kType, offsetof(bpf_cgroup_dev_ctx, access_type)),
      // above: what is to be done with it
      instruction(BPF_ALU | BPF_AND | BPF_K, kType, 0, 0, 0xFFFF),
      load(kMajor, offsetof(bpf_cgroup_dev_ctx, major)),
      load(kMinor, offsetof(bpf_cgroup_dev_ctx, minor)),
  };
  for (const DeviceFile& device : devices) {
    program.push_back(
        skip_unless(kType, device.block ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR, 4));
    program.push_back(skip_unless(kMajor, device.major, 3));
    program.push_back(skip_unless(kMinor, device.minor, 2));
    program.push_back(set(kAnswer, 0));
    program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
  }
  program.push_back(set(kAnswer, 1));
  program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
  return program;
}

Status attach_device_program(const std::string& folder, const std::vector<DeviceFile>& devices) {
  const int group = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (group < 0) return bpf_failure("open", folder);
  Status done;
  if (!has_program(group)) {
    const int program = load_program(devices);
    bpf_attr attributes{};
    attributes.target_fd = static_cast<uint32_t>(group);
    attributes.attach_bpf_fd = static_cast<uint32_t>(program);
    attributes.attach_type = BPF_CGROUP_DEVICE;
    attributes.attach_flags = BPF_F_ALLOW_MULTI;  // those of the groups above are asked, too
    if (program < 0) done = bpf_failure("load", folder);
    else if (call_bpf(BPF_PROG_ATTACH, attributes) != 0) done = bpf_failure("attach", folder);
    if (program >= 0) ::close(program);
  }
  ::close(group);
  return done;
}

bool device_programs_work() {
  const int program = load_program({});
  if (program >= 0) ::close(program);
  return program >= 0;
}

}  // namespace sluice::cgroup
