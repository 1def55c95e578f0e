// Look-ups in a configuration.
#include "common/model/cluster_config.hpp"

#include <algorithm>
#include <cctype>

namespace sluice {
namespace {

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

std::optional<std::string> option_value(const std::vector<std::string>& parameters,
                                        std::string_view name) {
  for (auto it = parameters.rbegin(); it != parameters.rend(); ++it) {
    const size_t equals = it->find('=');
    if (!same_letters(std::string_view(*it).substr(0, equals), name)) continue;
    return equals == std::string::npos ? std::string() : it->substr(equals + 1);
  }
  return std::nullopt;
}

bool has_option(const std::vector<std::string>& parameters, std::string_view name) {
  return option_value(parameters, name).has_value();
}

std::string node_path(std::string_view pattern, const NodeConfig& node) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'n' || next == 'h') {
      out += next == 'n' ? node.name : node.hostname;
      ++i;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

const NodeConfig* find_node(const ClusterConfig& config, std::string_view name) {
  for (const NodeConfig& node : config.nodes) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

const PartitionConfig* find_partition(const ClusterConfig& config, std::string_view name) {
  for (const PartitionConfig& partition : config.partitions) {
    if (partition.name == name) return &partition;
  }
  return nullptr;
}

}  // namespace sluice
