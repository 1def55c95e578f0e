// Reads topology.conf: which nodes hang on which switches, or are in which blocks.
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

Status read_sizes(const ConfLine& line, const std::string& text, std::vector<uint32_t>& out) {
  for (const std::string& item : split_list(text)) {
    const auto size = to_number<uint32_t>(item);
    const bool fits =
        size && *size > 0 && (out.empty() || (*size > out.back() && *size % out.front() == 0));
    if (!fits)
      return conf_failure(line, fmt::format("BlockSizes={}: each size is a multiple of the first, "
                                            "and larger than the one before it",
                                            text));
    out.push_back(*size);
  }
  return {};
}

// BlockName=NAME Nodes=LIST, or BlockSizes=LIST.
Status read_block_line(const ConfLine& line, ClusterConfig& config) {
  ConfErrors errors;
  std::vector<ConfPair> pairs;
  errors.add(read_conf_pairs(line, pairs));
  SwitchConfig read;
  bool is_block = false;
  for (const ConfPair& pair : pairs) {
    const auto hosts = expand_hosts(pair.value);
    if (iequals(pair.key, "BlockSizes")) {
      errors.add(read_sizes(line, pair.value, config.block_sizes));
    } else if (iequals(pair.key, "BlockName")) {
      is_block = true;
      read.name = pair.value;
    } else if (!iequals(pair.key, "Nodes")) {
      errors.add(conf_failure(line, fmt::format("unknown key \"{}\"", pair.key)));
    } else if (!hosts) {
      errors.add(conf_failure(line, hosts.error().text));
    } else {
      is_block = true;
      read.nodes = *hosts;
    }
  }
  if (Status all = errors.status(); !all || !is_block) return all;
  if (read.name.empty()) return conf_failure(line, "BlockName= is wanted");
  if (read.nodes.empty()) return conf_failure(line, "a block has Nodes=");
  if (std::ranges::find(config.switches, read.name, &SwitchConfig::name) != config.switches.end())
    return conf_failure(line, fmt::format("block {} is there twice", read.name));
  config.switches.push_back(std::move(read));
  return {};
}

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
  const char* kind = iequals(config.topology_plugin, "topology/block") ? "block" : "switch";
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
      wrong(fmt::format("{} {} has node{} {}, which {} not configured", kind, one.name,
                        lost.size() == 1 ? "" : "s", fold_hosts(lost),
                        lost.size() == 1 ? "is" : "are"));
    for (const std::string& child : one.switches) {
      if (!all.contains(child)) wrong(fmt::format("there is no switch {}", child));
    }
    if (is_below_itself(one, all)) wrong(fmt::format("switch {} is below itself", one.name));
  }
  return errors.status();
}

// A node is in one block, and the smallest of BlockSizes is no more than each block has.
Status check_blocks(const ClusterConfig& config) {
  ConfErrors errors;
  const auto wrong = [&](const std::string& text) {
    errors.add(failure(ErrorCode::kInvalidConfig, "topology.conf: " + text));
  };
  std::map<std::string_view, std::string_view> block_of;
  for (const SwitchConfig& block : config.switches) {
    for (const std::string& node : block.nodes) {
      const auto [at, fresh] = block_of.emplace(node, block.name);
      if (!fresh)
        wrong(fmt::format("node {} is in the blocks {} and {}", node, at->second, block.name));
    }
    if (!config.block_sizes.empty() && block.nodes.size() < config.block_sizes.front())
      wrong(fmt::format("block {} has {} nodes, fewer than the first of BlockSizes, {}", block.name,
                        block.nodes.size(), config.block_sizes.front()));
  }
  return errors.status();
}

}  // namespace

Status parse_topology_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed) {
  if (iequals(parsed.config.topology_plugin, "topology/block")) {
    ConfErrors errors;
    for (const ConfLine& line : lines) errors.add(read_block_line(line, parsed.config));
    if (Status all = errors.status(); !all) return all;
    if (Status ok = check_tree(parsed.config); !ok) return ok;
    return check_blocks(parsed.config);
  }
  if (!iequals(parsed.config.topology_plugin, "topology/tree")) return {};
  ConfErrors errors;
  for (const ConfLine& line : lines) errors.add(read_line(line, parsed.config.switches));
  if (Status all = errors.status(); !all) return all;
  return check_tree(parsed.config);
}

}  // namespace sluice::tables
