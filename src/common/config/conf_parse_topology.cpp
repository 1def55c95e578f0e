// Reads topology.conf: which nodes hang on which switches.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

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
  if (Status all = errors.status(); !all) return all;
  if (read.name.empty()) return conf_failure(line, "SwitchName= is wanted");
  if (read.nodes.empty() == read.switches.empty())
    return conf_failure(line, "a switch has Nodes= or Switches=, and not both");
  if (std::ranges::find(out, read.name, &SwitchConfig::name) != out.end()) {
    return conf_failure(line, fmt::format("switch {} is there twice", read.name));
  }
  out.push_back(std::move(read));
  return {};
}

using Switches = std::map<std::string, const SwitchConfig*>;

bool is_below_itself(const SwitchConfig& top, const Switches& all) {
  std::set<std::string> seen;
  std::vector<std::string> below = top.switches;
  for (size_t at = 0; at < below.size(); ++at) {
    if (below[at] == top.name) return true;
    const auto child = all.find(below[at]);
    if (child == all.end() || !seen.insert(below[at]).second) continue;
    below.insert(below.end(), child->second->switches.begin(), child->second->switches.end());
  }
  return false;
}

// Every switch that is above itself, or names a switch or nodes that are not there.
Status check_tree(const ClusterConfig& config) {
  Switches all;
  for (const SwitchConfig& one : config.switches) all.emplace(one.name, &one);
  std::set<std::string_view> nodes;
  for (const NodeConfig& node : config.nodes) nodes.insert(node.name);
  ConfErrors errors;
  const auto wrong = [&](const std::string& text) {
    errors.add(failure(ErrorCode::kInvalidConfig, "topology.conf: " + text));
  };
  for (const SwitchConfig& one : config.switches) {
    std::vector<std::string> lost;
    std::ranges::copy_if(one.nodes, std::back_inserter(lost),
                         [&](const std::string& node) { return !nodes.contains(node); });
    if (!lost.empty())
      wrong(fmt::format("switch {} has node{} {}, which {} not configured", one.name,
                        lost.size() == 1 ? "" : "s", fold_hosts(lost),
                        lost.size() == 1 ? "is" : "are"));
    for (const std::string& child : one.switches) {
      if (!all.contains(child)) wrong(fmt::format("there is no switch {}", child));
    }
    if (is_below_itself(one, all)) wrong(fmt::format("switch {} is below itself", one.name));
  }
  return errors.status();
}

}  // namespace

Status parse_topology_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed) {
  if (!iequals(parsed.config.topology_plugin, "topology/tree")) return {};
  ConfErrors errors;
  for (const ConfLine& line : lines) errors.add(read_line(line, parsed.config.switches));
  if (Status all = errors.status(); !all) return all;
  return check_tree(parsed.config);
}

}  // namespace sluice::tables
