#include "ctld/agents/config_problems.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "common/config_files/check.hpp"
#include "common/config_files/programs.hpp"
#include "common/log/log.hpp"

namespace sluice::ctld {
namespace {

// What Slurm says of one that the controller is to run.
std::string slurms_words(const UnusableProgram& program) {
  constexpr std::string_view kWhys[] = {"not absolute pathname", "not found", "not executable"};
  const bool powers = program.key.starts_with("Suspend") || program.key.starts_with("Resume");
  return fmt::format("{}: {}program {} {}", program.key, powers ? "power_save " : "", program.path,
                     kWhys[static_cast<size_t>(program.why)]);
}

}  // namespace

void log_config_problems(const ClusterConfig& config) {
  for (const UnusableProgram& program : unusable_programs(config)) {
    if (program.of_controller) log::error("{}", slurms_words(program));
    else log::warning("{}", sentence_of(program));
  }
  for (const std::string& warning : host_warnings(config)) log::warning("{}", warning);
}

}  // namespace sluice::ctld
