#include "common/config_files/programs.hpp"

#include <cerrno>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.hpp"
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

class Programs {
 public:
  explicit Programs(std::vector<UnusableProgram>& out) : out_(out) {}
  // Of a command line, or a pattern of paths; the first word is the program.
  void add(std::string_view key, const std::string& value, bool of_controller = false) {
    const std::vector<std::string> words = split_list(value, ' ');
    if (words.empty()) return;
    const auto say = [&](const std::string& path, Why why) {
      out_.push_back({std::string(key), path, why, of_controller});
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
  void add_each(std::string_view key, const std::vector<std::string>& values,
                bool of_controller = false) {
    for (const std::string& value : values) add(key, value, of_controller);
  }

 private:
  std::vector<UnusableProgram>& out_;
};

}  // namespace

std::vector<UnusableProgram> unusable_programs(const ClusterConfig& config) {
  std::vector<UnusableProgram> out;
  Programs programs(out);
  programs.add("SuspendProgram", config.suspend_program, true);
  programs.add("ResumeProgram", config.resume_program, true);
  programs.add("ResumeFailProgram", config.resume_fail_program, true);
  programs.add("RebootProgram", config.reboot_program,
               has_option(config.slurmctld_parameters, "reboot_from_controller"));
  programs.add_each("PrologSlurmctld", config.prolog_slurmctld, true);
  programs.add_each("EpilogSlurmctld", config.epilog_slurmctld, true);
  for (const char* key : {"ResvProlog", "ResvEpilog", "MailProg"}) {
    if (const auto set = config.values.find(key); set != config.values.end())
      programs.add(key, set->second, *key == 'R');
  }
  programs.add_each("Prolog", config.prolog);
  programs.add_each("Epilog", config.epilog);
  programs.add("TaskProlog", config.task_prolog);
  programs.add("TaskEpilog", config.task_epilog);
  programs.add("SrunProlog", config.srun_prolog);
  programs.add("SrunEpilog", config.srun_epilog);
  programs.add("HealthCheckProgram", config.health_check_program);
  programs.add("UnkillableStepProgram", config.unkillable_step_program);
  return out;
}

std::string sentence_of(const UnusableProgram& program) {
  const std::map<Why, std::string_view> whys = {{Why::kNotAbsolute, "is no absolute path"},
                                                {Why::kNotThere, "is not there"},
                                                {Why::kNotExecutable, "cannot be run"}};
  return fmt::format("{}={} {}", program.key, program.path, whys.at(program.why));
}

}  // namespace sluice
