// What a configuration asks for and nothing comes of: which class a key is of, which of them stop a
// start, and what the log says of the others. ClusterConfig::without_effect has them by name:
// "MCSPlugin", "PrivateData=users", "PartitionName.AllowQos", "cgroup.conf: CgroupSlice".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::tables {

enum class IgnoredClass : uint8_t {
  kSecurity,     // others could see or do what the site means to forbid: stops the start
  kEnforcement,  // jobs could use what the site means to deny: stops the start
  kAccounting,
  kScheduling,
  kPower,
  kNodes,
  kPlugins,
  kNetwork,
  kMpi,
  kOther,
};
[[nodiscard]] std::string_view class_text(IgnoredClass is);  // "scheduling"
[[nodiscard]] IgnoredClass ignored_class(std::string_view name);
[[nodiscard]] constexpr bool stops_start(IgnoredClass is) {
  return is <= IgnoredClass::kEnforcement;
}

// Every name that stops a start, each with why; for documentation.
struct StoppingKey {
  std::string_view name;
  IgnoredClass is{};
  std::string_view why;  // ends "KEY is set, but …"
};
[[nodiscard]] const std::vector<StoppingKey>& stopping_keys();

// Keys of accounting that do nothing, or believe what users say, as long as
// AccountingStorageEnforce does not have accounts, QOS or limits enforced.
[[nodiscard]] std::vector<std::string> unenforced_keys(const ClusterConfig& config);
// The keys that SluiceParameters=accept_ignored= names, as written.
[[nodiscard]] std::vector<std::string> accepted_ignored(const ClusterConfig& config);
// Whether accept_ignored= may name it: a key of any file, or one of `stopping_keys`.
[[nodiscard]] bool is_ignorable(std::string_view name);

// Where keys stand: "FILE:LINE" by their names in lower case.
using KeyPlaces = std::map<std::string, std::string>;

// Those of `names` that stop a start and that the site has not accepted: an error a line, with what
// to write, and in check_ignored() where it stands. kInvalidConfig.
[[nodiscard]] std::vector<std::string> refused_names(const std::vector<std::string>& names,
                                                     const ClusterConfig& config);
[[nodiscard]] Status check_ignored(const ClusterConfig& config, const KeyPlaces& places = {});

// "keys without effect: accounting: A, B; scheduling: C=d"; empty: there are none.
[[nodiscard]] std::string ignored_summary(const ClusterConfig& config);

// What `scontrol show config` puts behind the value of a key: "  # no effect", "  # no effect:
// bf_busy_nodes,defer"; or nothing.
[[nodiscard]] std::string ignored_mark(const ClusterConfig& config, std::string_view key);

}  // namespace sluice::tables
