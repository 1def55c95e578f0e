// libpmix's calls for what tasks publish, and for groups that they form: taken on its thread,
// handed to the server.
#pragma once

#include <vector>

#include <pmix_server.h>

namespace sluice::stepd {

void add_pmix_exchange(pmix_server_module_t& module);

// The ranks that are meant; none: all of the step. False when some are of another step.
[[nodiscard]] bool pmix_ranks(const pmix_proc_t procs[], size_t count,
                              std::vector<pmix_rank_t>& out);

}  // namespace sluice::stepd
