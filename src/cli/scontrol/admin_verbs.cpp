// scontrol's verbs on nodes as a whole, steps, and values of the controller: reboot, cancel_reboot,
// getaddrs, cluster, schedloglevel, fsdampeningfactor, write config, show topology, update StepId.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cli/scontrol/session.hpp"
#include "cli/format/environment.hpp"
#include "common/base/contains.hpp"
#include "common/base/errno_text.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/net/address.hpp"
#include "common/protocol/admin.hpp"
#include "common/config/conf_write.hpp"
#include "common/names/errors.hpp"
#include "common/names/step_names.hpp"
#include "common/protocol/config_query.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/empty.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice::cli::scontrol {
namespace {

constexpr uint32_t kMostDampening = 65535;

struct RebootWish {
  protocol::RebootNodesRequest request;
  bool good = true;
};

RebootWish read_reboot(Session& session, const Words& words) {
  RebootWish wish;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (iequals(word, "ASAP")) {
      wish.request.asap = true;
    } else if (iequals(word, "FORCE")) {
      wish.request.force = true;
    } else if (starts_with_i(word, "nextstate=")) {
      const std::string state = word.substr(10);
      wish.good = iequals(state, "DOWN") || iequals(state, "RESUME");
      wish.request.after = iequals(state, "DOWN") ? AfterReboot::kDown : AfterReboot::kResume;
      if (wish.good) continue;
      session.fail("Invalid state: " + state);
      session.fail("Valid states: DOWN, RESUME");
      return wish;
    } else if (starts_with_i(word, "reason=")) {
      wish.request.reason = word.substr(7);
    } else {
      wish.request.nodes += (wish.request.nodes.empty() ? "" : ",") + word;
    }
  }
  if (!wish.request.nodes.empty()) return wish;
  wish.good = false;
  session.fail("Missing node list. Specify ALL|<NodeList>");
  return wish;
}

Result<ClusterConfig> whole_config(Session& session) {
  const auto reply =
      session.client()->call<protocol::QueryConfigReply>(protocol::QueryConfigRequest{});
  if (!reply) return tl::unexpected<Error>(reply.error());
  return reply->config;
}

// Switches with what lies below them.
struct Switch {
  const SwitchConfig* config = nullptr;
  uint32_t level = 0;
  std::set<std::string> nodes;
};

// A switch's own, worked out from the leaves up; a ring of switches was refused when the file was
// read.
void settle(const std::string& name, std::map<std::string, Switch>& all) {
  Switch& one = all[name];
  if (one.config == nullptr || !one.nodes.empty()) return;
  one.nodes.insert(one.config->nodes.begin(), one.config->nodes.end());
  for (const std::string& child : one.config->switches) {
    settle(child, all);
    one.level = std::max(one.level, all[child].level + 1);
    one.nodes.insert(all[child].nodes.begin(), all[child].nodes.end());
  }
}

std::string switch_line(const Switch& one) {
  std::vector<std::string> nodes(one.nodes.begin(), one.nodes.end());
  std::string line = fmt::format(
      "SwitchName={} Level={} LinkSpeed={} Nodes={}", one.config->name, one.level,
      one.config->link_speed.empty() ? "1" : one.config->link_speed, fold_hosts_sorted(nodes));
  if (!one.config->switches.empty()) line += " Switches=" + fold_hosts_sorted(one.config->switches);
  return line;
}

bool is_above(const Switch& one, const std::vector<std::string>& nodes) {
  return std::ranges::all_of(nodes,
                             [&](const std::string& node) { return one.nodes.contains(node); });
}

}  // namespace

void reboot(Session& session, const Words& words) {
  const RebootWish wish = read_reboot(session, words);
  if (!wish.good || session.client() == nullptr) return;
  if (session.client()->config().reboot_program.empty()) {
    session.fail("scontrol: error: RebootProgram isn't defined");
    return session.fail("scontrol_reboot_nodes error: " +
                        std::string(error_sentence(ErrorCode::kError)));
  }
  const auto reply = session.client()->call<protocol::Empty>(wish.request);
  if (!reply) session.fail("scontrol_reboot_nodes error: " + error_text(reply.error()));
}

void cancel_reboot(Session& session, const Words& words) {
  if (session.client() == nullptr) return;
  protocol::UpdateNodeRequest request;
  request.update.nodes = words[1];
  request.update.state = "CANCEL_REBOOT";
  const auto reply = session.client()->call<protocol::Empty>(request);
  if (!reply) session.fail("slurm_update error: " + error_text(reply.error()));
}

void get_addresses(Session& session, const Words& words) {
  const auto names = expand_hosts(words[1]);
  if (!names) return session.fail(error_text(names.error()));
  if (session.client() == nullptr) return;
  for (const std::string& name : *names) {
    const std::vector<NodeConfig>* nodes = &session.client()->nodes();
    auto at = std::ranges::find(*nodes, name, &NodeConfig::name);
    if (at == nodes->end()) {
      nodes = &session.client()->nodes_with_dynamic();
      at = std::ranges::find(*nodes, name, &NodeConfig::name);
    }
    if (at == nodes->end()) {
      session.fail("scontrol: error: Node " + name + " not found");
      continue;
    }
    const auto address = net::resolve(fmt::format("{}:{}", at->address, at->port));
    if (!address) session.fail("scontrol: error: Unable to resolve address of node " + name);
    else std::printf("%s: %s\n", name.c_str(), address->text.c_str());
  }
}

void cluster(Session& session, const Words& words) {
  if (session.client() == nullptr || words.size() < 2) return;
  if (!accept_cluster("scontrol", words[1], session.client()->config())) session.exit_status = 1;
}

void schedule_log_level(Session& session, const Words& words) {
  protocol::SetRuntimeRequest request;
  if (words[1] == "0" || iequals(words[1], "disable")) request.schedule_log_level = 0;
  if (words[1] == "1" || iequals(words[1], "enable")) request.schedule_log_level = 1;
  if (!request.schedule_log_level) return session.fail("invalid schedlog level: " + words[1]);
  if (session.client() == nullptr) return;
  const auto reply = session.client()->call<protocol::Empty>(request);
  if (!reply) session.fail("slurm_set_schedlog_level error: " + error_text(reply.error()));
}

void dampening_factor(Session& session, const Words& words) {
  const auto factor = to_number<uint32_t>(words[1]);
  if (!factor || *factor == 0 || *factor > kMostDampening) {
    const int before = session.exit_status;
    session.fail("invalid dampening factor: " + words[1]);
    session.exit_status = before;  // as in Slurm, where this is no failure of the command
    return;
  }
  if (session.client() == nullptr) return;
  protocol::SetRuntimeRequest request;
  request.fair_share_dampening = *factor;
  const auto reply = session.client()->call<protocol::Empty>(request);
  if (!reply) session.fail("slurm_set_fs_dampeningfactor error: " + error_text(reply.error()));
}

void write_config_file(Session& session, const Words& words) {
  if (session.client() == nullptr) return;
  auto config = whole_config(session);
  if (!config) return session.fail("slurm_load_ctl_conf error: " + error_text(config.error()));
  protocol::QueryNodesRequest request;
  request.partitions_only = request.hidden_partitions = true;
  if (const auto reply = session.client()->call<protocol::QueryNodesReply>(request)) {
    config->partitions.clear();  // as they are now
    for (const auto& partition : reply->partitions) config->partitions.push_back(partition.config);
  }
  const std::string when = format_time(current_time());
  const char* set = std::getenv("SLURM_CONF_OUT");
  const std::string usual =
      set != nullptr && *set != '\0' ? set : session.client()->config().config_path;
  const std::string path = (words.size() > 2 ? words[2] : usual) + "." + when;
  FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr)
    return session.fail("Could not create file " + path + ": " + errno_text(errno));
  const std::string text = tables::write_config(*config, when);
  std::fwrite(text.data(), 1, text.size(), out);
  if (std::fclose(out) != 0) return session.fail("failed to write file `" + path + "'");
  if (!session.quiet) std::printf("Slurm config saved to %s\n", path.c_str());
}

namespace {

struct Block {
  std::string name, line;
  std::vector<std::string> nodes;
};

// The blocks, then the groups of them that BlockSizes makes.
std::vector<Block> all_blocks(const ClusterConfig& config) {
  std::vector<Block> out;
  const std::vector<SwitchConfig>& blocks = config.switches;
  const std::vector<uint32_t>& sizes = config.block_sizes;
  for (const SwitchConfig& one : blocks) {
    const size_t size = sizes.empty() ? one.nodes.size() : sizes.front();
    out.push_back({one.name,
                   fmt::format("BlockName={} BlockIndex={} Nodes={} BlockSize={}", one.name,
                               out.size(), fold_hosts_sorted(one.nodes), size),
                   one.nodes});
  }
  for (size_t level = 1; level < sizes.size(); ++level) {
    const size_t in_a_row = sizes[level] / sizes.front();
    for (size_t first = 0; first < blocks.size(); first += in_a_row) {
      std::vector<std::string> names, nodes;
      for (size_t at = first; at < std::min(first + in_a_row, blocks.size()); ++at) {
        names.push_back(blocks[at].name);
        nodes.insert(nodes.end(), blocks[at].nodes.begin(), blocks[at].nodes.end());
      }
      const std::string name = fold_hosts_sorted(names);
      out.push_back({name,
                     fmt::format("AggregatedBlock={} BlockIndex={} Nodes={} BlockSize={}", name,
                                 out.size(), fold_hosts_sorted(nodes), sizes[level]),
                     nodes});
    }
  }
  return out;
}

void show_blocks(Session& session, const ClusterConfig& config, const std::string& what,
                 const std::string& name, std::string_view key) {
  const auto nodes = expand_hosts(name);
  const std::vector<Block> blocks = all_blocks(config);
  const bool is_block =
      !iequals(key, "node") && std::ranges::find(blocks, name, &Block::name) != blocks.end();
  bool any = false;
  for (const Block& one : blocks) {
    const auto has = [&](const std::string& node) { return contains(one.nodes, node); };
    const bool above = nodes && !iequals(key, "block") && std::ranges::all_of(*nodes, has);
    if (!name.empty() && !(is_block ? one.name == name : above)) continue;
    std::puts(one.line.c_str());
    any = true;
  }
  if (!any)
    session.fail("scontrol: error: Topology information contains no block or node named " + what);
}

}  // namespace

// `what`: a switch, a block or nodes, by their name alone or as "switch=NAME", "node=NAME".
void show_topology(Session& session, const std::string& what) {
  const size_t equals = what.find('=');
  const std::string_view key =
      std::string_view(what).substr(0, equals == std::string::npos ? 0 : equals);
  const bool keyed = iequals(key, "switch") || iequals(key, "block") || iequals(key, "node");
  const std::string name = keyed ? what.substr(equals + 1) : what;
  const auto config = whole_config(session);
  if (!config) return session.fail("slurm_load_topo error: " + error_text(config.error()));
  if (config->switches.empty()) {
    if (keyed) return session.fail("scontrol: error: No topology information available");
    const std::string why = what.empty()
                                ? "No topology information available"
                                : "Topology information contains no switch or node named " + what;
    std::fprintf(stderr, "scontrol: error: %s\n", why.c_str());  // no failure, as in Slurm
    return;
  }
  if (iequals(config->topology_plugin, "topology/block"))
    return show_blocks(session, *config, what, name, key);
  std::map<std::string, Switch> all;
  for (const SwitchConfig& one : config->switches) all[one.name].config = &one;
  for (const SwitchConfig& one : config->switches) settle(one.name, all);
  const auto nodes = expand_hosts(name);
  const bool is_switch = all.contains(name) && !iequals(key, "node");
  bool any = false;
  for (const SwitchConfig& one : config->switches) {
    const bool wanted = name.empty() || (is_switch ? one.name == name
                                                   : nodes && !iequals(key, "switch") &&
                                                         is_above(all[one.name], *nodes));
    if (wanted) std::puts(switch_line(all[one.name]).c_str());
    any = any || wanted;
  }
  if (!any)
    session.fail("scontrol: error: Topology information contains no switch or node named " + what);
}

void update_step(Session& session, const Words& words) {
  protocol::UpdateStepRequest request;
  bool any = false;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (key.size() >= 4 && starts_with_i("StepId", key)) {
      const size_t dot = value.find('.');
      const auto job = to_number<uint32_t>(value.substr(0, dot));
      const auto step =
          dot == std::string::npos ? std::nullopt : parse_step_number(value.substr(dot + 1));
      request.all_steps = dot == std::string::npos;
      if (!job || (!request.all_steps && !step)) {
        session.fail("Invalid StepID parameter: " + words[i]);
        return session.fail("Request aborted");
      }
      request.id = {*job, step.value_or(0)};
    } else if (key.size() >= 5 && starts_with_i("TimeLimit", key)) {
      const auto minutes = parse_minutes(value);
      if (!minutes) return session.fail("scontrol: error: Invalid TimeLimit value");
      request.time_limit = *minutes;
      any = true;
    } else {
      session.fail("Update of this parameter is not supported: " + words[i]);
      return session.fail("Request aborted");
    }
  }
  if (!any) return session.fail("No changes specified");
  if (session.client() == nullptr) return;
  const auto reply = session.client()->call<protocol::Empty>(request);
  if (!reply) session.fail("slurm_update error: " + error_text(reply.error()));
}

}  // namespace sluice::cli::scontrol
