#include "ctld/agents/program_checks.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/config_files/check.hpp"
#include "common/log/log.hpp"

namespace sluice::ctld {
namespace {

// Of what stands in slurm.conf the first word is the program.
void look_at(std::string_view key, const std::string& value, std::string_view kind,
             std::vector<std::string>& out) {
  const std::vector<std::string> words = split_list(value, ' ');
  if (words.empty()) return;
  const std::string& path = words.front();
  const auto say = [&](std::string_view what) {
    out.push_back(fmt::format("{}: {} {} {}", key, kind, path, what));
  };
  if (!path.starts_with('/')) say("not absolute pathname");
  else if (::access(path.c_str(), F_OK) != 0) say("not found");
  else if (::access(path.c_str(), X_OK) != 0) say("not executable");
}

}  // namespace

std::vector<std::string> unusable_programs(const ClusterConfig& config) {
  std::vector<std::string> out;
  look_at("SuspendProgram", config.suspend_program, "power_save program", out);
  look_at("ResumeProgram", config.resume_program, "power_save program", out);
  look_at("ResumeFailProgram", config.resume_fail_program, "power_save program", out);
  const bool reboots = has_option(config.slurmctld_parameters, "reboot_from_controller");
  if (reboots) look_at("RebootProgram", config.reboot_program, "program", out);
  for (const std::string& path : config.prolog_slurmctld)
    look_at("PrologSlurmctld", path, "program", out);
  for (const std::string& path : config.epilog_slurmctld)
    look_at("EpilogSlurmctld", path, "program", out);
  for (const char* key : {"ResvProlog", "ResvEpilog"}) {
    if (const auto set = config.values.find(key); set != config.values.end())
      look_at(key, set->second, "program", out);
  }
  const bool suspends = !config.suspend_program.empty(), resumes = !config.resume_program.empty();
  if (suspends != resumes) {
    out.push_back(fmt::format("{} is set and {} is not: nodes that are powered {} by Slurm stay so",
                              suspends ? "SuspendProgram" : "ResumeProgram",
                              suspends ? "ResumeProgram" : "SuspendProgram",
                              suspends ? "down" : "up"));
  }
  return out;
}

void log_config_problems(const ClusterConfig& config) {
  const std::vector<std::string> problems = unusable_programs(config);
  for (const std::string& problem : problems) log::error("{}", problem);
  for (const std::string& warning : host_warnings(config)) {
    // "ResumeProgram=/x is not there" was said with "ResumeProgram: …"
    const std::string key = warning.substr(0, warning.find('=')) + ": ";
    const bool said = std::ranges::any_of(
        problems, [&](const std::string& problem) { return problem.starts_with(key); });
    if (!said) log::warning("{}", warning);
  }
}

}  // namespace sluice::ctld
