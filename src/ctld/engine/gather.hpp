// A storm of completions comes as one report a node, or one a step. Those that lie beside each other in
// the engine's inbox become one command: one frame of the journal instead of thousands.
#pragma once

#include <vector>

#include "ctld/engine/engine.hpp"

namespace sluice::engine {

// Reports of one kind (EndSteps, JobsCleaned) in a row as one post that answers all who sent them; the
// order of everything else stays. A post holds no more than `most` reports, unless it came so.
[[nodiscard]] std::vector<Post> gather_reports(std::vector<Post> posts, size_t most = 10'000);

}  // namespace sluice::engine
