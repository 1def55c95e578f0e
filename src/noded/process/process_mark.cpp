#include "noded/process/process_mark.hpp"

#include <fmt/format.h>

#include "common/os/proc_stat.hpp"
#include "common/os/read_file.hpp"
#include "common/base/text.hpp"

namespace sluice::noded {
namespace {

constexpr size_t kStart = 19;  // among the fields after the name

}  // namespace

std::optional<uint64_t> start_in_stat(std::string_view stat) {
  const auto fields = stat_fields(stat);
  const bool over = fields.size() <= kStart || fields[0] == "Z" || fields[0] == "X";
  return over ? std::nullopt : to_number<uint64_t>(fields[kStart]);
}

ProcessMark mark_of(pid_t pid) {
  const auto start = start_in_stat(read_file(fmt::format("/proc/{}/stat", pid)).value_or(""));
  return start ? ProcessMark{static_cast<uint32_t>(pid), *start} : ProcessMark{};
}

bool runs(const ProcessMark& mark) {
  return mark.pid != 0 && mark_of(static_cast<pid_t>(mark.pid)) == mark;
}

}  // namespace sluice::noded
