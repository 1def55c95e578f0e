// sacctmgr add, modify and delete qos, which is for administrators.
#include "common/accounting/limit_fields.hpp"
#include "dbd/entities/draft.hpp"

namespace sluice::dbd {

using protocol::AccountingSettings;
using protocol::NameSet;
using protocol::SetChange;

namespace {

bool set_preempt(Draft& draft, QosRecord& record) {
  for (const NameSet& set : draft.settings().preempt) {
    if (set.change == SetChange::kReplace) record.preempt.clear();
    for (const std::string& name : set.names) {
      const Stored<QosRecord>* other = find_qos(draft.now, name);
      if (other == nullptr) return draft.refuse(fmt::format(" The qos '{}' does not exist.", name));
      const QosId id = other->record.id;
      std::erase(record.preempt, id);
      if (set.change == SetChange::kRemove) continue;
      record.preempt.insert(std::upper_bound(record.preempt.begin(), record.preempt.end(), id), id);
    }
  }
  return true;
}

// True where `id` preempts itself by way of others.
bool in_circle(const Entities& entities, QosId id) {
  std::vector<QosId> todo = entities.qos.at(id).record.preempt;
  std::vector<QosId> seen;
  while (!todo.empty()) {
    const QosId at = todo.back();
    todo.pop_back();
    if (at == id) return true;
    if (has(seen, at)) continue;
    seen.push_back(at);
    const auto it = entities.qos.find(at);
    if (it == entities.qos.end() || it->second.deleted) continue;
    todo.insert(todo.end(), it->second.record.preempt.begin(), it->second.record.preempt.end());
  }
  return false;
}

bool set_qos(Draft& draft, QosId id) {
  const AccountingSettings& settings = draft.settings();
  QosRecord& record = draft.now.qos[id].record;
  if (settings.description) record.description = *settings.description;
  for (const protocol::FlagSet& set : settings.qos_flags) {
    if (set.change == SetChange::kReplace) record.flags = set.flags;
    else if (set.change == SetChange::kAdd) record.flags |= set.flags;
    else record.flags &= ~set.flags;
  }
  if (settings.preempt_mode) record.preempt_mode = *settings.preempt_mode;
  for (const protocol::LimitSetting& limit : settings.limits) {
    const accounting::LimitRow& row = accounting::limit_row(limit.field);
    if (row.qos == nullptr)
      return draft.refuse(fmt::format(" {} is no limit of a QOS.", row.association));
    accounting::set_limit(accounting::limit_of(record, limit.field), limit);
  }
  if (!set_preempt(draft, record)) return false;
  if (in_circle(draft.now, id))
    return draft.refuse(
        "sacctmgr: error: QOS Preemption loop detected\n"
        " Error with request: QOS Preemption loop detected");
  return true;
}

bool of_qos(const QosRecord& record, const protocol::AccountingConditions& where) {
  return listed(where.names, record.name) && listed(where.descriptions, record.description) &&
         (where.ids.empty() || has(where.ids, record.id));
}

}  // namespace

bool add_qos(Draft& draft) {
  const AccountingSettings& settings = draft.settings();
  if (draft.where().names.empty()) return draft.refuse(" Need name of qos to add.");
  if (!draft.is_administrator()) return draft.deny();
  std::string names;
  for (const std::string& name : draft.where().names) {
    if (find_qos(draft.now, name) != nullptr) continue;
    QosId id = 1;
    for (const auto& [other, stored] : draft.now.qos) {
      if (stored.record.name == name) {
        id = other;
        break;
      }
      id = std::max(id, other + 1);
    }
    QosRecord record;
    record.id = id;
    record.name = name;
    record.description = settings.description.value_or(name);
    draft.now.qos[id] = {record, false};
    if (!set_qos(draft, id)) return false;
    names += "  " + name + "\n";
    draft.reply.changed.push_back(name);
    draft.log("Add QOS", name, qos_info(draft.now, draft.now.qos[id].record, draft.when()));
  }
  if (names.empty()) return draft.nothing(" Nothing new added.");
  draft.reply.shown = " Adding QOS(s)\n" + names + " Settings\n";
  draft.reply.shown += fmt::format("  {:<15}= {}\n", "Description",
                                   settings.description.value_or(draft.where().names.back()));
  draft.reply.shown += qos_settings(draft.now, settings);
  return true;
}

bool modify_qos(Draft& draft) {
  const AccountingSettings& settings = draft.settings();
  if (!settings.description && settings.qos_flags.empty() && !settings.preempt_mode &&
      settings.limits.empty() && settings.preempt.empty())
    return draft.refuse(" You didn't give me anything to set");
  if (!draft.is_administrator()) return draft.deny();
  std::vector<QosId> ids;
  for (const auto& [id, stored] : draft.now.qos)
    if (!stored.deleted && of_qos(stored.record, draft.where())) ids.push_back(id);
  if (ids.empty()) return draft.nothing(" Nothing modified");
  for (const QosId id : ids)
    if (!set_qos(draft, id)) return false;
  draft.show(" Modified qos...");
  for (const QosId id : ids) {
    const std::string& name = draft.now.qos[id].record.name;
    draft.changed(name);
    draft.log("Modify QOS", fmt::format("(name='{}')", name), settings_info(draft.now, settings));
  }
  return true;
}

bool delete_qos(Draft& draft) {
  if (!draft.is_administrator()) return draft.deny();
  std::vector<QosId> ids;
  std::string defaults;
  for (const auto& [id, stored] : draft.now.qos)
    if (!stored.deleted && of_qos(stored.record, draft.where())) ids.push_back(id);
  if (ids.empty()) return draft.nothing(" Nothing deleted");
  for (const auto& [id, stored] : draft.now.associations) {
    const QosId by_default = stored.deleted ? 0 : stored.record.default_qos;
    if (by_default != 0 && has(ids, by_default))
      defaults += fmt::format("  DefQOS = {:<10} {}\n", draft.now.qos[by_default].record.name,
                              modified_line(draft.now, stored.record));
  }
  if (!defaults.empty())
    return draft.refuse(" Associations listed below have these as their Default QOS.\n" + defaults +
                        " Please either remove the qos' listed above from list and resubmit,\n"
                        " or change the default qos to remove the qos.\n"
                        " Changes Discarded");
  draft.show(" Deleting QOS(s)...");
  for (const QosId id : ids) {
    Stored<QosRecord>& gone = draft.now.qos[id];
    gone.deleted = true;
    draft.changed(gone.record.name);
    draft.log("Remove QOS", fmt::format("(name='{}')", gone.record.name), "");
    for (auto& [other, stored] : draft.now.qos) std::erase(stored.record.preempt, id);
    for (auto& [association, stored] : draft.now.associations) {
      std::erase(stored.record.qos, id);
      std::erase(stored.qos_delta, static_cast<int64_t>(id));
      std::erase(stored.qos_delta, -static_cast<int64_t>(id));
    }
  }
  return true;
}

}  // namespace sluice::dbd
