// `scontrol show config`: the rows of the table in order, each by its kind's format, and a few that
// follow from more than one key.
#include "common/config/conf_render.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/check.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/base/version.hpp"
#include "common/config/keys/conf_ignored.hpp"
#include "common/config/keys/conf_keys.hpp"
#include "common/config/keys/conf_value.hpp"

namespace sluice::tables {
namespace {

constexpr uint64_t kInfinite16 = 65535;
constexpr uint64_t kNotSet16 = 65534;

std::string yes_no(bool on) { return on ? "yes" : "no"; }

std::string with_unit(const ConfValue& value, const ConfRule& rule, std::string_view unit) {
  if (value.number == UINT64_MAX) {
    // counts of 16 bits show the number that stands for no limit
    return rule.max == kMax16 ? fmt::format("{}{}", kInfinite16, unit) : "INFINITE";
  }
  return fmt::format("{}{}", value.number, unit);
}

// A value of its kind, as the report prints it.
std::string formatted(const ConfRule& rule, std::string_view unit, const ConfValue& value) {
  switch (rule.kind) {
    case ConfKind::kNumber: return with_unit(value, rule, unit);
    case ConfKind::kSeconds: return with_unit(value, rule, " sec");
    case ConfKind::kMinutes:
      return value.number == UINT64_MAX ? "UNLIMITED" : fmt::format("{} min", value.number);
    case ConfKind::kMicroseconds: return with_unit(value, rule, " usec");
    case ConfKind::kMilliseconds: return with_unit(value, rule, " ms");
    case ConfKind::kBool: return yes_no(value.number != 0);
    case ConfKind::kFlag: return value.number != 0 ? "1" : "0";
    case ConfKind::kMemory: return value.number == 0 ? "UNLIMITED" : std::to_string(value.number);
    case ConfKind::kPercent: return fmt::format("{:.1f}%", value.real);
    case ConfKind::kTimeLimit:
    case ConfKind::kTimeSpan:
      return value.number == UINT64_MAX ? "INFINITE" : format_span(value.span);
    default: return value.text;
  }
}

template <class Owner>
std::string set_or_default(const ConfKey<Owner>& row,
                           const std::map<std::string, std::string>& values) {
  const auto set = values.find(std::string(row.name));
  const std::string_view text = set != values.end() ? std::string_view(set->second) : row.fallback;
  if (text.empty()) return std::string(row.unset);
  const std::optional<ConfValue> value = parse_conf_value(rule_of(row), text);
  SLUICE_CHECK(value);  // it was checked when it was read
  return formatted(rule_of(row), row.unit, *value);
}

class Report {
 public:
  Report(const ClusterConfig& config, const ConfigReport& report)
      : config_(config), report_(report) {}

  std::string text() {
    out_ = fmt::format("Configuration data as of {}\n", report_.as_of);
    for (const GlobalKey& row : global_keys()) {
      if (is_of_multifactor(row.name) && config_.priority_type == "priority/basic") continue;
      if (const LineWriter* writer = writer_of(row.name)) (this->*writer->write)(row);
      else if (row.is_shown || is_own_and_set(row))
        line(heading(row), set_or_default(row, config_.values));
    }
    add_cgroup();
    add_mpi();
    out_ += '\n';
    for (const std::string& ping : report_.ping_lines) out_ += ping + '\n';
    return std::move(out_);
  }

 private:
  // Sluice's own key has no line in Slurm's output: it is there where it says something.
  [[nodiscard]] bool is_own_and_set(const GlobalKey& row) const {
    return row.name == "SluiceParameters" && config_.values.contains(std::string(row.name));
  }
  struct LineWriter {
    std::string_view key;
    void (Report::*write)(const GlobalKey&);
  };

  static const LineWriter* writer_of(std::string_view key);

  static std::string_view heading(const GlobalKey& row) {
    return row.heading.empty() ? row.name : row.heading;
  }
  // `section`: what stands before the key's name in ClusterConfig::without_effect.
  void line(std::string_view name, std::string_view value, std::string_view section = {}) {
    const std::string mark = ignored_mark(config_, fmt::format("{}{}", section, name));
    fmt::format_to(std::back_inserter(out_), "{:<23} = {}{}\n", name, value, mark);
  }
  void list(const GlobalKey& row, const std::vector<std::string>& items) {
    line(heading(row), items.empty() ? std::string(row.unset) : join(items, ","));
  }
  void numbered(std::string_view name, const std::vector<std::string>& items) {
    for (size_t i = 0; i < items.size(); ++i) line(fmt::format("{}[{}]", name, i), items[i]);
  }

  static bool is_of_multifactor(std::string_view key) {
    constexpr std::string_view kKeys[] = {"PriorityDecayHalfLife", "PriorityCalcPeriod",
                                          "PriorityFavorSmall",    "PriorityFlags",
                                          "PriorityMaxAge",        "PriorityUsageResetPeriod"};
    return key.starts_with("PriorityWeight") || std::ranges::find(kKeys, key) != std::end(kKeys);
  }
  // it follows from other keys
  void priority_type(const GlobalKey& row) { line(row.name, config_.priority_type); }

  // what the controller knows
  void boot_time(const GlobalKey& row) { line(row.name, report_.boot_time); }
  void next_job_id(const GlobalKey& row) { line(row.name, std::to_string(report_.next_job_id)); }
  void slurm_conf(const GlobalKey& row) { line(row.name, config_.config_path); }
  void version(const GlobalKey& row) { line(row.name, kSlurmVersion); }
  void hash(const GlobalKey& row) { line(row.name, "Match"); }
  // several agents may always share a host; old tools look for the capital letter
  void multiple_slurmd(const GlobalKey& row) { line(row.name, "Yes"); }

  // what several keys, or the members behind them, say
  void storage_tres(const GlobalKey& row) { list(row, config_.accounting_storage_tres); }
  void storage_enforce(const GlobalKey& row) { list(row, config_.accounting_storage_enforce); }
  void prolog_flags(const GlobalKey& row) { list(row, config_.prolog_flags); }
  void select_parameters(const GlobalKey& row) { list(row, config_.select_type_parameters); }
  void task_plugin(const GlobalKey& row) { list(row, config_.task_plugin); }
  void propagated(const GlobalKey& row) { list(row, config_.propagate_resource_limits); }
  void slurm_user(const GlobalKey& row) {
    line(row.name, fmt::format("{}({})", config_.slurm_user, config_.slurm_user_id));
  }
  void slurmd_user(const GlobalKey& row) {
    line(row.name, fmt::format("{}({})", config_.slurmd_user, config_.slurmd_user_id));
  }
  void mail_prog(const GlobalKey& row) { line(row.name, config_.mail_prog); }
  void cluster_name(const GlobalKey& row) { line(row.name, config_.cluster_name); }
  void password(const GlobalKey& row) {
    line(row.name, config_.values.contains(std::string(row.name)) ? "(hidden)" : "(null)");
  }
  void controllers(const GlobalKey& row) {
    std::vector<std::string> hosts;
    for (const ControllerHost& host : config_.controllers) {
      hosts.push_back(host.address == host.name ? host.name
                                                : fmt::format("{}({})", host.name, host.address));
    }
    numbered(row.name, hosts);
  }
  void prolog(const GlobalKey& row) { numbered(row.name, config_.prolog); }
  void epilog(const GlobalKey& row) { numbered(row.name, config_.epilog); }
  void prolog_slurmctld(const GlobalKey& row) { numbered(row.name, config_.prolog_slurmctld); }
  void epilog_slurmctld(const GlobalKey& row) { numbered(row.name, config_.epilog_slurmctld); }

  // one line of the two: the one per CPU when it is set
  void def_mem_per_cpu(const GlobalKey& row) {
    if (config_.def_mem_per_cpu_mib) line(row.name, std::to_string(config_.def_mem_per_cpu_mib));
  }
  void def_mem_per_node(const GlobalKey& row) {
    if (!config_.def_mem_per_cpu_mib) line(row.name, set_or_default(row, config_.values));
  }
  void max_mem_per_cpu(const GlobalKey& row) {
    if (config_.max_mem_per_cpu_mib) line(row.name, std::to_string(config_.max_mem_per_cpu_mib));
  }
  void max_mem_per_node(const GlobalKey& row) {
    if (!config_.max_mem_per_cpu_mib) line(row.name, set_or_default(row, config_.values));
  }
  void job_defaults(const GlobalKey& row) {
    std::vector<std::string> defaults;
    if (config_.def_cpu_per_gpu) {
      defaults.push_back(fmt::format("DefCpuPerGPU={}", config_.def_cpu_per_gpu));
    }
    if (config_.def_mem_per_gpu_mib) {
      defaults.push_back(fmt::format("DefMemPerGPU={}", config_.def_mem_per_gpu_mib));
    }
    list(row, defaults);
  }
  void private_data(const GlobalKey& row) { list(row, config_.private_data); }
  void enforce_part_limits(const GlobalKey& row) {
    static constexpr const char* kNames[] = {"NO", "ANY", "ALL"};
    line(row.name, kNames[static_cast<uint32_t>(config_.enforce_part_limits)]);
  }
  void health_check_timeout(const GlobalKey& row) {
    const bool used =
        !config_.health_check_program.empty() || config_.values.contains("HealthCheckTimeout");
    line(row.name, used ? set_or_default(row, config_.values) : "0 sec");
  }
  void max_dbd_msgs(const GlobalKey& row) {
    constexpr uint64_t kLeast = 10000;
    const uint64_t usual =
        std::max<uint64_t>(kLeast, uint64_t{config_.max_job_count} * 2 + config_.nodes.size() * 4);
    const auto set = config_.values.find(std::string(row.name));
    line(row.name, set != config_.values.end() ? set->second : std::to_string(usual));
  }
  void unkillable_step_timeout(const GlobalKey& row) {
    line(row.name, fmt::format("{} sec", to_seconds(config_.unkillable_step_timeout)));
  }
  void max_node_count(const GlobalKey& row) {
    line(row.name,
         std::to_string(config_.max_node_count ? config_.max_node_count : config_.nodes.size()));
  }
  void prolog_epilog_timeout(const GlobalKey& row) {
    const Duration timeout = config_.prolog_epilog_timeout;
    line(row.name, std::to_string(timeout == kNoLimit ? kNotSet16 : to_seconds(timeout)));
  }

  // shown where anything is done with cgroups
  void add_cgroup() {
    const auto uses = [](std::string_view plugin) { return plugin.ends_with("/cgroup"); };
    if (!config_.cgroup.present && !uses(config_.proctrack_type) &&
        !uses(config_.job_acct_gather_type) &&
        std::none_of(config_.task_plugin.begin(), config_.task_plugin.end(), uses)) {
      return;
    }
    out_ += "\nCgroup Support Configuration:\n";
    for (const auto& row : cgroup_keys()) {
      if (!row.is_shown) continue;
      std::string value = set_or_default(row, config_.cgroup.values);
      if (row.kind == ConfKind::kMemory) value += " MB";
      line(row.name, value, "cgroup.conf: ");
    }
  }
  void add_mpi() {
    out_ += "\nMPI Plugins Configuration:\n";
    for (const auto& row : mpi_keys())
      line(row.name, set_or_default(row, config_.values), "mpi.conf: ");
  }

  const ClusterConfig& config_;
  const ConfigReport& report_;
  std::string out_;
};

const Report::LineWriter* Report::writer_of(std::string_view key) {
  static constexpr LineWriter kWriters[] = {
      {"AccountingStorageEnforce", &Report::storage_enforce},
      {"AccountingStorageTRES", &Report::storage_tres},
      {"BOOT_TIME", &Report::boot_time},
      {"ClusterName", &Report::cluster_name},
      {"DefMemPerCPU", &Report::def_mem_per_cpu},
      {"DefMemPerNode", &Report::def_mem_per_node},
      {"EnforcePartLimits", &Report::enforce_part_limits},
      {"Epilog", &Report::epilog},
      {"EpilogSlurmctld", &Report::epilog_slurmctld},
      {"HASH_VAL", &Report::hash},
      {"HealthCheckTimeout", &Report::health_check_timeout},
      {"JobCompPass", &Report::password},
      {"JobDefaults", &Report::job_defaults},
      {"MailProg", &Report::mail_prog},
      {"MaxDBDMsgs", &Report::max_dbd_msgs},
      {"MaxMemPerCPU", &Report::max_mem_per_cpu},
      {"MaxMemPerNode", &Report::max_mem_per_node},
      {"MaxNodeCount", &Report::max_node_count},
      {"MULTIPLE_SLURMD", &Report::multiple_slurmd},
      {"NEXT_JOB_ID", &Report::next_job_id},
      {"Prolog", &Report::prolog},
      {"PrologEpilogTimeout", &Report::prolog_epilog_timeout},
      {"PriorityType", &Report::priority_type},
      {"PrivateData", &Report::private_data},
      {"PrologFlags", &Report::prolog_flags},
      {"PrologSlurmctld", &Report::prolog_slurmctld},
      {"PropagateResourceLimits", &Report::propagated},
      {"SelectTypeParameters", &Report::select_parameters},
      {"SlurmctldHost", &Report::controllers},
      {"SlurmdUser", &Report::slurmd_user},
      {"SlurmUser", &Report::slurm_user},
      {"SLURM_CONF", &Report::slurm_conf},
      {"SLURM_VERSION", &Report::version},
      {"TaskPlugin", &Report::task_plugin},
      {"UnkillableStepTimeout", &Report::unkillable_step_timeout},
  };
  const auto* found = std::find_if(std::begin(kWriters), std::end(kWriters),
                                   [&](const LineWriter& one) { return one.key == key; });
  return found == std::end(kWriters) ? nullptr : found;
}

}  // namespace

std::string render_config(const ClusterConfig& config, const ConfigReport& report) {
  return Report(config, report).text();
}

}  // namespace sluice::tables
