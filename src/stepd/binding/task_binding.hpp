// What --cpu-bind comes to for the tasks of a step on a node. Pure. CPUs are given by their place
// in the node, core by core; what comes out are the numbers that users know them by, the kernel's
// where the node is as it was configured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/result.hpp"
#include "stepd/binding/cpu_choice.hpp"

namespace sluice::stepd {

struct BindRequest {
  std::string_view bind;  // of --cpu-bind
  // "cores", … for as many tasks as there are of nothing; empty: they are not bound apart then
  std::string_view autobind;
  CpuShape shape;
  CpuDemand demand;
  // as the user gave them: they choose what is bound to
  uint32_t ntasks_per_core = 0, ntasks_per_socket = 0;
  // --threads-per-core was given: threads are bound to
  bool says_threads = false;
  uint32_t node_cpus = 1;         // of the whole node
  uint32_t system_cpus = 0;       // of these, which no job gets
  std::vector<uint32_t> cpus;     // of the step
  std::vector<uint32_t> numbers;  // of each CPU of the node; empty: its place
  // locality domains, by CPU number; looked at when `bind` names them
  std::vector<Bitmap> domains;
};

struct TaskBinding {
  std::string_view type = "none";  // of SLURM_CPU_BIND_TYPE
  std::string list;                // of SLURM_CPU_BIND_LIST
  std::string_view report = "NONE";
  bool verbose = false;
  std::vector<Bitmap> masks;  // of CPU numbers: one of each task, one for all of them, or none

  [[nodiscard]] const Bitmap* mask_of(uint32_t local_task) const {
    if (masks.empty()) return nullptr;
    return &masks[masks.size() == 1 ? 0 : local_task];
  }
};

[[nodiscard]] bool names_domains(std::string_view bind);
// The error is Slurm's: a sentence for srun, a newline, the reason that the launch fails.
[[nodiscard]] Result<TaskBinding> bind_tasks(const BindRequest& request);
// Where nothing binds: what was asked for, without masks. Nothing when it says neither how to bind
// nor to report; its type is empty when it says only that.
[[nodiscard]] std::optional<TaskBinding> asked_binding(std::string_view bind);
// "0x03", with at least so many digits.
[[nodiscard]] std::string hex_mask(const Bitmap& cpus, size_t digits, bool upper_case);

}  // namespace sluice::stepd
