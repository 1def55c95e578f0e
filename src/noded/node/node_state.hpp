// What all parts of the agent share. It lives on the agent's one io_context thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "common/model/cluster_config.hpp"
#include "common/model/node.hpp"
#include "common/auth/signer.hpp"
#include "common/environment/environment.hpp"
#include "noded/node/controller_clock.hpp"
#include "noded/node/last_job.hpp"
#include "noded/node/mailbox.hpp"

namespace sluice::noded {

struct NodeState {
  boost::asio::io_context& io;
  std::shared_ptr<Mailbox> mailbox;  // for callbacks that come on other threads
  std::string name;
  std::string spool_dir;
  std::string sbin_dir;  // where the step daemon is
  std::string config_path;
  bool has_own_config = false;  // config_path was not sent by the controller
  std::shared_ptr<const ClusterConfig> config;
  NodeConfig self;                              // this node's line
  std::shared_ptr<const NodeConfig> node_line;  // -Z: what it registers with; else null
  bool claims_future = false;                   // -F: as RegisterNodeRequest says it
  NodeHardware hardware;                        // as reported
  NodeHardware real_hardware;
  std::vector<uint32_t> processors;                    // processor_order()
  std::optional<std::vector<GresDevices>> found_gpus;  // by AutoDetect, once it was asked for
  std::string cluster_id;                              // empty: never registered
  // of the spool folder, made with it; empty: it could not be written
  std::string spool_id;
  uint64_t epoch = 0;        // of the controller, by its last ping
  Time pinged_by = kNoTime;  // likewise, when it was started
  // likewise, of the one that took the last registration
  Time registered_with = kNoTime;
  std::string credential_key;  // the cluster's, public; empty: not known
  std::optional<LastJob> last_job;
  std::optional<net::CredentialVerifier> verifier;  // empty: not registered since the start
  Time started = kNoTime;
  Time last_controller_message = kNoTime;
  ControllerClock controller_clock;
  // by the controller's clock, as the next one: when it answered this agent's last registration:
  // what it had ended until then was told, and an older launch may be of that
  Time answered_from = kNoTime;
  // what the controller signed before counts no more: heard_controller()
  Time launches_from = kNoTime;
  Time features_changed = kNoTime;  // order that was carried out without a reboot
  // order that no reboot follows, as RegisterNodeRequest says it
  Time reboot_failed = kNoTime;
  int reboot_status = 0;
};

[[nodiscard]] std::string step_daemon(const NodeState& node);  // its program
[[nodiscard]] Time now();
[[nodiscard]] Time controller_time(const NodeState& node);  // of now

// The controller was heard just now. After a silence in which it may have given this node up, its
// jobs may run elsewhere: launches that it signed before count no more, as one may have waited in a
// connection that was cut.
void heard_controller(NodeState& node);

// This node's line in `config`; nullptr when it has none.
[[nodiscard]] const NodeConfig* find_node_config(const ClusterConfig& config,
                                                 std::string_view name);
// What %N is: the host's short name; where several nodes are on one host, the node's, as each has
// files of its own.
[[nodiscard]] std::string host_in_file_names(const ClusterConfig& config, const NodeConfig& self);

// What every program finds that the agent starts for itself, and those of the site: where programs
// are, and whose it is.
[[nodiscard]] Environment helper_environment(const NodeState& node);

// Of step daemons and their kin: it tells later agents of which cluster and spool folder they are.
inline constexpr const char* kClusterOfDaemon = "SLUICE_STEP_CLUSTER";
inline constexpr const char* kSpoolOfDaemon = "SLUICE_STEP_SPOOL";
[[nodiscard]] Environment daemon_environment(const NodeState& node);

// Takes a newer configuration over.
void adopt_config(NodeState& node, ClusterConfig config);
// As the controller sends it. A gres.conf or cgroup.conf that only the host has holds: many sites
// keep theirs on the nodes alone.
void adopt_sent_config(NodeState& node, ClusterConfig config);

}  // namespace sluice::noded
