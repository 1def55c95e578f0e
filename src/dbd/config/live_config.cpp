#include "dbd/config/live_config.hpp"

#include <string_view>

namespace sluice::dbd {
namespace {

// As it was written; of a key that is not set, its default.
std::string_view value_of(const DbdConfig& config, const tables::ConfKey<DbdConfig>& row) {
  const auto set = config.values.find(std::string(row.name));
  return set != config.values.end() ? std::string_view(set->second) : row.fallback;
}

}  // namespace

std::vector<std::string> keep_until_restart(const DbdConfig& running, DbdConfig& fresh) {
  std::vector<std::string> changed;
  for (const auto& row : dbd_keys()) {
    if (!row.restart) continue;
    row.copy(running, fresh);
    if (value_of(running, row) == value_of(fresh, row)) continue;
    changed.emplace_back(row.name);
    // the next time it is still another one
    fresh.values[std::string(row.name)] = value_of(running, row);
  }
  // what comes of several keys
  fresh.slurm_user_id = running.slurm_user_id;
  fresh.storage = running.storage;
  return changed;
}

}  // namespace sluice::dbd
