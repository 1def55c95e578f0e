// The durable part of the state for checkpoints, and the derived part made from it.
#include <unordered_map>

#include "ctld/state/core/charging.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/core/deep_equal.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/core/indexes.hpp"
#include "ctld/state/core/triggers.hpp"

namespace sluice::state {
namespace {

// Tasks of an array have one spec in memory, unless theirs was changed alone.
void share_spec(Job& job, std::shared_ptr<const JobSpec>& shared) {
  std::string path;
  if (shared != nullptr && deep_equal(*job.spec, *shared, path)) job.spec = shared;
  else shared = job.spec;
}

Accounting accounting_from(const AccountingImage& image) {
  Accounting accounting;
  const AccountingRecords& records = image.records;
  accounting.version = records.version;
  accounting.tres = std::make_shared<TresTable>(records.tres);
  auto accounts = std::make_shared<AccountTable>();
  for (const AccountRecord& account : records.accounts) accounts->emplace(account.name, account);
  accounting.accounts = std::move(accounts);
  auto users = std::make_shared<UserTable>();
  for (const AccountingUser& user : image.users) users->emplace(user.record.name, user);
  accounting.users = std::move(users);
  const auto copy = [](const auto& list, auto& table) {
    for (const auto& record : list) table.insert(record.id, record);
  };
  copy(records.associations, accounting.associations);
  copy(records.qos, accounting.qos);
  copy(records.wckeys, accounting.wckeys);
  copy(image.associations, accounting.association_usage);
  copy(image.qos, accounting.qos_usage);
  accounting.charged = image.charged;
  accounting.reset = image.reset;
  auto gone = std::make_shared<GoneUsage>();
  for (const GoneUsageImage& one : image.gone_associations)
    gone->associations[one.name] = {one.usage, one.decays, one.parent};
  for (const GoneUsageImage& one : image.gone_qos)
    gone->qos[one.name] = {one.usage, one.decays, {}};
  accounting.gone_usage = std::move(gone);
  return accounting;
}

}  // namespace

AccountingImage make_accounting_image(const Accounting& accounting) {
  AccountingImage image;
  AccountingRecords& records = image.records;
  records.version = accounting.version;
  records.tres = *accounting.tres;
  for (const auto& [name, account] : *accounting.accounts) records.accounts.push_back(account);
  for (const auto& [name, user] : *accounting.users) image.users.push_back(user);
  const auto copy = [](const auto& table, auto& out) {
    table.for_each([&](const auto& record) { out.push_back(record); });
  };
  copy(accounting.associations, records.associations);
  copy(accounting.qos, records.qos);
  copy(accounting.wckeys, records.wckeys);
  copy(accounting.association_usage, image.associations);
  copy(accounting.qos_usage, image.qos);
  image.charged = accounting.charged;
  image.reset = accounting.reset;
  for (const auto& [name, one] : accounting.gone_usage->associations)
    image.gone_associations.push_back({name, one.usage, one.decays, one.parent});
  for (const auto& [name, one] : accounting.gone_usage->qos)
    image.gone_qos.push_back({name, one.usage, one.decays, {}});
  return image;
}

StateImage make_image(const ClusterState& state) {
  StateImage image;
  image.cluster_id = state.cluster_id;
  image.epoch = state.epoch;
  image.epoch_start = state.epoch_start;
  image.config = state.config;
  image.next_node_id = state.next_node_id;
  image.next_job_id = state.next_job_id;
  image.job_id_round = state.job_id_round;
  image.credential_key = state.credential_key;
  image.credential_key_changed = state.credential_key_changed;
  image.nodes.reserve(state.nodes.size());
  state.nodes.for_each([&](const Node& node) { image.nodes.push_back(node); });
  for (const Partition& partition : *state.partitions) {
    image.partitions.push_back(partition.config);
  }
  image.jobs.reserve(state.jobs.size());
  state.jobs.for_each([&](const Job& job) { image.jobs.push_back(job); });
  image.folded = make_folded_images(state);
  image.triggers = *state.triggers;
  image.next_trigger_id = state.next_trigger_id;
  for (const auto& [uid, crontab] : *state.crontabs) image.crontabs.push_back(crontab);
  image.reservations = *state.reservations;
  image.next_reservation_id = state.next_reservation_id;
  for (const auto& [uid, groups] : *state.user_groups) image.user_groups.push_back({uid, groups});
  image.accounting = make_accounting_image(state.accounting);
  return image;
}

ClusterState from_image(const StateImage& image) {
  ClusterState state;
  state.cluster_id = image.cluster_id;
  state.epoch = image.epoch;
  state.epoch_start = image.epoch_start;
  if (image.config != nullptr) state.config = image.config;
  state.next_node_id = image.next_node_id;
  state.next_job_id = image.next_job_id;
  state.job_id_round = image.job_id_round;
  state.credential_key = image.credential_key;
  state.credential_key_changed = image.credential_key_changed;
  for (const Node& node : image.nodes) state.nodes.insert(node.id, node);
  auto partitions = std::make_shared<Partitions>();
  for (const auto& config : image.partitions) partitions->push_back(Partition{.config = config});
  state.partitions = std::move(partitions);
  std::unordered_map<JobId, std::shared_ptr<const JobSpec>> specs;  // by array
  for (const Job& job : image.jobs) {
    Job& made = state.jobs.insert(job.id, job);
    if (made.array != nullptr) share_spec(made, specs[made.array->array_job]);
  }
  restore_folded(state, image.folded);
  state.triggers = CowPtr<Triggers>::make(image.triggers);
  state.next_trigger_id = image.next_trigger_id;
  auto crontabs = std::make_shared<Crontabs>();
  for (const Crontab& crontab : image.crontabs) crontabs->emplace(crontab.uid, crontab);
  state.crontabs = std::move(crontabs);
  state.reservations = std::make_shared<Reservations>(image.reservations);
  state.next_reservation_id = image.next_reservation_id;
  auto groups = std::make_shared<GroupsByUser>();
  for (const UserGroups& user : image.user_groups) groups->emplace(user.uid, user.groups);
  state.user_groups = std::move(groups);
  state.accounting = accounting_from(image.accounting);
  rebuild_derived(state);
  return state;
}

void rebuild_derived(ClusterState& state) {
  rebuild_names(state.accounting);
  state.accounting.held = {};
  refresh_shares(state);
  rebuild_node_names(state);
  rebuild_trigger_nodes(state);
  auto partitions = std::make_shared<Partitions>();
  for (const Partition& partition : *state.partitions) {
    partitions->push_back(make_partition(state, partition.config));
  }
  state.partitions = std::move(partitions);

  for (CowIdSet* index : {&state.pending, &state.waiting, &state.age_limited, &state.active,
                          &state.group_alone, &state.finished}) {
    index->clear();
  }
  state.names.clear();
  state.arrays.clear();
  state.requests.clear();
  state.job_count = 0;
  state.heavy_texts = std::make_shared<HeavyTexts>();
  for (uint32_t id = state.nodes.next_id(0); id != CowTable<Node>::kNone;
       id = state.nodes.next_id(id + 1)) {
    Node& node = state.nodes.edit(id);
    node.used_cores.clear();
    node.used_cpus = node.running_jobs = node.completing_jobs = 0;
    node.used_memory_mib = 0;
    node.used_gres.reset();
    if (node.config != nullptr) refresh_gres(node);
    node.jobs.clear();
    node.exclusive = node.shared_cores = false;
  }
  for (uint32_t id = state.jobs.next_id(0); id != CowTable<Job>::kNone;
       id = state.jobs.next_id(id + 1)) {
    const Job& job = state.jobs.at(id);
    index_job(state, job);
    if (place_of(job).kind == JobPlace::Kind::kActive) occupy_nodes(state, job);
  }
  rebuild_folded(state);
}

std::vector<std::string> live_blobs(const ClusterState& state) {
  std::vector<std::string> blobs;
  const auto keep = [&](const SharedText& blob) {
    if (!blob.empty()) blobs.push_back(blob.str());
  };
  const auto keep_all = [&](const Job& job) {
    keep(job.spec->script_blob);
    keep(job.spec->environment_blob);
    for (const auto& step : job.steps) {
      if (step->spec != nullptr) keep(step->spec->environment_blob);
    }
  };
  state.jobs.for_each(keep_all);
  const Job* last = nullptr;
  state.folded.for_each([&](const FoldedTask& task) {
    if (task.model.get() != last) keep_all(*task.model);
    last = task.model.get();
  });
  return blobs;
}

}  // namespace sluice::state
