// What `sacct --parsable2 --allocations` prints, with its header: the columns may stand in any
// order, and others beside them.
//
//   Submit, and Elapsed or ElapsedRaw, or Start and End              must be there
//   ReqCPUS, NCPUS or AllocCPUS; or ReqTRES (cpu, node, mem, gres/…)  likewise
//   ReqNodes or NNodes; ReqMem; Timelimit or TimelimitRaw; JobID, User, Account, Partition,
//   Constraints                                                      where they are
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace sluice::sim {

// `file` is the name in messages (`FILE:LINE: …`). Steps and jobs that never ran are passed over.
[[nodiscard]] Result<Trace> parse_sacct(std::string_view text, const std::string& file);

}  // namespace sluice::sim
