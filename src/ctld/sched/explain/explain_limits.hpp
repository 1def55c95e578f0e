// Which limit of an association or a QOS holds a job back, whose it is, what is used of it, and
// when it lets the job start: in words.
#pragma once

#include <string>
#include <vector>

#include "ctld/sched/pass_run.hpp"

namespace sluice::sched {

void explain_limit(const state::ClusterState& state, const Job& job, const PassRun::OverLimit& over,
                   Time now, std::vector<std::string>& lines);

}  // namespace sluice::sched
