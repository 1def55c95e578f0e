// Keys whose value is more than one member, or needs a rule of its own.
#include "common/config/keys/conf_setters.hpp"

#include <algorithm>

#include "common/base/hostlist.hpp"
#include "common/model/standard_tres.hpp"
#include "common/config/keys/conf_ignored.hpp"
#include "common/syntax/licenses.hpp"
#include "common/syntax/tres_weights.hpp"

namespace sluice::tables {

bool set_accounting_tres(ClusterConfig& config, const ConfValue& value) {
  // always recorded, and always first
  std::vector<std::string> tres(kStandardTres.begin() + 1, kStandardTres.end());
  const auto add = [&](std::string_view name) {
    const auto same = [&](const std::string& one) { return iequals(one, name); };
    if (std::none_of(tres.begin(), tres.end(), same)) tres.emplace_back(to_lower(name));
  };
  for (const std::string& item : value.items) add(item);
  // a GPU's memory and use are recorded wherever GPUs are
  if (std::find(tres.begin(), tres.end(), "gres/gpu") != tres.end()) {
    add("gres/gpumem");
    add("gres/gpuutil");
  }
  config.accounting_storage_tres = std::move(tres);
  return true;
}

bool set_sluice_parameters(ClusterConfig& config, const ConfValue& value) {
  bool in_list = false;
  for (const std::string& item : value.items) {
    const size_t equals = std::min(item.find('='), item.size());
    const std::string_view name = std::string_view(item).substr(0, equals);
    if (iequals(name, "accept_ignored") && equals < item.size()) in_list = true;
    else if (iequals(item, "log_format=json") || iequals(item, "log_format=text")) in_list = false;
    else if (iequals(item, "submit_advice=yes") || iequals(item, "submit_advice=no"))
      in_list = false;
    else if (iequals(name, "soft_limit_qos") && item.size() > equals + 1) in_list = false;
    else if (!in_list) return false;
  }
  config.sluice_parameters = value.items;
  return true;  // what accept_ignored names is looked at when all is read
}

bool set_eio_timeout(ClusterConfig& config, const ConfValue& value) {
  config.eio_timeout = std::chrono::seconds(value.number);
  return true;
}

bool set_kill_on_bad_exit(ClusterConfig& config, const ConfValue& value) {
  config.kill_on_bad_exit = value.number != 0;
  return true;
}

bool set_priority_flags(ClusterConfig& config, const ConfValue& value) {
  config.priority_flags = value.items;
  std::erase(config.priority_flags, "0");
  return true;
}

bool set_enforce_part_limits(ClusterConfig& config, const ConfValue& value) {
  using Mode = EnforcePartLimits;
  // as the key's names
  static constexpr Mode kModes[] = {Mode::kNo,  Mode::kAny, Mode::kAll,
                                    Mode::kAny, Mode::kNo,  Mode::kAny};
  config.enforce_part_limits = kModes[value.number];
  return true;
}

bool set_private_data(ClusterConfig& config, const ConfValue& value) {
  config.private_data = has_option(value.items, "all") ? split_list(kPrivateKinds) : value.items;
  std::erase(config.private_data, "none");
  return true;
}

std::optional<PreemptWords> read_preempt_mode(const ConfValue& value) {
  static constexpr std::pair<std::string_view, PreemptMode> kModes[] = {
      {"OFF", PreemptMode::kOff},
      {"CANCEL", PreemptMode::kCancel},
      {"REQUEUE", PreemptMode::kRequeue},
      {"SUSPEND", PreemptMode::kSuspend}};
  PreemptWords words;
  int modes = 0;
  for (const std::string& item : value.items) {
    if (item == "GANG") words.gang = true;
    if (item == "WITHIN") words.within = true;
    if (item == "PRIORITY") words.by_priority = true;
    for (const auto& [name, one] : kModes) {
      if (item != name) continue;
      words.mode = one;
      ++modes;
    }
  }
  if (modes > 1) return std::nullopt;
  return words;
}

bool set_preempt_mode(ClusterConfig& config, const ConfValue& value) {
  const auto words = read_preempt_mode(value);
  if (!words) return false;
  config.preempt_mode = words->mode;
  config.preempt_gang = words->gang;
  config.preempt_within = words->within;
  config.preempt_by_priority = words->by_priority;
  return true;
}

namespace {

// "head" and "10.0.0.1", or as many of both: "head[1-2]" and "10.0.0.[1-2]".
bool add_controllers(ClusterConfig& config, std::string_view names, std::string_view addresses) {
  if (names.empty() || names.find_first_of("() ") != names.npos || split_hosts(names).size() != 1)
    return false;
  const auto hosts = expand_hosts(names);
  const auto at = expand_hosts(addresses.empty() ? names : addresses);
  if (!hosts || !at || at->size() != hosts->size()) return false;
  for (size_t i = 0; i < hosts->size(); ++i) {
    for (const ControllerHost& other : config.controllers) {
      if (other.name == (*hosts)[i]) return false;
    }
    config.controllers.push_back({(*hosts)[i], (*at)[i]});
  }
  return true;
}

}  // namespace

bool set_controller_host(ClusterConfig& config, const ConfValue& value) {
  std::string_view text = value.text, address;
  const size_t open = text.find('(');
  if (open != std::string_view::npos) {
    if (!text.ends_with(')') || open + 2 > text.size() - 1) return false;
    address = text.substr(open + 1, text.size() - open - 2);
    text = text.substr(0, open);
  }
  return add_controllers(config, text, address);
}

bool set_licenses(ClusterConfig& config, const ConfValue& value) {
  if (!parse_licenses(value.text)) return false;
  config.licenses = value.text;
  return true;
}

bool set_priority_tres(ClusterConfig& config, const ConfValue& value) {
  config.priority_weight_tres = value.text;
  return parse_tres_weights(value.text).has_value();
}

bool is_exit_codes(std::string_view text) {
  constexpr uint32_t kLargest = 255;
  for (const std::string& item : split_list(text)) {
    const size_t dash = item.find('-');
    const auto first = to_number<uint32_t>(item.substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : to_number<uint32_t>(item.substr(dash + 1));
    if (!first || !last || *first > *last || *last > kLargest) return false;
  }
  return true;
}

bool set_controller_ports(ClusterConfig& config, const ConfValue& value) {
  config.slurmctld_port = static_cast<uint32_t>(value.number);
  config.slurmctld_port_count = static_cast<uint32_t>(value.span.count());
  return true;
}

}  // namespace sluice::tables
