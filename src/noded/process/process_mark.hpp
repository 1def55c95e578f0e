// Which process it was: a number alone may be another's by now.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace sluice::noded {

struct ProcessMark {
  uint32_t pid = 0;    // 0: none
  uint64_t start = 0;  // in the kernel's clock ticks after the boot
  template <class V>
  static void describe(V&& field) {
    field(1, "pid", &ProcessMark::pid);
    field(2, "start", &ProcessMark::start);
  }
  friend bool operator==(const ProcessMark&, const ProcessMark&) = default;
};

// Its pid is 0 when there is no such process, or it has ended.
[[nodiscard]] ProcessMark mark_of(pid_t pid);
// Whether that very process runs still; it need not be a child of this one.
[[nodiscard]] bool runs(const ProcessMark& mark);

// When it started, by the text of /proc/PID/stat; nothing for a process that has ended.
[[nodiscard]] std::optional<uint64_t> start_in_stat(std::string_view stat);

}  // namespace sluice::noded
