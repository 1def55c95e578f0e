// Compares configurations key by key and line by line.
#include "common/config/conf_diff.hpp"

#include <unordered_map>

#include "common/config/keys/conf_keys.hpp"
#include "common/config/keys/conf_value.hpp"

namespace sluice::tables {
namespace {

// A key's value in one spelling, so that `yes` and `1`, or a default written out, are no change.
std::string effective(const GlobalKey& row, const ClusterConfig& config) {
  const auto set = config.values.find(std::string(row.name));
  const std::string_view text =
      set != config.values.end() ? std::string_view(set->second) : row.fallback;
  if (row.repeated || text.empty()) return std::string(text);
  const std::optional<ConfValue> value = parse_conf_value(rule_of(row), text);
  if (!value) return std::string(text);
  switch (row.kind) {
    case ConfKind::kTimeLimit:
    case ConfKind::kTimeSpan: return std::to_string(value->span.count());
    case ConfKind::kNumber:
    case ConfKind::kBool:
    case ConfKind::kFlag:
    case ConfKind::kSeconds:
    case ConfKind::kMinutes:
    case ConfKind::kMicroseconds:
    case ConfKind::kMilliseconds:
    case ConfKind::kMemory: return std::to_string(value->number);
    default: return value->text;
  }
}

template <class Line>
void compare_lines(const std::vector<Line>& before, const std::vector<Line>& after,
                   std::vector<std::string>& added, std::vector<std::string>& removed,
                   std::vector<std::string>& changed) {
  std::unordered_map<std::string, const Line*> old;
  for (const Line& line : before) old.emplace(line.name, &line);
  for (const Line& line : after) {
    const auto found = old.find(line.name);
    if (found == old.end()) {
      added.push_back(line.name);
      continue;
    }
    if (!(*found->second == line)) changed.push_back(line.name);
    found->second = nullptr;
  }
  for (const Line& line : before) {
    if (old[line.name]) removed.push_back(line.name);
  }
}

}  // namespace

ConfigChanges config_changes(const ClusterConfig& before, const ClusterConfig& after) {
  ConfigChanges changes;
  for (const GlobalKey& row : global_keys()) {
    if (row.kind == ConfKind::kRuntime || effective(row, before) == effective(row, after)) continue;
    changes.keys.emplace_back(row.name);
    if (row.restart) changes.need_restart.emplace_back(row.name);
  }
  compare_lines(before.nodes, after.nodes, changes.nodes_added, changes.nodes_removed,
                changes.nodes_changed);
  compare_lines(before.partitions, after.partitions, changes.partitions_added,
                changes.partitions_removed, changes.partitions_changed);
  return changes;
}

void keep_until_restart(const ClusterConfig& running, ClusterConfig& fresh) {
  for (const GlobalKey& row : global_keys()) {
    if (!row.restart) continue;
    const std::string name(row.name);
    if (row.copy) row.copy(running, fresh);
    const auto set = running.values.find(name);
    if (set != running.values.end()) fresh.values[name] = set->second;
    else fresh.values.erase(name);
  }
  // keys with more than one member
  fresh.controllers = running.controllers;
  fresh.slurmctld_port = running.slurmctld_port;
  fresh.slurmctld_port_count = running.slurmctld_port_count;
  fresh.slurm_user_id = running.slurm_user_id;
  fresh.slurmd_user_id = running.slurmd_user_id;
}

}  // namespace sluice::tables
