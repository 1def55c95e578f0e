// Control groups v2 have no file for devices: an eBPF program decides who may open what.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/cgroup/tree.hpp"

struct bpf_insn;

namespace sluice::cgroup {

// Closes `devices` to the group in `folder` and to all below it. A group that has such a program
// keeps that one: those of a job's steps are made one after the other.
[[nodiscard]] Status attach_device_program(const std::string& folder,
                                           const std::vector<DeviceFile>& devices);
// Whether this kernel takes such programs from this process.
[[nodiscard]] bool device_programs_work();

// The program: 0 (no) for one of `devices`, else 1.
[[nodiscard]] std::vector<bpf_insn> device_program(const std::vector<DeviceFile>& devices);

}  // namespace sluice::cgroup
