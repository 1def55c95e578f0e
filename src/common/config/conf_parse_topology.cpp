// Reads topology.conf: which nodes hang on which switches.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/config/conf_parse.hpp"

namespace sluice::tables {
namespace {

Status read_line(const ConfLine& line, std::vector<SwitchConfig>& out) {
  ConfErrors errors;
  std::vector<ConfPair> pairs;
  errors.add(read_conf_pairs(line, pairs));
  SwitchConfig read;
  for (const ConfPair& pair : pairs) {
    const auto hosts = expand_hosts(pair.value);
    if (iequals(pair.key, "SwitchName")) read.name = pair.value;
    else if (iequals(pair.key, "LinkSpeed")) read.link_speed = pair.value;
    else if (!iequals(pair.key, "Nodes") && !iequals(pair.key, "Switches")) {
      errors.add(conf_failure(line, fmt::format("unknown key \"{}\"", pair.key)));
    } else if (!hosts) {
      errors.add(conf_failure(line, hosts.error().text));
    } else {
      (iequals(pair.key, "Nodes") ? read.nodes : read.switches) = *hosts;
    }
  }
  if (const Status all = errors.status(); !all) return all;
  if (read.name.empty()) return conf_failure(line, "SwitchName= is wanted");
  if (read.nodes.empty() == read.switches.empty())
    return conf_failure(line, "a switch has Nodes= or Switches=, and not both");
  if (std::ranges::find(out, read.name, &SwitchConfig::name) != out.end()) {
    return conf_failure(line, fmt::format("switch {} is there twice", read.name));
  }
  out.push_back(std::move(read));
  return {};
}

// Whether a switch is above itself, or names one that is not there.
Status check_tree(const ClusterConfig& config) {
  std::map<std::string, const SwitchConfig*> all;
  for (const SwitchConfig& one : config.switches) all.emplace(one.name, &one);
  for (const SwitchConfig& one : config.switches) {
    for (const std::string& node : one.nodes) {
      if (std::ranges::find(config.nodes, node, &NodeConfig::name) == config.nodes.end()) {
        return failure(ErrorCode::kInvalidConfig,
                       fmt::format("topology.conf: switch {} has node {}, which is not configured",
                                   one.name, node));
      }
    }
    std::vector<std::string> below = one.switches;
    for (size_t at = 0; at < below.size(); ++at) {
      const auto child = all.find(below[at]);
      if (child == all.end())
        return failure(ErrorCode::kInvalidConfig,
                       fmt::format("topology.conf: there is no switch {}", below[at]));
      if (below[at] == one.name || below.size() > config.switches.size() * config.switches.size()) {
        return failure(ErrorCode::kInvalidConfig,
                       fmt::format("topology.conf: switch {} is below itself", one.name));
      }
      below.insert(below.end(), child->second->switches.begin(), child->second->switches.end());
    }
  }
  return {};
}

}  // namespace

Status parse_topology_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed) {
  if (!iequals(parsed.config.topology_plugin, "topology/tree")) return {};
  ConfErrors errors;
  for (const ConfLine& line : lines) errors.add(read_line(line, parsed.config.switches));
  if (const Status all = errors.status(); !all) return all;
  return check_tree(parsed.config);
}

}  // namespace sluice::tables
