// A job enters the state.
#include "ctld/state/apply/verbs.hpp"
#include "ctld/state/core/indexes.hpp"
#include "ctld/state/core/share_texts.hpp"

namespace sluice::state {

void note_job_id(ClusterState& state, JobId id) {
  const bool last = id >= state.config->max_job_id;
  // below: the search for a free one went round
  if (last || id < state.next_job_id) ++state.job_id_round;
  state.next_job_id = last ? state.config->first_job_id : id + 1;
}

void apply_event(ClusterState& state, const JobSubmitted& event) {
  SLUICE_CHECK(event.job.spec != nullptr && event.job.state == JobState::kPending);
  Job job = event.job;
  const Job* before = state.jobs.find(job.id - 1);
  if (before != nullptr) job.spec = share_texts(*job.spec, *before->spec);
  note_job_id(state, job.id);
  index_job(state, state.jobs.insert(event.job.id, std::move(job)));
}

}  // namespace sluice::state
