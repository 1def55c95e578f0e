// scontrol update NumNodes= and NodeList= of a running job: it gives nodes back.
#pragma once

#include "common/model/job_update.hpp"
#include "ctld/state/decide/draft.hpp"

namespace sluice::state {

// Whether the update asks a running job for another size.
[[nodiscard]] bool is_resize(const Job& job, const JobUpdate& update);

// The job keeps its first nodes, or those named; what runs of it on the others is ended.
// kTooManyNodes: it has not so many; kJobNotPending: a range, which only waiting jobs have;
// kInvalidNodeName: a node is not the job's, or its batch script's is not among them.
[[nodiscard]] Status shrink_job(Draft& draft, JobId id, const JobUpdate& update, Time now);

// It goes on with those nodes alone that it is to keep (NodeIds); what runs of it on the others is
// over.
void keep_nodes(Draft& draft, JobId job, const Bitmap& keep, Time now);

}  // namespace sluice::state
