// What an agent keeps of a job's run for the agent after it: that its epilog is to run, and what is
// known of its prolog. A file for each, JOB.RESTART in a folder of the spool.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/noded.hpp"
#include "noded/process/process_mark.hpp"

namespace sluice::noded {

// The numbers are in the files. One without a number is of an agent that did not keep it, and took
// every prolog for passed.
enum class PrologOutcome : uint32_t { kPassed, kUnknown, kFailed };

struct KeptJob : protocol::RunPrologRequest {
  PrologOutcome prolog = PrologOutcome::kPassed;  // kUnknown: it began
  int32_t prolog_status = 0;                      // as wait(2) gives it
  Time prolog_ended = kNoTime;
  ProcessMark script;  // of its prolog or epilog, the one that runs
  template <class V>
  static void describe(V&& field) {
    RunPrologRequest::describe(field);
    field(100, "prolog", &KeptJob::prolog);
    field(101, "prolog_status", &KeptJob::prolog_status);
    field(102, "script", &KeptJob::script);
    field(103, "prolog_ended", &KeptJob::prolog_ended);
  }
};

class KeptJobs {
 public:
  explicit KeptJobs(std::string folder) : folder_(std::move(folder)) {}

  // Replaces what was kept of this run: a reader finds the old or the new one.
  [[nodiscard]] Status store(const KeptJob& job) const;
  // No-op when nothing is kept.
  void remove(JobId job, uint32_t restart) const;
  // What cannot be read is left out.
  [[nodiscard]] std::vector<KeptJob> load() const;

 private:
  [[nodiscard]] std::string path(JobId job, uint32_t restart) const;

  std::string folder_;
};

}  // namespace sluice::noded
