// Reads slurm.conf's lines into a ClusterConfig; conf_finish.cpp completes and checks the whole.
#include "common/config/conf_parse.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/config/conf_assign.hpp"
#include "common/config/conf_finish.hpp"
#include "common/config/conf_nodes.hpp"

namespace sluice::tables {
namespace {

constexpr size_t kMaxNodes = 1U << 20;

class SlurmConfParser {
 public:
  using Pairs = std::vector<ConfPair>;
  explicit SlurmConfParser(ConfigScope scope) : scope_(scope) {}

  Status add(const ConfLine& line) {
    ConfErrors errors;
    Pairs pairs;
    errors.add(read_conf_pairs(line, pairs));
    for (size_t i = 0; i < pairs.size(); ++i) {
      // a line key takes all that follows it
      if (const LineKind* kind = line_kind(pairs[i].key)) {
        if (scope_ == ConfigScope::kAll) errors.add((this->*kind->add)(line, pairs, i));
        break;
      }
      errors.add(add_global(line, pairs[i]));
    }
    return errors.status();
  }

  Result<ParsedConfig> finish(const std::vector<ConfLine>& lines) {
    std::vector<std::string> errors;
    ParsedConfig parsed = finish_all(lines, errors);
    if (!errors.empty()) return failure(ErrorCode::kInvalidConfig, errors.front());
    return parsed;
  }
  ParsedConfig finish_all(const std::vector<ConfLine>& lines, std::vector<std::string>& errors) {
    draft_.file = lines.empty() ? "slurm.conf" : lines.front().file;
    finish_config(draft_, errors);
    return std::move(draft_.parsed);
  }

 private:
  struct LineKind {
    std::string_view key;
    Status (SlurmConfParser::*add)(const ConfLine&, const Pairs&, size_t);
  };

  static const LineKind* line_kind(std::string_view key) {
    static constexpr LineKind kKinds[] = {
        {"NodeName", &SlurmConfParser::add_nodes},
        {"PartitionName", &SlurmConfParser::add_partition},
        {"NodeSet", &SlurmConfParser::add_node_set},
        {"DownNodes", &SlurmConfParser::add_down_nodes},
        {"FrontendName", &SlurmConfParser::add_frontend},
        {"PowerAction", &SlurmConfParser::add_power_action},
    };
    for (const LineKind& kind : kKinds) {
      if (iequals(kind.key, key)) return &kind;
    }
    return nullptr;
  }

  ClusterConfig& config() { return draft_.parsed.config; }

  Status add_global(const ConfLine& line, const ConfPair& pair) {
    const GlobalKey* row = find_key(global_keys(), pair.key);
    if (!row) {
      return conf_failure(line, fmt::format("unknown key \"{}\"{}", pair.key,
                                            did_you_mean_key(pair.key, global_keys())));
    }
    const std::string name(row->name);
    std::string& text = config().values[name];
    if (draft_.set_at.contains(name) && !row->repeated) {
      draft_.parsed.warnings.push_back(
          fmt::format("{}:{}: {} is set more than once, this value is used", line.file, line.number,
                      row->name));
    }
    draft_.set_at[name] = line;
    Status status = assign_pair(line, pair, *row, config(), {}, config().without_effect);
    if (!status) return status;
    if (row->repeated && !text.empty()) text += "," + pair.value;
    else text = pair.value;
    return {};
  }

  Status add_nodes(const ConfLine& line, const Pairs& pairs, size_t first) {
    NodeLine nodes = default_node_;
    if (iequals(pairs[first].value, "DEFAULT")) {
      Status status =
          assign_line(line, pairs, first + 1, node_keys(), nodes, config().without_effect);
      default_node_ = std::move(nodes);
      return status;
    }
    ConfErrors errors;
    errors.add(assign_line(line, pairs, first, node_keys(), nodes, config().without_effect));
    Result<std::vector<NodeConfig>> expanded = nodes_of_line(nodes);
    if (!expanded) {
      errors.add(conf_failure(line, expanded.error().text));
      expanded = bare_nodes(nodes.names);
    } else if (expanded->empty()) {
      errors.add(conf_failure(line, "NodeName names no node"));
    }
    std::string known;  // one is told of
    for (NodeConfig& node : *expanded) {
      if (iequals(node.name, "ALL") || iequals(node.name, "DEFAULT")) {
        errors.add(conf_failure(line, fmt::format("no node can be named \"{}\"", node.name)));
        continue;
      }
      if (!node_names_.insert(node.name).second) {
        if (known.empty()) known = node.name;
        continue;
      }
      if (config().nodes.size() == kMaxNodes) {
        errors.add(conf_failure(line, "too many nodes"));
        break;
      }
      config().nodes.push_back(std::move(node));
      draft_.node_lines.push_back(line_number(line));
    }
    if (!known.empty())
      errors.add(conf_failure(line, fmt::format("node \"{}\" is there already", known)));
    return errors.status();
  }

  // The names alone, so that what is wrong with their line is no error of the partitions that they
  // are in.
  static std::vector<NodeConfig> bare_nodes(const std::string& list) {
    std::vector<NodeConfig> nodes;
    const auto names = expand_hosts(list);
    for (const std::string& name : names ? *names : std::vector<std::string>{})
      nodes.emplace_back().name = name;
    return nodes;
  }

  Status add_partition(const ConfLine& line, const Pairs& pairs, size_t first) {
    PartitionConfig partition = default_partition_;
    Status status =
        assign_line(line, pairs, first, partition_keys(), partition, config().without_effect);
    if (iequals(partition.name, "DEFAULT")) {
      partition.name.clear();
      default_partition_ = std::move(partition);
      return status;
    }
    if (find_partition(config(), partition.name)) {
      ConfErrors errors;
      errors.add(status);
      errors.add(
          conf_failure(line, fmt::format("partition \"{}\" is there already", partition.name)));
      return errors.status();
    }
    config().partitions.push_back(std::move(partition));
    draft_.partition_lines.push_back(line);
    return status;
  }

  Status add_node_set(const ConfLine& line, const Pairs& pairs, size_t first) {
    NodeSetLine set;
    Status status = assign_line(line, pairs, first, node_set_keys(), set, config().without_effect);
    if (!status) return status;
    if (iequals(set.name, "ALL") || iequals(set.name, "DEFAULT")) {
      return conf_failure(line, fmt::format("no node set can be named \"{}\"", set.name));
    }
    for (const NodeSetConfig& other : config().node_sets) {
      if (other.name == set.name) {
        return conf_failure(line, fmt::format("node set \"{}\" is there already", set.name));
      }
    }
    config().node_sets.push_back(set);
    draft_.node_set_lines.push_back({line, set.node_names});
    return {};
  }

  Status add_down_nodes(const ConfLine& line, const Pairs& pairs, size_t first) {
    DownNodesLine down;
    Status status =
        assign_line(line, pairs, first, down_nodes_keys(), down, config().without_effect);
    if (!status) return status;
    config().down_nodes.push_back(down);
    draft_.down_lines.push_back({line, down.node_names});
    return {};
  }

  Status add_frontend(const ConfLine& line, const Pairs& pairs, size_t first) {
    IgnoredLine ignored;
    return assign_line(line, pairs, first, frontend_keys(), ignored, config().without_effect);
  }
  Status add_power_action(const ConfLine& line, const Pairs& pairs, size_t first) {
    IgnoredLine ignored;
    return assign_line(line, pairs, first, power_action_keys(), ignored, config().without_effect);
  }

  size_t line_number(const ConfLine& line) {
    if (draft_.node_places.empty() || draft_.node_places.back().number != line.number ||
        draft_.node_places.back().file != line.file) {
      draft_.node_places.push_back(line);
    }
    return draft_.node_places.size() - 1;
  }

  ConfigScope scope_;
  ConfDraft draft_;
  NodeLine default_node_;
  PartitionConfig default_partition_;
  std::unordered_set<std::string> node_names_;
};

}  // namespace

Result<ParsedConfig> parse_slurm_conf(const std::vector<ConfLine>& lines, ConfigScope scope) {
  SlurmConfParser parser(scope);
  for (const ConfLine& line : lines) {
    if (Status status = parser.add(line); !status) return tl::unexpected(status.error());
  }
  return parser.finish(lines);
}

ParsedConfig parse_all_of_slurm_conf(const std::vector<ConfLine>& lines,
                                     std::vector<std::string>& errors) {
  SlurmConfParser parser(ConfigScope::kAll);
  for (const ConfLine& line : lines) { append_errors(errors, parser.add(line)); }
  return parser.finish_all(lines, errors);
}

}  // namespace sluice::tables
