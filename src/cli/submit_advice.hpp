// Advice at submission: what the last runs of a job like this used of what it asks for.
#pragma once

#include "common/base/ids.hpp"

namespace sluice {
struct ClusterConfig;
}

namespace sluice::cli {

// On stderr, where stdout and stderr are a terminal, and nobody has switched it off
// (SluiceParameters=submit_advice=no, SLUICE_ADVICE=no). The accounting daemon is asked, and waited
// for 200 ms at most.
void tell_advice(const ClusterConfig& config, JobId job);

}  // namespace sluice::cli
