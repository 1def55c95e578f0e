#include "dbd/history/numbers.hpp"

namespace sluice::dbd {

void HistoryNumbers::add(protocol::HistoryJob& record) {
  record.association = find_association(record);
  record.wckey = find_wckey(record);
  const std::string qos = record.job.qos.empty() ? "normal" : record.job.qos;
  const auto [known, is_new] = qos_.try_emplace(qos, 0);
  if (is_new) {
    const auto* found = find_qos(*entities_, qos);
    if (found != nullptr) known->second = found->record.id;
  }
  record.qos = known->second;
}

uint32_t HistoryNumbers::find_association(const protocol::HistoryJob& record) {
  const JobHistory& job = record.job;
  const auto [known, is_new] =
      associations_.try_emplace({record.cluster, job.account, job.user, job.partition}, 0);
  if (!is_new) return known->second;
  const auto* found =
      dbd::find_association(*entities_, record.cluster, job.account, job.user, job.partition);
  if (found == nullptr)
    found = dbd::find_association(*entities_, record.cluster, job.account, job.user, "");
  return known->second = found != nullptr ? found->record.id : 0;
}

uint32_t HistoryNumbers::find_wckey(const protocol::HistoryJob& record) const {
  if (record.job.wckey.empty()) return 0;
  for (const auto& [id, stored] : entities_->wckeys) {
    const WckeyRecord& wckey = stored.record;
    if (!stored.deleted && wckey.name == record.job.wckey && wckey.user == record.job.user &&
        wckey.cluster == record.cluster)
      return id;
  }
  return 0;
}

}  // namespace sluice::dbd
