// See check.hpp.
#include "common/config_files/check.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/config_files/load.hpp"
#include "common/config_files/name_lookups.hpp"
#include "common/config_files/programs.hpp"
#include "common/config/conf_syntax.hpp"
#include "common/model/config_value.hpp"
#include "common/config/keys/conf_ignored.hpp"
#include "common/syntax/mpi_types.hpp"
#include "common/syntax/tres_weights.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds kLookupTime{10};

// Nobody is taken for unknown because a name service does not answer.
bool group_is_unknown(const std::string& name) {
  group entry{};
  group* found = nullptr;
  std::vector<char> buffer(size_t{1} << 16);
  int failed = 0;
  while ((failed = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) ==
         ERANGE)
    buffer.resize(buffer.size() * 2);
  return failed == 0 && found == nullptr;
}

class Checker {
 public:
  Checker(const ClusterConfig& config, std::vector<std::string>& warnings)
      : config_(config), warnings_(warnings) {}

  void all() {
    addresses();
    of_this_host();
    for (const UnusableProgram& program : unusable_programs(config_))
      warnings_.push_back(sentence_of(program));
    for (std::string& warning : unknown_groups(config_)) warnings_.push_back(std::move(warning));
  }

  void of_this_host() {
    ports();
    shared_hosts();
    names();
    switches();
    keys();
    folders();
    power_saving();
    weights();
  }

 private:
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    warnings_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void addresses() {
    NameLookups lookups;
    for (const ControllerHost& host : config_.controllers) lookups.add(host.address);
    const auto is_there = [](const NodeConfig& node) {
      const bool later =
          node.state == ConfiguredNodeState::kCloud || node.state == ConfiguredNodeState::kFuture;
      return !later && !node.address.empty();
    };
    for (const NodeConfig& node : config_.nodes) {
      if (is_there(node)) lookups.add(node.address);
    }
    lookups.run(kLookupTime);
    using Answer = NameLookups::Answer;
    for (const ControllerHost& host : config_.controllers) {
      if (lookups.answer(host.address) == Answer::kUnknown)
        warn("SlurmctldHost={}: the address \"{}\" cannot be resolved here", host.name,
             host.address);
    }
    std::vector<std::string> lost, open;
    for (const NodeConfig& node : config_.nodes) {
      if (!is_there(node)) continue;
      const Answer answer = lookups.answer(node.address);
      if (answer == Answer::kUnknown) lost.push_back(node.name);
      if (answer == Answer::kNone) open.push_back(node.name);
    }
    if (!lost.empty()) warn("NodeName={}: the address cannot be resolved here", fold_hosts(lost));
    if (!open.empty())
      warn("NodeName={}: the name service did not say within {} s what the address is",
           fold_hosts(open), kLookupTime.count());
  }

  void ports() {
    std::map<std::pair<std::string, uint32_t>, std::string> taken;
    for (const NodeConfig& node : config_.nodes) {
      if (node.address.empty() || node.state == ConfiguredNodeState::kCloud ||
          node.state == ConfiguredNodeState::kFuture)
        continue;
      const auto [other, fresh] = taken.try_emplace({node.address, node.port}, node.name);
      if (!fresh)
        warn("nodes {} and {} have the same address {} and port {}", other->second, node.name,
             node.address, node.port);
    }
    for (const ControllerHost& host : config_.controllers) {
      for (uint32_t i = 0; i < config_.slurmctld_port_count; ++i) {
        const uint32_t port = config_.slurmctld_port + i;
        const auto node = taken.find({host.address, port});
        if (node != taken.end())
          warn("SlurmctldPort={} is also the port of node {} at {}", port, node->second,
               host.address);
      }
    }
  }

  // Each agent has files of its own.
  void shared_hosts() {
    std::map<std::string, std::vector<std::string>> hosts;
    for (const NodeConfig& node : config_.nodes) {
      if (node.state != ConfiguredNodeState::kFuture && !node.hostname.empty())
        hosts[node.hostname].push_back(node.name);
    }
    const std::pair<std::string_view, const std::string*> files[] = {
        {"SlurmdPidFile", &config_.slurmd_pid_file}, {"SlurmdSpoolDir", &config_.slurmd_spool_dir}};
    for (const auto& [host, nodes] : hosts) {
      for (const auto& [key, value] : files) {
        if (nodes.size() == 1 || value->find("%n") != value->npos) continue;
        warn("nodes {} are on host {}, and {}={} has no %n: one agent alone can run there",
             fold_hosts(nodes), host, key, *value);
      }
    }
  }

  // Of nodes and partitions where nothing else would notice that there is no such one.
  void names() {
    std::set<std::string> nodes, partitions;
    for (const NodeConfig& node : config_.nodes) nodes.insert(node.name);
    for (const PartitionConfig& partition : config_.partitions) partitions.insert(partition.name);
    const auto check = [this](std::string_view key, const std::vector<std::string>& given,
                              const std::set<std::string>& known) {
      std::vector<std::string> strange;
      for (const std::string& name : given) {
        if (!known.contains(name)) strange.push_back(name);
      }
      if (!strange.empty()) warn("{} names {}, which is not configured", key, fold_hosts(strange));
    };
    for (const std::string& set :
         split_hosts(config_value(config_, "SuspendExcNodes"))) {  // "n[1-9]:2"
      if (const auto expanded = expand_hosts(set.substr(0, set.find(':'))))
        check("SuspendExcNodes", *expanded, nodes);
    }
    check("SuspendExcParts", split_list(config_value(config_, "SuspendExcParts")), partitions);
    if (!mpi_kind(config_.mpi_default))
      warn("MpiDefault={} is no kind of MPI that srun knows (srun --mpi=list)",
           config_.mpi_default);
    for (const GresConfigLine& line : config_.gres_lines)
      check(fmt::format("gres.conf: Name={}", line.name), line.nodes, nodes);
  }

  // Nodes that no switch connects are as near to each other as to all others.
  void switches() {
    const bool blocks = config_.topology_plugin == "topology/block";
    if (!blocks && config_.topology_plugin != "topology/tree") return;
    const char* kind = blocks ? "block" : "switch";
    if (config_.switches.empty())
      return warn("TopologyPlugin={}: topology.conf is not there, or has no {}",
                  config_.topology_plugin, kind);
    std::set<std::string> connected;
    for (const SwitchConfig& one : config_.switches)
      connected.insert(one.nodes.begin(), one.nodes.end());
    std::vector<std::string> lost;
    for (const NodeConfig& node : config_.nodes) {
      if (!connected.contains(node.name)) lost.push_back(node.name);
    }
    if (!lost.empty()) warn("topology.conf: no {} has {}", kind, fold_hosts(lost));
  }

  void folders() {
    struct stat file {};
    const std::string& state = config_.state_save_location;
    const bool foreign = ::stat(state.c_str(), &file) == 0 && config_.slurm_user_id != 0 &&
                         file.st_uid != config_.slurm_user_id;
    if (foreign)
      warn("StateSaveLocation={} belongs to uid {}, and SlurmUser is uid {}", state, file.st_uid,
           config_.slurm_user_id);
    if (config_.job_comp_type != "jobcomp/filetxt" || config_.job_comp_loc.empty()) return;
    const std::string folder = std::filesystem::path(config_.job_comp_loc).parent_path().string();
    if (::access(folder.c_str(), F_OK) != 0)
      warn("JobCompLoc={}: the folder is not there", config_.job_comp_loc);
  }

  void power_saving() {
    const bool suspends = !config_.suspend_program.empty();
    if (suspends == !config_.resume_program.empty()) return;
    warn("{} is set and {} is not: nodes that are powered {} by Slurm stay so",
         suspends ? "SuspendProgram" : "ResumeProgram",
         suspends ? "ResumeProgram" : "SuspendProgram", suspends ? "down" : "up");
  }

  void key_file(std::string_view what, const std::string& path) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) {
      if (errno == ENOENT) warn("{}: the key {} is not there", what, path);
    } else if ((file.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      warn("{}: the key {} has mode {:04o}, and daemons take it only where nobody else may read it",
           what, path, file.st_mode & 07777);
    }
  }
  void keys() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    const bool has_own_socket = std::getenv("SLURM_SACK_KEY") != nullptr;
    if (config_.auth_type == "auth/slurm" && !has_own_socket) {
      key_file("AuthType=auth/slurm",
               (std::filesystem::path(config_.config_path).parent_path() / "slurm.key").string());
    }
    if (!has_option(split_list(config_.auth_alt_types), "auth/jwt")) return;
    const auto named = option_value(split_list(config_.auth_alt_parameters), "jwt_key");
    key_file("AuthAltTypes=auth/jwt",
             named ? *named : config_.state_save_location + "/jwt_hs256.key");
  }

  // Weights of what jobs never have count for nothing.
  void weights() {
    static constexpr std::string_view kKnown[] = {"cpu",     "mem",  "node", "energy",
                                                  "billing", "vmem", "pages"};
    const auto weights = parse_tres_weights(config_.priority_weight_tres);
    if (!weights) return;
    for (const TresWeight& weight : *weights) {
      const bool has_name = weight.tres.find('/') != std::string::npos;  // "gres/gpu", "license/a"
      if (!has_name && std::ranges::find(kKnown, weight.tres) == std::end(kKnown))
        warn("PriorityWeightTRES: there is no TRES \"{}\"", weight.tres);
    }
  }

  const ClusterConfig& config_;
  std::vector<std::string>& warnings_;
};

std::string counted(size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

ConfigCheck check_config(const std::string& path) {
  WholeConfig whole = load_whole_config(path);
  ConfigCheck check{path, std::move(whole.errors), std::move(whole.warnings), {}};
  tables::append_errors(check.errors, check_stopping_keys(whole.config));
  if (std::string ignored = tables::ignored_summary(whole.config); !ignored.empty()) {
    check.warnings.push_back(fmt::format("{}: {}", path, ignored));
  }
  check.config = std::move(whole.config);
  if (check.config.config_path.empty()) return check;  // nothing could be read
  if (std::string none = warning_without_partitions(check.config); !none.empty())
    check.warnings.push_back(std::move(none));
  Checker(check.config, check.warnings).all();
  return check;
}

std::vector<std::string> host_warnings(const ClusterConfig& config) {
  std::vector<std::string> warnings;
  Checker(config, warnings).of_this_host();
  return warnings;
}

std::vector<std::string> unknown_groups(const ClusterConfig& config) {
  std::vector<std::string> out;
  std::set<std::string> asked;
  for (const PartitionConfig& partition : config.partitions) {
    for (const std::string& group : partition.allow_groups) {
      if (asked.insert(group).second && group_is_unknown(group))
        out.push_back(fmt::format(
            "PartitionName={}: AllowGroups names \"{}\", which is no group of this host",
            partition.name, group));
    }
  }
  return out;
}

std::string warning_without_partitions(const ClusterConfig& config) {
  if (!config.partitions.empty()) return {};
  return config.config_path +
         ": it has no partition: jobs can be submitted only to those that scontrol makes";
}

std::string check_text(const ConfigCheck& check) {
  std::string out;
  for (const std::string& error : check.errors) out += "error: " + error + '\n';
  for (const std::string& warning : check.warnings) out += "warning: " + warning + '\n';
  return out + fmt::format("{}: {}, {}\n", check.path, counted(check.errors.size(), "error"),
                           counted(check.warnings.size(), "warning"));
}

}  // namespace sluice
