#include "common/config_files/programs.hpp"

#include <cerrno>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/model/config_value.hpp"
#include "common/os/matching_paths.hpp"

namespace sluice {
namespace {

using Why = UnusableProgram::Why;

// It is there, and the user for whom it is looked at may not see more of it: daemons of nodes,
// which run it, are root's.
bool is_roots_own(const std::string& path) {
  struct stat file {};
  return ::geteuid() != 0 && ::stat(path.c_str(), &file) == 0 && file.st_uid == 0 &&
         (file.st_mode & S_IXUSR) != 0;
}

// Of a key whose value is a command line, or a pattern of paths: the first word is the program.
struct Key {
  std::string name;
  std::vector<std::string> values;
  bool of_controller = false;
};

void look_at(const Key& key, const std::string& value, std::vector<UnusableProgram>& out) {
  const std::vector<std::string> words = split_list(value, ' ');
  if (words.empty()) return;
  const auto say = [&](const std::string& path, Why why) {
    out.push_back({key.name, path, why, key.of_controller});
  };
  const std::string& path = words.front();
  if (!path.starts_with('/')) return say(path, Why::kNotAbsolute);
  if (::access(path.c_str(), F_OK) != 0 && errno == EACCES) return;  // not for us to see
  bool any = false;
  for (const std::string& one : matching_paths(path)) {
    if (::access(one.c_str(), F_OK) != 0) continue;
    any = true;
    if (::access(one.c_str(), X_OK) != 0 && !is_roots_own(one)) say(one, Why::kNotExecutable);
  }
  if (!any) say(path, Why::kNotThere);
}

}  // namespace

std::vector<UnusableProgram> unusable_programs(const ClusterConfig& config) {
  const bool reboots = has_option(config.slurmctld_parameters, "reboot_from_controller");
  const Key keys[] = {
      {"SuspendProgram", {config.suspend_program}, true},
      {"ResumeProgram", {config.resume_program}, true},
      {"ResumeFailProgram", {config.resume_fail_program}, true},
      {"RebootProgram", {config.reboot_program}, reboots},
      {"PrologSlurmctld", config.prolog_slurmctld, true},
      {"EpilogSlurmctld", config.epilog_slurmctld, true},
      {"ResvProlog", {config_value(config, "ResvProlog")}, true},
      {"ResvEpilog", {config_value(config, "ResvEpilog")}, true},
      {"MailProg", {config_value(config, "MailProg")}},  // the usual one need not be there
      {"Prolog", config.prolog},
      {"Epilog", config.epilog},
      {"TaskProlog", {config.task_prolog}},
      {"TaskEpilog", {config.task_epilog}},
      {"SrunProlog", {config.srun_prolog}},
      {"SrunEpilog", {config.srun_epilog}},
      {"HealthCheckProgram", {config.health_check_program}},
      {"UnkillableStepProgram", {config.unkillable_step_program}},
  };
  std::vector<UnusableProgram> out;
  for (const Key& key : keys) {
    for (const std::string& value : key.values) look_at(key, value, out);
  }
  return out;
}

std::string sentence_of(const UnusableProgram& program) {
  constexpr std::string_view kWhys[] = {"is no absolute path", "is not there", "cannot be run"};
  return fmt::format("{}={} {}", program.key, program.path,
                     kWhys[static_cast<size_t>(program.why)]);
}

}  // namespace sluice
