// The configuration from disk: slurm.conf with all it includes, and cgroup.conf, gres.conf and
// others beside it. All that reads a file or asks for a user is here; the rules are in tables/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/config_file.hpp"

namespace sluice {

inline constexpr const char* kUsualConfigPath = "/etc/slurm/slurm.conf";
// On a node whose agent got its configuration from the controller.
inline constexpr const char* kFetchedConfigPath = "/run/slurm/conf/slurm.conf";

// The absolute path to read: `given` (a command's -f) when not empty, else $SLURM_CONF, else the
// usual one.
[[nodiscard]] std::string config_path(std::string_view given = {});

// Nothing says where the configuration is: no file is named (`file`, $SLURM_CONF), and the usual
// one is not there.
[[nodiscard]] bool lacks_config(std::string_view file = {});

// Whom a daemon asks for its configuration in place of reading a file: `given` (--conf-server) when
// not empty, else $SLURM_CONF_SERVER where lacks_config(file). Empty: it reads a file, or looks
// into the DNS (net/srv_records).
[[nodiscard]] std::string config_servers(std::string_view given, std::string_view file);

// What this host knows of the controller before it asks it for its configuration. Nothing of it is
// ever learnt from a peer that has not proved that it is the one.
struct ExpectedController {
  // `user` (--conf-server-user), else $SLURM_CONF_SERVER_USER, else as was proved before, else root
  uint32_t slurm_user = 0;
  std::string auth_type;  // as was proved before; empty: it never was
};
// What was proved before is in the configuration of this host's agent, where one was sent. Errors:
// kInvalidConfig, no such user.
[[nodiscard]] Result<ExpectedController> expected_controller(const std::string& user = {});

// The file that a command reads: $SLURM_CONF, else the usual one, else the one that the agent of
// this host was sent. Empty when none of them can be read.
[[nodiscard]] std::string readable_config_path();

// As load_config(), without nodes, partitions and the files beside slurm.conf: all that a command
// needs to reach the controller, in a time that does not grow with the cluster.
[[nodiscard]] Result<ClusterConfig> load_global_config(const std::string& path);

// Everything at `path`, checked, users' names looked up. kInvalidConfig with `FILE:LINE: …` when it
// cannot be used. `warnings` (may be null) receives what is worth a line in the log.
[[nodiscard]] Result<ClusterConfig> load_config(const std::string& path,
                                                std::vector<std::string>* warnings = nullptr);

// Everything that is wrong with what is at `path`, and what can be made of the rest (slurmctld -t).
// Of this host only users are asked for; one that is not there is a warning. See conf/check for the
// rest.
struct WholeConfig {
  ClusterConfig config;
  std::vector<std::string> errors;  // with file and line where there is one
  std::vector<std::string> warnings;
};
[[nodiscard]] WholeConfig load_whole_config(const std::string& path);

// Of slurm.conf with what it includes, comments and empty lines aside: 16 digits, by which files of
// two hosts are told apart. Empty: it cannot be read.
[[nodiscard]] std::string lines_digest(const std::string& path);

// What is read of the disk for load_config(path): slurm.conf, the files beside it, and what they
// include, as far as this process may read it. `searched` are the folders in which an Include with
// wildcards looks for names.
struct FilesOfConfig {
  std::vector<std::string> files;
  std::vector<std::string> searched;
};
[[nodiscard]] FilesOfConfig files_of_config(const std::string& path);

// The same from files that a controller sent; they include nothing. `path` is where slurm.conf
// stands, or would stand: keys are looked for beside it.
[[nodiscard]] Result<ClusterConfig> load_config(const std::vector<ConfigFile>& files,
                                                const std::string& path,
                                                std::vector<std::string>* warnings = nullptr);

// Keys that stop a start (tables::check_ignored), with the lines on which they stand.
[[nodiscard]] Status check_stopping_keys(const ClusterConfig& config);

// What a node without slurm.conf needs: the file at `path` under the name slurm.conf, and those
// beside it. Where a file includes others their lines stand in it. Errors: what cannot be read, or
// must not be sent (check_config_files).
[[nodiscard]] Result<std::vector<ConfigFile>> read_config_files(const std::string& path);

}  // namespace sluice
