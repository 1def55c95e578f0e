// Keys whose value is more than one member, or needs a rule of its own.
#pragma once

#include "common/config/keys/conf_keys.hpp"

namespace sluice::tables {

bool set_accounting_tres(ClusterConfig& config, const ConfValue& value);
// The options of SluiceParameters. What follows accept_ignored= without a "=" goes on with its
// list.
bool set_sluice_parameters(ClusterConfig& config, const ConfValue& value);
bool set_eio_timeout(ClusterConfig& config, const ConfValue& value);
// As in Slurm, any number but 0.
bool set_kill_on_bad_exit(ClusterConfig& config, const ConfValue& value);
// `0` is none of them.
bool set_priority_flags(ClusterConfig& config, const ConfValue& value);
bool set_enforce_part_limits(ClusterConfig& config, const ConfValue& value);
// `all` is each kind of data, `none` says nothing more.
bool set_private_data(ClusterConfig& config, const ConfValue& value);
inline constexpr std::string_view kPrivateKinds =
    "accounts,cloud,events,jobs,nodes,partitions,reservations,usage,users";
bool set_preempt_mode(ClusterConfig& config, const ConfValue& value);
bool set_controller_host(ClusterConfig& config, const ConfValue& value);
bool set_controller_ports(ClusterConfig& config, const ConfValue& value);

// "matlab:10,ansys@server:5": names with counts up to 2^32.
bool set_licenses(ClusterConfig& config, const ConfValue& value);
inline constexpr std::string_view kLicenseWords = "a comma-separated list of NAME or NAME:COUNT";

// "CPU=1000,Mem=2000": names of TRES with numbers.
bool set_priority_tres(ClusterConfig& config, const ConfValue& value);
inline constexpr std::string_view kTresWeightWords = "a comma-separated list of TRES=NUMBER";

// "1-9,18": exit codes and ranges of them.
bool is_exit_codes(std::string_view text);
template <std::string ClusterConfig::*Member>
bool set_exit_codes(ClusterConfig& config, const ConfValue& value) {
  config.*Member = value.text;
  return is_exit_codes(value.text);
}
inline constexpr std::string_view kExitCodeWords =
    "a comma-separated list of exit codes from 0 to 255 and ranges such as 1-9";

// A PreemptMode value: a mode, and what may stand beside it.
struct PreemptWords {
  PreemptMode mode = PreemptMode::kOff;
  bool gang = false, within = false, by_priority = false;
};
// nullopt when it names two modes.
std::optional<PreemptWords> read_preempt_mode(const ConfValue& value);

}  // namespace sluice::tables
