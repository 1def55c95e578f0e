// A storm of completions comes as one report a node, or one a step. Those that lie beside each
// other in the engine's inbox become one command: one frame of the journal instead of thousands.
#pragma once

#include <vector>

#include "ctld/engine/post.hpp"

namespace sluice::engine {

// EndSteps, JobsCleaned: what agents say of work that is over.
[[nodiscard]] bool is_report(const state::Command& command);

// Reports in a row as one post of each kind that answers all who sent them, ends before what they
// make clean; the order of everything else stays. A post holds no more than `most` reports, unless
// it came so.
[[nodiscard]] std::vector<Post> gather_reports(std::vector<Post> posts, size_t most = 10'000);

}  // namespace sluice::engine
