// The text of slurmdbd.conf: what its keys are set to.
#include <algorithm>

#include <fmt/format.h>

#include "common/config/conf_assign.hpp"
#include "dbd/config/dbd_config.hpp"

namespace sluice::dbd {
namespace {

void set_defaults(DbdConfig& config) {
  for (const auto& row : dbd_keys()) {
    if (row.set == nullptr || row.fallback.empty()) continue;
    const auto value = tables::parse_conf_value(tables::rule_of(row), row.fallback);
    if (value) row.set(config, *value);
  }
}

Status assign(const std::vector<tables::ConfLine>& lines, DbdConfig& config) {
  const auto keys = dbd_keys();
  tables::ConfErrors errors;
  for (const tables::ConfLine& line : lines) {
    std::vector<tables::ConfPair> pairs;
    errors.add(tables::read_conf_pairs(line, pairs));
    for (const tables::ConfPair& pair : pairs) {
      if (const auto* row = tables::find_key(keys, pair.key)) {
        errors.add(tables::assign_pair(line, pair, *row, config, "", config.without_effect));
        config.places[std::string(row->name)] = fmt::format("{}:{}", line.file, line.number);
        config.values[std::string(row->name)] = pair.value;
      } else {
        errors.add(
            tables::conf_failure(line, fmt::format("unknown key \"{}\"{}", pair.key,
                                                   tables::did_you_mean_key(pair.key, keys))));
      }
    }
  }
  return errors.status();
}

Status check(const DbdConfig& config) {
  const auto bad = [&](std::string_view text) {
    return failure(ErrorCode::kInvalidConfig, fmt::format("{}: {}", config.path, text));
  };
  if (config.host.empty()) return bad("DbdHost is wanted");
  if (!config.backup_host.empty() && config.storage_type == kSqliteStorage)
    return bad("DbdBackupHost needs a database that both hosts reach; a file of SQLite is none");
  return {};
}

}  // namespace

std::string place_of(const DbdConfig& config, const std::string& key) {
  const auto place = config.places.find(key);
  return place == config.places.end() ? config.path : place->second;
}

Result<DbdConfig> parse_dbd_config(const tables::ConfSource& source,
                                   const tables::ConfInclude& include) {
  DbdConfig config;
  config.path = source.file;
  set_defaults(config);
  const auto lines = tables::conf_lines(source, include);
  if (!lines) return tl::unexpected(lines.error());
  if (auto ok = assign(*lines, config); !ok)
    return failure(ErrorCode::kInvalidConfig, ok.error().text);
  if (auto ok = check(config); !ok) return tl::unexpected(ok.error());
  auto storage = storage_of(config);
  if (!storage)
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("{}: {}", config.path, storage.error().text));
  config.storage = std::move(*storage);
  std::ranges::sort(config.without_effect);
  return config;
}

}  // namespace sluice::dbd
