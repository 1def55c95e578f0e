#include "ctld/state/decide/job/update_limits.hpp"

#include <algorithm>

#include "ctld/state/core/charging.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/limits/accounts.hpp"
#include "ctld/state/rules/access.hpp"

namespace sluice::state {
namespace {

AdminSet values_of(const JobUpdate& u) {
  AdminSet set = 0;
  if (u.time_limit || u.end) set |= kAdminSetTime;
  if (u.num_tasks || u.cpus_per_task || u.min_cpus || u.max_cpus || u.min_cpus_per_node ||
      u.cpus_per_gpu)
    set |= kAdminSetCpus;
  if (u.memory_per_node_mib || u.memory_per_cpu_mib || u.memory_per_gpu_mib) set |= kAdminSetMemory;
  if (u.min_nodes || u.max_nodes) set |= kAdminSetNodes;
  if (u.gres || u.tres_per_job || u.tres_per_socket || u.tres_per_task) set |= kAdminSetGres;
  if (u.licenses) set |= kAdminSetLicenses;
  if (u.qos) set |= kAdminSetQos;
  return set;
}

}  // namespace

AdminSet admin_set_after(const ClusterState& state, const Job& job, const JobUpdate& update,
                         uint32_t by) {
  const AdminSet values = values_of(update);
  const Enforced rules = enforced(*state.config);
  const bool by_admin = (rules.limits || rules.qos) && is_operator(state, by);
  return by_admin ? job.admin_set | values : job.admin_set & ~values;
}

Result<std::shared_ptr<const JobAccount>> changed_account(const ClusterState& state, const Job& job,
                                                          const JobUpdate& update, uint32_t by,
                                                          JobSpec& spec) {
  // a QOS may ask for a reservation (RequiresReservation)
  const bool moves = update.reservation && job.state == JobState::kPending;
  if (!update.account && !update.qos && !update.wckey && !update.partitions && !moves)
    return nullptr;
  // none is no name for the default one: a script's variable may not have been set
  const Enforced rules = enforced(*state.config);
  if (update.account && update.account->empty() && rules.associations)
    return failure(ErrorCode::kInvalidAccount);
  if (update.wckey && update.wckey->empty() && rules.wckeys)
    return failure(ErrorCode::kError, "Invalid wckey specification");
  const auto partitions = find_partitions(state, spec);
  if (!partitions) return failure(partitions.error().code);
  // it need not be let into the QOS of soft_limit_qos, in which it may run
  const bool softly = runs_softly(job.account.get()) && !update.qos;
  const SharedText runs_in = spec.qos;
  if (softly) spec.qos = job.account->own_qos;
  auto account = resolve_account(state, spec, *partitions, is_operator(state, by));
  if (softly) {
    spec.qos = runs_in;
    if (account) return nullptr;
  }
  if (!account || job.state == JobState::kPending || *account == nullptr) return account;
  const QosId before = job.account == nullptr ? 0 : job.account->qos;
  if ((*account)->qos != before) return failure(ErrorCode::kJobNotPending);
  return nullptr;
}

Status check_move(const ClusterState& state, const Job& job, const JobAccount* account, uint32_t by,
                  JobSpec& spec, Time now) {
  const bool stays = job.account != nullptr && account != nullptr && *job.account == *account &&
                     spec.partitions == job.spec->partitions;
  if (account == nullptr || stays) return {};
  const auto partitions = find_partitions(state, spec);
  if (!partitions) return failure(partitions.error().code);
  const Submission submission{.account = account,
                              .partitions = *partitions,
                              .count = std::max(counted(job).submit, 1U),
                              .moved = &job,
                              .admin_set = job.admin_set};
  if (check_submit_limits(state, submission, spec, now) || is_operator(state, by)) return {};
  return failure(ErrorCode::kMaxSubmitLimit);  // Slurm names no limit here
}

}  // namespace sluice::state
