// Reads cgroup.conf, gres.conf, mpi.conf, job_container.conf and helpers.conf.
#include <algorithm>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/config/conf_assign.hpp"
#include "common/config/conf_nodes.hpp"
#include "common/config/conf_parse.hpp"
#include "common/syntax/node_helpers.hpp"

namespace sluice::tables {
namespace {

void tidy_unused(ClusterConfig& config) {
  std::vector<std::string>& unused = config.without_effect;
  std::sort(unused.begin(), unused.end());
  unused.erase(std::unique(unused.begin(), unused.end()), unused.end());
}

// Every pair of a file whose lines are global keys.
template <class Owner, class Keys>
Status parse_globals(const std::vector<ConfLine>& lines, const Keys& keys, Owner& owner,
                     std::string_view file, std::map<std::string, std::string>& values,
                     std::vector<std::string>& unused) {
  const std::string section = fmt::format("{}: ", file);
  ConfErrors errors;
  for (const ConfLine& line : lines) {
    std::vector<ConfPair> pairs;
    errors.add(read_conf_pairs(line, pairs));
    for (const ConfPair& pair : pairs) {
      const auto* row = find_key(keys, pair.key);
      if (!row) {
        errors.add(conf_failure(
            line, fmt::format("unknown key \"{}\"{}", pair.key, did_you_mean_key(pair.key, keys))));
        continue;
      }
      errors.add(assign_pair(line, pair, *row, owner, section, unused));
      values[std::string(row->name)] = pair.value;
    }
  }
  return errors.status();
}

// "8", "4K", "2M", "1G": counts with binary multipliers.
std::optional<uint64_t> gres_count(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTP";
  uint64_t factor = 1;
  if (!text.empty()) {
    const size_t unit = kUnits.find(to_upper(text.substr(text.size() - 1)));
    if (unit != kUnits.npos) {
      factor = UINT64_C(1) << (10 * (unit + 1));
      text.remove_suffix(1);
    }
  }
  const std::optional<uint64_t> count = to_number<uint64_t>(text);
  if (!count || *count > kMax32 * 1024 / factor) return std::nullopt;
  return *count * factor;
}

Status expand_into(std::string_view names, std::vector<std::string>& list) {
  Result<std::vector<std::string>> expanded = expand_hosts(names);
  if (!expanded) return tl::unexpected(expanded.error());
  list = std::move(*expanded);
  return {};
}

// Completes a line whose pairs are read.
Status finish_gres_line(GresLine& line) {
  for (const Status& status :
       {expand_into(line.node_names, line.nodes), expand_into(line.file_names, line.files),
        expand_into(line.multiple_file_names, line.multiple_files)}) {
    if (!status) return status;
  }
  if (line.name.empty()) {
    if (!line.auto_detect.empty()) return {};
    return failure("Name= is wanted (or AutoDetect=)");
  }
  if (!line.files.empty() && !line.multiple_files.empty()) {
    return failure("File and MultipleFiles exclude each other");
  }
  const bool shared = line.name == "mps" || line.name == "shard";
  const size_t files = line.files.size();
  if (line.count_text.empty()) {
    line.count = files != 0 ? files : 1;
    return {};
  }
  const std::optional<uint64_t> count = gres_count(line.count_text);
  if (!count) {
    return failure(fmt::format("Count=\"{}\" is not valid; allowed: a number, maybe with K, M or G",
                               line.count_text));
  }
  if (files != 0 && !shared && *count != files) {
    return failure(fmt::format("Count={} does not match the {} files", *count, files));
  }
  line.count = *count;
  return {};
}

Status finish_helper_line(HelperLine& line) {
  if (Status status = expand_into(line.node_names, line.nodes); !status) return status;
  if (line.features.empty()) return failure("Feature= is wanted");
  if (line.program.empty()) return failure("Helper= is wanted");
  line.rebootless = !line.flags.empty();
  return {};
}

}  // namespace

Status parse_cgroup_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed) {
  CgroupConfig& cgroup = parsed.config.cgroup;
  Status status = parse_globals(lines, cgroup_keys(), cgroup, "cgroup.conf", cgroup.values,
                                parsed.config.without_effect);
  cgroup.present = true;
  tidy_unused(parsed.config);
  return status;
}

Status parse_mpi_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed) {
  ClusterConfig& config = parsed.config;
  Status status = parse_globals(lines, mpi_keys(), config.mpi, "mpi.conf", config.values,
                                config.without_effect);
  tidy_unused(config);
  return status;
}

Status parse_gres_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed) {
  ClusterConfig& config = parsed.config;
  ConfErrors errors;
  for (const ConfLine& line : lines) {
    std::vector<ConfPair> pairs;
    errors.add(read_conf_pairs(line, pairs));
    GresLine gres;
    std::vector<std::string> unused;
    errors.add(assign_line(line, pairs, 0, gres_keys(), gres, unused));
    for (const std::string& what : unused) {  // "Name.AutoDetect=rsmi"
      config.without_effect.push_back("gres.conf." + what.substr(what.find('.') + 1));
    }
    if (Status status = finish_gres_line(gres); !status)
      errors.add(conf_failure(line, status.error().text));
    const bool known = gres.name.empty() ||
                       std::find(config.gres_types.begin(), config.gres_types.end(), gres.name) !=
                           config.gres_types.end();
    if (!known) {
      parsed.warnings.push_back(fmt::format("{}:{}: \"{}\" is not in GresTypes, the line is unused",
                                            line.file, line.number, gres.name));
    }
    config.gres_lines.push_back(gres);
  }
  tidy_unused(config);
  return errors.status();
}

// Lines without NodeName say what holds for all nodes, and for what the lines after them leave out.
Status parse_container_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed) {
  ClusterConfig& config = parsed.config;
  ContainerLine general;
  std::vector<JobContainerLine> own;
  ConfErrors errors;
  for (const ConfLine& line : lines) {
    std::vector<ConfPair> pairs;
    errors.add(read_conf_pairs(line, pairs));
    ContainerLine read = general;
    errors.add(assign_line(line, pairs, 0, container_keys(), read, config.without_effect));
    if (read.node_names.empty()) {
      general = std::move(read);
      continue;
    }
    if (Status status = expand_into(read.node_names, read.nodes); !status)
      errors.add(conf_failure(line, status.error().text));
    own.push_back(std::move(read));
  }
  config.job_containers.push_back(std::move(general));
  for (JobContainerLine& line : own) config.job_containers.push_back(std::move(line));
  tidy_unused(config);
  return errors.status();
}

Status parse_helpers_conf(const std::vector<ConfLine>& lines, ParsedConfig& parsed) {
  ClusterConfig& config = parsed.config;
  HelpersConfig read;
  std::vector<std::string> unused;
  ConfErrors errors;
  for (const ConfLine& line : lines) {
    std::vector<ConfPair> pairs;
    const Status written = read_conf_pairs(line, pairs);
    const bool of_helper = std::ranges::any_of(pairs, [](const ConfPair& pair) {
      return iequals(pair.key, "Feature") || iequals(pair.key, "NodeName");
    });
    if (!of_helper) {
      std::map<std::string, std::string> values;
      errors.add(parse_globals({line}, helpers_keys(), read, "helpers.conf", values, unused));
      continue;
    }
    HelperLine helper;
    errors.add(written);
    errors.add(assign_line(line, pairs, 0, helper_line_keys(), helper, unused));
    if (Status status = finish_helper_line(helper); !status)
      errors.add(conf_failure(line, status.error().text));
    read.helpers.push_back(std::move(helper));
  }
  if (const Status all = errors.status(); !all) return all;
  if (!uses_helpers(config)) {
    parsed.warnings.emplace_back(
        "helpers.conf is unused without NodeFeaturesPlugins=node_features/helpers");
    return {};
  }
  config.helpers = std::move(read);
  config.without_effect.insert(config.without_effect.end(), unused.begin(), unused.end());
  tidy_unused(config);
  for (NodeConfig& node : config.nodes) adopt_helpers(config, node);
  follow_features(config);
  return {};
}

}  // namespace sluice::tables
