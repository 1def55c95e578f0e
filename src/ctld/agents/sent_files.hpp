// The configuration files that the controller sends to nodes and commands without any
// (SlurmctldParameters=enable_configless): as they were when the configuration in force was read,
// whatever was done to them since.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/protocol/config_files.hpp"

namespace sluice::ctld {

class SentFiles {
 public:
  struct Files {
    std::shared_ptr<const protocol::FetchConfigReply> sent;  // null: none are
    std::string lines_digest;                                // of slurm.conf
  };

  // Those that `config` was read from, to be sent where it wants that. Errors: a file that cannot
  // be read or is too large.
  [[nodiscard]] static Result<Files> read(const ClusterConfig& config);

  // A change of the configuration as a whole, from reading it to its being in force or refused. A
  // second one waits until the first is over: else it could put back what that one has just
  // replaced.
  [[nodiscard]] Status change(const std::function<Status()>& whole);

  // Gives what was there before.
  Files replace(Files files);
  [[nodiscard]] Files get() const;
  [[nodiscard]] std::string digest() const;  // empty: none are sent

 private:
  std::mutex changing_;
  mutable std::mutex mutex_;
  Files files_;  // guarded by mutex_
};

}  // namespace sluice::ctld
