#include "sim/run/job_command.hpp"

#include "common/base/contains.hpp"
#include "common/base/text.hpp"

namespace sluice::sim {

Submissions::Submissions(const ClusterConfig& config, Unit unit) : unit_(unit) {
  for (const PartitionConfig& partition : config.partitions) {
    partitions_.push_back(partition.name);
    for (const std::string& group : partition.allow_groups) {
      if (!contains(groups_, group)) groups_.push_back(group);
    }
  }
}

uint32_t Submissions::uid_of(const std::string& user) {
  constexpr uint32_t kFirst = 100'000;  // nobody that the configuration may name
  return uids_.try_emplace(user, kFirst + static_cast<uint32_t>(uids_.size())).first->second;
}

// Those of the list that are there; none of them: the default one.
std::string Submissions::known_of(const std::string& partitions) const {
  std::vector<std::string> known = split_list(partitions);
  std::erase_if(known, [&](const std::string& name) { return !contains(partitions_, name); });
  return join(known, ",");
}

void Submissions::set_size(const TraceJob& job, JobSpec& spec) const {
  spec.constraint = job.constraint;
  spec.memory_kind = job.memory_kind;
  spec.memory_mib = job.memory_mib;
  if (unit_ == Unit::kNode) {
    spec.min_nodes = spec.max_nodes = job.cpus;
    spec.sharing = Sharing::kExclusive;
  } else {
    spec.num_tasks = job.cpus;
    spec.min_nodes = job.nodes;
  }
  if (!job.gres.empty()) spec.tres_per_job = job.gres;
}

JobSpec Submissions::spec_of(const TraceJob& job) {
  JobSpec spec;
  if (job.spec) spec = *job.spec;
  else set_size(job, spec);
  spec.batch = true;
  spec.user_name = job.user.empty() ? "unknown" : job.user;
  spec.uid = spec.gid = uid_of(job.user);
  // a singleton goes by its name
  if (!job.spec || spec.name.empty()) spec.name = job.id;
  spec.account = job.account;
  spec.partitions = known_of(job.partition);
  spec.time_limit = limit_minutes(job);
  return spec;
}

state::SubmitJob Submissions::command(const TraceJob& job) {
  state::SubmitJob made;
  made.job = spec_of(job);
  for (uint32_t at = 1; at < job.components; ++at)
    made.components.push_back(spec_of(*(&job + at)));  // they stand side by side
  made.who = {made.job.uid, made.job.gid};
  made.groups = groups_;
  return made;
}

}  // namespace sluice::sim
