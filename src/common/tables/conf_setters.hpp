// Keys whose value is more than one member, or needs a rule of its own.
#pragma once

#include "common/tables/conf_keys.hpp"

namespace sluice::tables {

bool set_accounting_tres(ClusterConfig& config, const ConfValue& value);
bool set_eio_timeout(ClusterConfig& config, const ConfValue& value);
bool set_enforce_part_limits(ClusterConfig& config, const ConfValue& value);
bool set_preempt_mode(ClusterConfig& config, const ConfValue& value);
bool set_controller_host(ClusterConfig& config, const ConfValue& value);
bool set_controller_ports(ClusterConfig& config, const ConfValue& value);

// The mode and GANG of a PreemptMode value; false when it names two modes. OFF may stand alone
// only.
bool read_preempt_mode(const ConfValue& value, PreemptMode& mode, bool& gang);

}  // namespace sluice::tables
