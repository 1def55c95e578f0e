// The files by which a node remembers its steps, in <SlurmdSpoolDir>/steps:
//   JOB.STEP.RESTART.key   claimed by the step daemon before it forks anything: at most one start
//   JOB.STEP.RESTART.end   the StepEnded report, once the step is over
//   JOB.STEP.RESTART.sock  where a running step daemon listens for its agent
// and by which a batch script runs, in <SlurmdSpoolDir>/jobJOB.
// Key and end stay until the controller has acknowledged the report. Nothing here is fsynced: the
// files must outlive the death of daemons, not of the host (a new boot id tells the controller
// that whatever ran there is gone).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/stepd_start.hpp"

namespace sluice {

[[nodiscard]] std::string step_file_name(const protocol::StepKey& key);  // without its ending
[[nodiscard]] std::optional<protocol::StepKey> parse_step_file_name(std::string_view name);

class StepSpool {
 public:
  explicit StepSpool(const std::string& spool_dir) : folder_(spool_dir + "/steps") {}

  // Makes the folder, mode 0700. No-op if it is there.
  [[nodiscard]] Status prepare() const;

  // False when the step was claimed before.
  [[nodiscard]] Result<bool> claim(const protocol::StepRecord& record) const;
  [[nodiscard]] bool is_claimed(const protocol::StepKey& key) const;
  // Not flushed: mostly the controller has the report on its own disk before ours would be done.
  [[nodiscard]] Status write_end(const protocol::StepEnded& ended) const;
  // From here on all reports are safe from a crash of the host, too.
  [[nodiscard]] Status sync() const;
  [[nodiscard]] std::optional<protocol::StepEnded> read_end(const protocol::StepKey& key) const;
  // Every claimed step. Error: the folder cannot be read.
  [[nodiscard]] Result<std::vector<protocol::StepKey>> scan() const;
  // The record of a claimed step. A key file that cannot be read (its writer died) gives one with
  // the key alone.
  [[nodiscard]] protocol::StepRecord record_of(const protocol::StepKey& key) const;
  // All files of the step. No-op if there are none.
  void remove(const protocol::StepKey& key) const;

  // A connected or listening Unix socket (non-blocking), or the error. The folder is opened first
  // and named through /proc, for its path may be longer than a socket address holds.
  [[nodiscard]] Result<int> connect(const protocol::StepKey& key) const;
  [[nodiscard]] Result<int> listen(const protocol::StepKey& key) const;
  void remove_socket(const protocol::StepKey& key) const;

 private:
  [[nodiscard]] std::string path(const protocol::StepKey& key, std::string_view ending) const;
  [[nodiscard]] Result<int> open_socket(const protocol::StepKey& key, bool listening) const;

  std::string folder_;
};

// Where the script of a job lies while it runs. The script is the job's user's, the folder is not.
[[nodiscard]] std::string batch_folder(const std::string& spool_dir, JobId job);
// Takes the folder away again, with whatever is in it. No-op if there is none.
void remove_batch_folder(const std::string& spool_dir, JobId job);
inline constexpr const char* kBatchScriptName = "slurm_script";

}  // namespace sluice
