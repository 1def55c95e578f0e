// See conf_ignored.hpp.
#include "common/config/keys/conf_ignored.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/config/keys/conf_keys.hpp"

namespace sluice::tables {
namespace {

using Class = IgnoredClass;

constexpr std::string_view kNoAccounts =
    "there is no accounting here: a user may name any account and QOS, and is believed";
constexpr std::string_view kNoLimits =
    "there is no accounting here: no account, limit or QOS is checked";
constexpr std::string_view kNoRecords =
    "nothing is hidden by it here, since there is no accounting";

constexpr StoppingKey kStopping[] = {
    {"AccountingStorageEnforce", Class::kEnforcement, kNoLimits},
    {"AuthAltTypes", Class::kSecurity, "only auth/jwt can be used beside AuthType"},
    {"CertmgrType", Class::kSecurity,
     "it gives no node a certificate and renews none: agents show those of their files"},
    {"CliFilterPlugins", Class::kEnforcement, "the commands run no filters"},
    {"JobSubmitPlugins", Class::kEnforcement,
     "plugins of others are not loaded: nothing looks at jobs when they are submitted"},
    {"JobSubmitPlugins=throttle", Class::kEnforcement,
     "nobody's jobs are counted when they are submitted"},
    {"MCSPlugin", Class::kSecurity, "jobs and nodes have no labels that keep users apart"},
    {"PartitionName.AllowAccounts", Class::kEnforcement, kNoAccounts},
    {"PartitionName.AllowQos", Class::kEnforcement, kNoAccounts},
    {"PartitionName.DenyAccounts", Class::kEnforcement, kNoAccounts},
    {"PartitionName.DenyQos", Class::kEnforcement, kNoAccounts},
    {"PartitionName.QOS", Class::kEnforcement, kNoLimits},
    {"PlugStackConfig=required", Class::kEnforcement,
     "SPANK plugins are not loaded, those that are required neither"},
    {"PrivateData=all", Class::kSecurity,
     "accounts, events, usage and users are not hidden here, since there is no accounting"},
    {"PrivateData=accounts", Class::kSecurity, kNoRecords},
    {"PrivateData=events", Class::kSecurity, kNoRecords},
    {"PrivateData=usage", Class::kSecurity, kNoRecords},
    {"PrivateData=users", Class::kSecurity, kNoRecords},
    {"SlurmctldParameters=disable_triggers", Class::kEnforcement,
     "triggers cannot be switched off"},
};

struct Group {
  Class is;
  std::string_view names;  // keys, or how they begin with a `*`; "A,B*,C"
};
constexpr Group kGroups[] = {
    {Class::kAccounting,
     "Accounting*,AcctGather*,JobComp*,TrackWCKey,MaxDBDMsgs,FairShareDampeningFactor,PartitionName.TRESBillingWeights,"
     "NodeName.TRESWeights,JobAcctGather*,PriorityDecayHalfLife,PriorityUsageResetPeriod,SluiceParameters"},
    {Class::kScheduling,
     "Priority*,Preempt*,Scheduler*,SelectType*,Topology*,LicenseParameters,BurstBuffer*,FederationParameters,"
     "DependencyParameters,PartitionName.Alternate,PartitionName.Exclusive*,PartitionName.SelectTypeParameters,"
     "PartitionName.Topology,PartitionName.PreemptMode,NodeName.Topology,NodeName.RestrictedCoresPerGPU,ScronParameters"},
    {Class::kPower, "PowerAction*,Power*,Resume*,Suspend*,CpuFreq*,ReconfigFlags"},
    {Class::kNodes,
     "NodeName*,gres.conf*,cgroup.conf*,Switch*,TaskPlugin*,SlurmdParameters,LaunchParameters,helpers.conf*,Feature*,"
     "DefRuntimePlugin,DebugFlags"},
    {Class::kPlugins,
     "JobSubmitPlugins,PlugStackConfig,PrEp*,CliFilter*,SlurmctldPrimary*,PluginDir,Serializer*,"
     "job_container.conf*,NodeFeaturesPlugins"},
    {Class::kPlugins, "MCSParameters"},
    {Class::kNetwork,
     "Auth*,Cert*,Communication*,CredType,HashPlugin,Http*,Url*,Metrics*,Slurmctld*,SlurmdHttp*,Slurmrestd*,Slurmstepd*,"
     "TLS*,EpilogMsgTime,DataParserParameters,X11Parameters,Bcast*"},
    {Class::kMpi, "Mpi*,mpi.conf*"},
};

bool fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return iequals(pattern, name);
  pattern.remove_suffix(1);
  return name.size() >= pattern.size() && iequals(name.substr(0, pattern.size()), pattern);
}

std::string_view without_option(std::string_view name) { return name.substr(0, name.find('=')); }
// "AllowQos" of "PartitionName.AllowQos", "CgroupSlice" of "cgroup.conf: CgroupSlice".
std::string_view without_section(std::string_view name) {
  const size_t space = name.rfind(' '), point = name.rfind('.', name.find('='));
  if (space != name.npos) return name.substr(space + 1);
  return point != name.npos ? name.substr(point + 1) : name;
}

const StoppingKey* find_stopping(std::string_view name) {
  const auto same = [&](std::string_view what) {
    return std::ranges::find_if(kStopping,
                                [&](const StoppingKey& one) { return iequals(one.name, what); });
  };
  if (const auto exact = same(name); exact != std::end(kStopping)) return exact;
  const auto key = same(without_option(name));
  return key != std::end(kStopping) ? key : nullptr;
}

// Who names another account is let in: the key acts, and keeps nobody out who wants in.
bool acts_by_name(std::string_view name) {
  const StoppingKey* stopping = find_stopping(name);
  return stopping != nullptr && stopping->why == kNoAccounts;
}

bool is_accepted(const std::vector<std::string>& accepted, std::string_view name) {
  return std::ranges::any_of(accepted, [&](const std::string& one) {
    return iequals(one, name) || iequals(one, without_option(name)) ||
           iequals(one, without_section(name)) ||
           iequals(one, without_section(without_option(name)));
  });
}

template <class Keys>
bool has_key(const Keys& keys, std::string_view name) {
  return find_key(keys, name) != nullptr;
}

// Of SluiceParameters.
bool is_other_option(std::string_view name) {
  constexpr std::string_view kNames[] = {"log_format", "soft_limit_qos", "submit_advice"};
  return std::ranges::any_of(kNames, [&](std::string_view one) { return iequals(one, name); });
}

}  // namespace

std::string_view class_text(IgnoredClass is) {
  static constexpr std::string_view kTexts[] = {
      "security",          "enforcement", "accounting", "scheduling", "power saving",
      "nodes and devices", "plugins",     "network",    "MPI",        "other"};
  return kTexts[static_cast<size_t>(is)];
}

IgnoredClass ignored_class(std::string_view name) {
  if (const StoppingKey* stopping = find_stopping(name)) return stopping->is;
  for (const Group& group : kGroups) {
    for (const std::string& pattern : split_list(group.names)) {
      if (fits(pattern, without_option(name))) return group.is;
    }
  }
  return Class::kOther;
}

const std::vector<StoppingKey>& stopping_keys() {
  static const std::vector<StoppingKey> all(std::begin(kStopping), std::end(kStopping));
  return all;
}

std::vector<std::string> accepted_ignored(const ClusterConfig& config) {
  constexpr std::string_view kName = "accept_ignored=";
  std::vector<std::string> accepted;
  bool in_list = false;
  for (const std::string& item : config.sluice_parameters) {
    const bool begins = item.size() >= kName.size() &&
                        iequals(std::string_view(item).substr(0, kName.size()), kName);
    if (begins) in_list = true;
    else if (is_other_option(without_option(item))) in_list = false;
    if (in_list) accepted.push_back(begins ? item.substr(kName.size()) : item);
  }
  return accepted;
}

bool is_ignorable(std::string_view name) {
  const std::string_view key = without_section(without_option(name));
  return find_stopping(name) != nullptr || has_key(global_keys(), key) ||
         has_key(node_keys(), key) || has_key(partition_keys(), key) ||
         has_key(cgroup_keys(), key) || has_key(gres_keys(), key) || has_key(mpi_keys(), key) ||
         has_key(container_keys(), key) || has_key(helpers_keys(), key);
}

std::vector<std::string> unenforced_keys(const ClusterConfig& config) {
  const auto enforces = [&](std::string_view word) {
    return !config.accounting_storage_type.empty() &&
           has_option(config.accounting_storage_enforce, word);
  };
  std::vector<std::string> keys;
  if (config.accounting_storage_type.empty()) keys.emplace_back("AccountingStorageEnforce");
  if (!enforces("associations")) {
    keys.emplace_back("PartitionName.AllowAccounts");
    keys.emplace_back("PartitionName.DenyAccounts");
  }
  if (!enforces("qos")) {
    keys.emplace_back("PartitionName.AllowQos");
    keys.emplace_back("PartitionName.DenyQos");
  }
  if (!enforces("limits")) {
    keys.emplace_back("PartitionName.QOS");
    keys.emplace_back("SluiceParameters=soft_limit_qos");
  }
  return keys;
}

std::vector<std::string> refused_names(const std::vector<std::string>& names,
                                       const ClusterConfig& config) {
  const std::vector<std::string> accepted = accepted_ignored(config);
  std::vector<std::string> refused;
  for (const std::string& name : names) {
    const StoppingKey* stopping = find_stopping(name);
    if (stopping == nullptr || is_accepted(accepted, name)) continue;
    refused.push_back(
        fmt::format("{} is set, but {}; take it out, or say SluiceParameters=accept_ignored={}",
                    name, stopping->why, without_section(without_option(name))));
  }
  return refused;
}

Status check_ignored(const ClusterConfig& config, const KeyPlaces& places) {
  const std::string file = config.config_path.empty() ? "slurm.conf" : config.config_path;
  std::string text;
  for (const std::string& name : config.without_effect) {
    const auto place = places.find(to_lower(without_section(without_option(name))));
    for (const std::string& refused : refused_names({name}, config))
      text += fmt::format("{}{}: {}", text.empty() ? "" : "\n",
                          place != places.end() ? place->second : file, refused);
  }
  if (text.empty()) return {};
  return failure(ErrorCode::kInvalidConfig, text);
}

std::string ignored_summary(const ClusterConfig& config) {
  std::map<Class, std::string> by_class;
  std::string believed;
  for (const std::string& name : config.without_effect) {
    std::string& names = acts_by_name(name) ? believed : by_class[ignored_class(name)];
    names += (names.empty() ? "" : ", ") + name;
  }
  std::string out;
  for (const auto& [is, names] : by_class)
    out += fmt::format("{} {}: {}", out.empty() ? "" : ";", class_text(is), names);
  if (!out.empty()) out = "keys without effect:" + out;
  if (!believed.empty())
    out += fmt::format(
        "{}keys that act by the account or QOS that a user names, which nobody checks: {}",
        out.empty() ? "" : "; ", believed);
  return out;
}

std::string ignored_mark(const ClusterConfig& config, std::string_view key) {
  std::string options;
  for (const std::string& name : config.without_effect) {
    if (!iequals(without_option(name), key)) continue;
    const size_t equals = name.find('=');
    if (equals == std::string::npos) return "  # no effect";
    options += (options.empty() ? "" : ",") + name.substr(equals + 1);
  }
  return options.empty() ? "" : "  # no effect: " + options;
}

}  // namespace sluice::tables
