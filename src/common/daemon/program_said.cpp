#include "common/daemon/program_said.hpp"

#include "common/log/log.hpp"

namespace sluice::daemon {
namespace {

constexpr size_t kLines = 20, kBytes = 4096;

}  // namespace

void log_what_it_said(ProgramOutput& output, std::string_view who, int status) {
  const auto lines = output.last_lines(kLines, kBytes);
  output.close();
  for (const std::string& line : lines) {
    if (status != 0) log::error("{}: {}", who, line);
    else log::flag(log::DebugFlag::kScript, "{}: {}", who, line);
  }
}

}  // namespace sluice::daemon
