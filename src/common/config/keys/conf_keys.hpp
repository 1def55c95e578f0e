// Every key of slurm.conf, cgroup.conf and gres.conf, as tables of rows (conf_key.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/mpi_config.hpp"
#include "common/config/keys/conf_key.hpp"

namespace sluice::tables {

using GlobalKey = ConfKey<ClusterConfig>;

// A NodeName line while it is read: what holds for all its nodes, and the lists that give each node
// its own part.
struct NodeLine : NodeConfig {
  std::string names;
  std::string hostnames;
  std::string addresses;
  std::string broadcast_addresses;
  std::string ports;
  std::optional<uint32_t> cpus_set;
  std::optional<uint32_t> boards_set;
  std::optional<uint32_t> sockets_set;
  std::optional<uint32_t> sockets_per_board_set;
  std::optional<uint32_t> cores_set;
  std::optional<uint32_t> threads_set;
  std::string tres_weights;
};
struct NodeSetLine : NodeSetConfig {
  std::string node_names;
};
struct DownNodesLine : DownNodesConfig {
  std::string node_names;
};
struct GresLine : GresConfigLine {
  std::string node_names;
  std::string count_text;
  std::string file_names;
  std::string multiple_file_names;
};
struct ContainerLine : JobContainerLine {
  std::string node_names;
};
struct HelperLine : FeatureHelper {
  std::string node_names;
  std::vector<std::string> flags;
};
struct IgnoredLine {};

// The rows of slurm.conf's global keys, in the order of `scontrol show config`, in two parts.
[[nodiscard]] std::span<const GlobalKey> global_keys_a_to_o();
[[nodiscard]] std::span<const GlobalKey> global_keys_p_to_z();

// Both, in order. They are not copied into one: every command that starts reads them.
class GlobalKeys {
 public:
  class Iterator {
   public:
    using value_type = GlobalKey;
    using difference_type = std::ptrdiff_t;
    Iterator(const GlobalKey* at, const GlobalKey* end_of_first, const GlobalKey* second)
        : at_(at), end_of_first_(end_of_first), second_(second) {}
    const GlobalKey& operator*() const { return *at_; }
    Iterator& operator++() {
      if (++at_ == end_of_first_) at_ = second_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const GlobalKey *at_, *end_of_first_, *second_;
  };
  [[nodiscard]] Iterator begin() const { return at(first_.data()); }
  [[nodiscard]] Iterator end() const { return at(second_.data() + second_.size()); }

 private:
  [[nodiscard]] Iterator at(const GlobalKey* row) const {
    return {row, first_.data() + first_.size(), second_.data()};
  }
  std::span<const GlobalKey> first_ = global_keys_a_to_o(), second_ = global_keys_p_to_z();
};
[[nodiscard]] inline GlobalKeys global_keys() { return {}; }

// The keys of one line kind; the first row is the one that opens the line.
[[nodiscard]] std::span<const ConfKey<NodeLine>> node_keys();
[[nodiscard]] std::span<const ConfKey<PartitionConfig>> partition_keys();
[[nodiscard]] std::span<const ConfKey<NodeSetLine>> node_set_keys();
[[nodiscard]] std::span<const ConfKey<DownNodesLine>> down_nodes_keys();
[[nodiscard]] std::span<const ConfKey<IgnoredLine>> frontend_keys();
[[nodiscard]] std::span<const ConfKey<IgnoredLine>> power_action_keys();
[[nodiscard]] std::span<const ConfKey<CgroupConfig>> cgroup_keys();
[[nodiscard]] std::span<const ConfKey<GresLine>> gres_keys();
[[nodiscard]] std::span<const ConfKey<MpiConfig>> mpi_keys();
[[nodiscard]] std::span<const ConfKey<ContainerLine>> container_keys();
[[nodiscard]] std::span<const ConfKey<HelpersConfig>> helpers_keys();
[[nodiscard]] std::span<const ConfKey<HelperLine>> helper_line_keys();

template <class Keys>
[[nodiscard]] auto find_key(const Keys& keys, std::string_view name) -> decltype(&*keys.begin()) {
  for (const auto& row : keys) {
    if (row.kind != ConfKind::kRuntime && iequals(row.name, name)) return &row;
  }
  return nullptr;
}

// `; did you mean "KillWait"?` for the name nearest to `name`, or nothing when none is near.
[[nodiscard]] std::string did_you_mean(std::string_view name,
                                       const std::vector<std::string_view>& known);

template <class Keys>
[[nodiscard]] std::string did_you_mean_key(std::string_view name, const Keys& keys) {
  std::vector<std::string_view> known;
  for (const auto& row : keys) {
    if (row.kind != ConfKind::kRuntime) known.push_back(row.name);
  }
  return did_you_mean(name, known);
}

}  // namespace sluice::tables
