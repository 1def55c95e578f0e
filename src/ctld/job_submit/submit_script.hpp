// JobSubmitPlugins=lua: job_submit.lua, beside slurm.conf, looks at jobs before anybody else does,
// changes what they ask for, refuses them and has words for their users. Functions, fields and
// constants are those of Slurm's plugin. The script is read again once its file has changed.
//
// Unlike in Slurm a script that fails refuses the job: what a site wants checked is not passed
// over.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "common/model/job_update.hpp"
#include "ctld/job_submit/lua_script.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/messages/commands.hpp"
#include "ctld/state/rules/access.hpp"

namespace sluice::ctld {

// Beside that slurm.conf.
[[nodiscard]] std::string submit_script_path(const ClusterConfig& config);
// Whether the script that this configuration wants, if any, can be run.
[[nodiscard]] Status check_submit_script(const ClusterConfig& config);

// Any thread; scripts run one at a time.
class SubmitScript {
 public:
  [[nodiscard]] static bool is_wanted(const ClusterConfig& config);
  // Reads the script that this configuration wants, if any: what was read before stays where that
  // fails.
  [[nodiscard]] Status prepare(const ClusterConfig& config);

  // What the user of a submission is told. `script` and `environment` are the first component's. An
  // error carries its code and, before the sentence of one that has none, lines for the user.
  [[nodiscard]] Result<std::vector<std::string>> submit(const state::ClusterState& state,
                                                        state::SubmitJob& command,
                                                        std::string& script,
                                                        std::string& environment);
  // `job` is the one that is changed.
  [[nodiscard]] Status modify(const state::ClusterState& state, const state::FoundJob& job,
                              state::UpdateJob& command);

 private:
  [[nodiscard]] Status read(const ClusterConfig& config);
  // The latest one that could be read.
  [[nodiscard]] Result<LuaScript*> script_for(const ClusterConfig& config);
  // Calls the function with these tables and, behind them, the partitions of the job's owner. What
  // is wrong with the script is in the log, and no user's business.
  [[nodiscard]] Result<LuaScript::Answer> ask(const state::ClusterState& state,
                                              const char* function, std::vector<LuaFields*> tables,
                                              const state::Submitter& owner, uint32_t user);
  struct Component {
    JobSpec& spec;
    std::string& script;
    std::string& environment;
    std::string prefix;  // of its lines, of several components: "1: "
  };
  [[nodiscard]] Status run_script(const state::ClusterState& state, const state::SubmitJob& command,
                                  const Component& component, std::vector<std::string>& messages);

  std::mutex mutex_;
  std::unique_ptr<LuaScript> script_;
  std::string path_;
  struct stat read_ {};     // as the file was that script_ was read from
  struct stat refused_ {};  // as it was when it could not be
};

}  // namespace sluice::ctld
