// How nodes come together on sinfo's lines, and a line as JSON.
#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"
#include "common/names/job_states.hpp"
#include "common/format/job_values.hpp"
#include "common/format/node_values.hpp"
#include "common/format/partition_show.hpp"
#include "common/protocol/node_query.hpp"
#include "cli/format/sinfo_fields.hpp"

namespace sluice {
namespace {

using protocol::NodeRecord;
using protocol::PartitionRecord;

bool member(const PartitionRecord& partition, const NodeRecord& node) {
  return std::find(node.partitions.begin(), node.partitions.end(), partition.config.name) !=
         node.partitions.end();
}

// The values that must agree, one after the other.
std::string group_key(const SinfoRow& single, const SinfoGrouping& grouping,
                      const RenderContext& context) {
  std::string key;
  for (const SinfoField* field : grouping.fields) {
    const bool counts = field->grouping == Grouping::kPartition ||
                        field->grouping == Grouping::kNode ||
                        (field->grouping == Grouping::kExact && grouping.exact);
    if (!counts) continue;
    field->render(single, context, key);
    key += '\n';
  }
  if (grouping.one_node_a_row) {
    key.append(single.nodes.front()->node.name).append("\n").append(single.partition->config.name);
  }
  return key;
}

std::unordered_map<const NodeRecord*, size_t> rank_by_name(
    const std::vector<const NodeRecord*>& nodes) {
  std::vector<const NodeRecord*> sorted = nodes;
  std::sort(sorted.begin(), sorted.end(), [](const NodeRecord* a, const NodeRecord* b) {
    return host_less(a->node.name, b->node.name);
  });
  std::unordered_map<const NodeRecord*, size_t> ranks;
  for (const NodeRecord* node : sorted) ranks.emplace(node, ranks.size());
  return ranks;
}

}  // namespace

std::vector<SinfoRow> group_nodes(const std::vector<const PartitionRecord*>& partitions,
                                  const std::vector<const NodeRecord*>& nodes,
                                  const SinfoGrouping& grouping, const RenderContext& context) {
  const bool named = std::ranges::any_of(grouping.fields, [](const SinfoField* field) {
    return field->name == "Partition" || field->name == "PartitionName";
  });
  std::vector<SinfoRow> rows;
  std::unordered_map<std::string, size_t> found;
  // partitions may share nodes, and a line: each counts once on it
  std::set<std::pair<size_t, const NodeRecord*>> seen;
  for (size_t index = 0; index < partitions.size(); ++index) {
    bool any = false;
    for (const NodeRecord* node : nodes) {
      if (!member(*partitions[index], *node)) continue;
      any = true;
      SinfoRow single{partitions[index], index, {node}, 0};
      const auto [at, fresh] = found.emplace(group_key(single, grouping, context), rows.size());
      const bool counted = !seen.emplace(at->second, node).second;
      if (fresh) rows.push_back(std::move(single));
      else if (!counted) rows[at->second].nodes.push_back(node);
    }
    if (!any && named && grouping.empty_rows) rows.push_back({partitions[index], index, {}, 0});
  }
  const auto ranks = rank_by_name(nodes);
  for (SinfoRow& row : rows) {
    row.name_rank = SIZE_MAX;
    for (const NodeRecord* node : row.nodes)
      row.name_rank = std::min(row.name_rank, ranks.at(node));
  }
  return rows;
}

namespace {

template <class F>
Json bounds(const SinfoRow& row, F value) {
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  for (const NodeRecord* node : row.nodes) {
    low = std::min<uint64_t>(low, value(*node));
    high = std::max<uint64_t>(high, value(*node));
  }
  return {{"minimum", row.nodes.empty() ? 0 : low}, {"maximum", high}};
}

Json cpu_part(const SinfoRow& row, const PartitionConfig& partition) {
  CpuUse sum;
  for (const NodeRecord* node : row.nodes) sum += cpu_use(*node);
  Json out = {{"allocated", sum.allocated},
              {"idle", sum.idle},
              {"other", sum.other},
              {"total", sum.total()}};
  out.update(bounds(row, [](const NodeRecord& n) { return config_of(n).cpus; }));
  out["load"] = bounds(row, [](const NodeRecord& n) { return load_hundredths(n); });
  out["per_node"] = {{"max", json_limit(partition.max_cpus_per_node)}};
  return out;
}

Json node_part(const SinfoRow& row) {
  uint64_t counts[3] = {};
  Json names = Json::array();
  for (const NodeRecord* node : row.nodes) {
    ++counts[static_cast<size_t>(node_use(*node))];
    names.push_back(node->node.name);
  }
  return {{"allocated", counts[0]},
          {"idle", counts[1]},
          {"other", counts[2]},
          {"total", row.nodes.size()},
          {"hostnames", Json::array()},
          {"addresses", Json::array()},
          {"nodes", names}};
}

Json memory_part(const SinfoRow& row) {
  Json out = bounds(row, [](const NodeRecord& n) { return config_of(n).real_memory_mib; });
  const Json free = bounds(row, [](const NodeRecord& n) { return n.soft.free_memory_mib; });
  uint64_t allocated = 0;
  for (const NodeRecord* node : row.nodes) allocated += node->used_memory_mib;
  out["free"] = {{"minimum", json_number(free["minimum"].get<uint64_t>())},
                 {"maximum", json_number(free["maximum"].get<uint64_t>())}};
  out["allocated"] = allocated;
  return out;
}

}  // namespace

Json sinfo_row_to_json(const SinfoRow& row, const std::string& tres, const RenderContext& context) {
  static const NodeRecord nothing{};
  const NodeRecord& first = row.nodes.empty() ? nothing : *row.nodes.front();
  const NodeConfig& config = config_of(first);
  Json states = Json::array();
  if (!row.nodes.empty()) states.push_back(json_text(node_base_text(first.shown_base)));
  for (const std::string_view flag : node_flag_list(first.shown_flags)) {
    states.push_back(json_text(flag));
  }
  const std::string features = available_features(first);
  const bool reason = !first.node.reason.empty();
  const std::string who =
      reason && context.user_name != nullptr ? context.user_name(first.node.reason_uid) : "";
  Json out = Json::object();
  out["port"] = config.port;
  out["node"] = {{"state", states}};
  out["nodes"] = node_part(row);
  out["cpus"] = cpu_part(row, row.partition->config);
  out["sockets"] = bounds(row, [](const NodeRecord& n) { return config_of(n).sockets; });
  out["cores"] = bounds(row, [](const NodeRecord& n) { return config_of(n).cores_per_socket; });
  out["threads"] = bounds(row, [](const NodeRecord& n) { return config_of(n).threads_per_core; });
  out["disk"] = bounds(row, [](const NodeRecord& n) { return config_of(n).tmp_disk_mib; });
  out["memory"] = memory_part(row);
  out["weight"] = bounds(row, [](const NodeRecord& n) { return n.node.weight; });
  out["features"] = {{"total", features}, {"active", json_text(active_features(first))}};
  out["gres"] = {{"total", shown_gres(first)}, {"used", used_gres(first)}};
  out["cluster"] = "";
  out["comment"] = json_text(first.node.comment);
  out["extra"] = json_text(first.node.extra);
  out["reason"] = {{"description", json_text(first.node.reason)},
                   {"time", reason ? to_seconds(first.node.reason_time) : 0},
                   {"user", who}};
  out["reservation"] = first.reservation;
  out["resource_spec"] = {{"cpus", system_cpu_list(config)}, {"memory", config.mem_spec_limit_mib}};
  out["partition"] = partition_to_json(*row.partition, tres);
  return out;
}

}  // namespace sluice
