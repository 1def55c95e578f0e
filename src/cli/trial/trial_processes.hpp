// Which processes belong to the cluster of a folder, however they were started and whatever became
// of the folder since.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

// The folder as it was named, and where that leads through links.
class TrialFolder {
 public:
  explicit TrialFolder(const std::string& dir);
  [[nodiscard]] bool holds(std::string_view path) const;    // is it below the folder?
  [[nodiscard]] bool is_conf(std::string_view path) const;  // is it the folder's slurm.conf?

 private:
  std::vector<std::string> places_;  // each ends in '/'
};

struct TrialProcess {
  pid_t pid;
  std::string name;
  [[nodiscard]] bool is_step() const { return name.ends_with("stepd"); }
};

// Controllers, agents and step daemons whose configuration is in the folder, or that hold a file of
// it.
[[nodiscard]] std::vector<TrialProcess> daemons_of(const TrialFolder& folder);
// Whether it was started with the slurm.conf of the folder itself.
[[nodiscard]] bool runs_from_conf_of(const TrialProcess& daemon, const TrialFolder& folder);
// Kills step daemons, each with all that runs below it: nobody is left to do it for them. Gives
// what ran below, which may take a moment to be gone.
std::vector<pid_t> end_steps(const std::vector<TrialProcess>& steps);
// Gone, or waiting for its parent to take notice.
[[nodiscard]] bool is_over(pid_t pid);
// Kills what jobs of the cluster left behind when their step daemon was killed before them; gives
// them.
std::vector<pid_t> end_tasks_of(const TrialFolder& folder);

}  // namespace sluice::cli
