// The highest job number that was to run on this node, kept in its spool: files of jobs go when
// those are over, and a controller whose state was put back from a backup would give their ids
// again. Written before anything of the job begins. Not flushed, as the files of steps are not.
#pragma once

#include <string>

#include "common/base/result.hpp"
#include "common/protocol/node_reports.hpp"

namespace sluice::noded {

class LastJob {
 public:
  // Reads what the folder keeps; a file that says nothing counts as none.
  explicit LastJob(std::string spool_dir);
  LastJob(const LastJob&) = delete;
  LastJob& operator=(const LastJob&) = delete;
  ~LastJob();

  [[nodiscard]] const protocol::JobNumber& number() const { return number_; }
  // Error: it cannot be kept; the job is not to begin then. No-op for one that is not higher, and
  // outside of jobs.
  [[nodiscard]] Status note(const protocol::JobNumber& number);
  void forget();  // slurmd -c

 private:
  std::string path_;
  int fd_ = -1;  // opened by the first job
  protocol::JobNumber number_;
};

}  // namespace sluice::noded
