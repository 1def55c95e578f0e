#include "noded/node/registrar.hpp"

#include <algorithm>
#include <fstream>
#include <tuple>
#include <utility>

#include "common/base/hex_digits.hpp"
#include "common/base/text.hpp"
#include "common/os/replace_file.hpp"
#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "common/auth/crypto.hpp"
#include "common/config_files/load.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/protocol_version.hpp"
#include "noded/node/node_line.hpp"

namespace sluice::noded {
namespace {

constexpr auto kLookAgain = std::chrono::seconds(60);  // at a clock that is wrong

std::string id_file(const std::string& spool_dir) { return spool_dir + "/cluster_id"; }

std::string key_file(const std::string& spool_dir) { return spool_dir + "/credential_key"; }

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The controller pings several times in this time.
Duration longest_silence(const ClusterConfig& config) {
  constexpr Duration kShortest = std::chrono::seconds(3), kDefault = std::chrono::minutes(5);
  const Duration timeout = config.slurmd_timeout;
  return timeout == Duration(0) || timeout >= kNoLimit ? kDefault : std::max(timeout, kShortest);
}

// What SlurmdParameters=config_overrides takes from the configuration.
bool is_same_size(const NodeHardware& one, const NodeHardware& other) {
  const auto sizes = [](const NodeHardware& of) {
    return std::tie(of.cpus, of.boards, of.sockets, of.cores_per_socket, of.threads_per_core,
                    of.real_memory_mib, of.tmp_disk_mib);
  };
  return sizes(one) == sizes(other);
}

}  // namespace

std::string read_cluster_id(const std::string& spool_dir) { return first_line(id_file(spool_dir)); }

std::string spool_id(const std::string& spool_dir) {
  const std::string path = spool_dir + "/spool_id";
  if (std::string known = first_line(path); !known.empty()) return known;
  const std::string made = hex_digits(net::random_bytes(16));
  return replace_file(path, made + "\n", {.mode = 0644}) ? made : std::string();
}

std::string read_credential_key(const std::string& spool_dir) {
  return first_line(key_file(spool_dir));
}

Status write_cluster_id(const std::string& spool_dir, const std::string& id) {
  return replace_file(id_file(spool_dir), id + "\n", {.mode = 0644});
}

Registrar::Registrar(NodeState& node, net::AsyncClient& controller, NodeFeatures& features,
                     Handlers handlers)
    : node_(node),
      controller_(controller),
      features_(features),
      handlers_(std::move(handlers)),
      first_addresses_(controller_addresses(*node.config)),
      retry_(node.io),
      silence_(node.io),
      clock_(node.io) {
  watch_silence();
}

void Registrar::start() {
  if (busy_) {
    again_ = true;
    return;
  }
  retry_.cut_short();
  send();
}

void Registrar::send() {
  if (busy_) return;
  busy_ = true;
  // a change that ends while the programs are asked is told by the next registration
  features_.find([this, changed = node_.features_changed](std::optional<std::string> active) {
    protocol::RegisterNodeRequest request;
    request.features_changed = changed;
    request.active_features = std::move(active);
    send(std::move(request));
  });
}

void Registrar::send(protocol::RegisterNodeRequest request) {
  request.protocol_version = protocol::kProtocolVersion;
  request.name = node_.name;
  request.cluster_id = node_.cluster_id;
  request.hardware = node_.hardware;
  request.node_line = node_.node_line;
  request.claims_future = node_.claims_future;
  request.last_job = node_.last_job->number();
  request.credential_key = node_.credential_key;
  request.reboot_failed = node_.reboot_failed;
  request.reboot_status = node_.reboot_status;
  if (node_.has_own_config) request.config_digest = lines_digest(node_.config_path);
  handlers_.fill(request);
  follow_hosts();
  request.sent = now();
  const SteadyTime asked = net::steady_now();
  request.clock_ahead = node_.controller_clock.ahead(request.sent, asked);
  controller_.call<protocol::RegisterNodeReply>(
      request, protocol::kRegistrationTime,
      [this, mailbox = node_.mailbox, asked,
       told = request.clock_ahead](const Result<protocol::RegisterNodeReply>& reply) {
        mailbox->post([this, reply, told, asked, answered = net::steady_now()] {
          busy_ = false;
          if (!reply) return failed(reply.error());
          registered(*reply, {asked, answered, told});
          if (std::exchange(again_, false)) send();
        });
      });
}

// The controller is to know how the clock is: it drains a node whose clock is too wrong, and takes
// that back.
void Registrar::compare_clocks(std::optional<Duration> told) {
  const auto ahead = node_.controller_clock.ahead(now(), net::steady_now());
  if (!ahead) return;
  const std::string text = protocol::clock_difference_text(*ahead);
  if (!text.empty() && text != last_difference_) log::warning("the clock of this node is {}", text);
  last_difference_ = text;
  if (std::chrono::abs(*ahead - told.value_or(Duration(0))) > protocol::kNotedClockDifference)
    again_ = true;
  if (std::chrono::abs(*ahead) <= protocol::kMostClockDifference) return;
  clock_.expires_after(kLookAgain);
  clock_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) start();
  });
}

void Registrar::failed(const Error& error) {
  if (told_.is_due(error, net::steady_now())) {
    log::error(
        "cannot register with the controller: {}{}", error_text(error),
        error.code == ErrorCode::kWrongCluster
            ? "; see first that the controller's StateSaveLocation is the right folder, and mounted: on an empty one "
              "it begins a new cluster. To have this node join that one, or where the file is damaged, remove " +
                  id_file(node_.spool_dir) + " and start slurmd again"
            : "");
  }
  retry_.later([this] { send(); });
}

// The key that launches are to be signed with. Another one than the node knows is taken only where
// that is meant: what runs here was begun by a controller that had the other.
Status Registrar::take_key(const protocol::RegisterNodeReply& reply) {
  auto verifier = net::CredentialVerifier::from_public_key(reply.credential_key);
  if (!verifier) return tl::unexpected<Error>(verifier.error());
  const std::string key = hex_digits(reply.credential_key);
  if (!node_.credential_key.empty() && key != node_.credential_key && !reply.new_key) {
    return failure(ErrorCode::kInvalidCredential,
                   "the controller has another credential.key than this node knows");
  }
  if (key != node_.credential_key) {
    if (!node_.credential_key.empty()) log::info("the cluster has another credential.key now");
    if (auto ok = replace_file(key_file(node_.spool_dir), key + "\n", {.mode = 0644}); !ok)
      return ok;
    node_.credential_key = key;
  }
  node_.verifier = std::move(*verifier);
  return {};
}

// A spool folder that was made anew under this agent lacks them. One that cannot be written is told
// of by the next job.
void Registrar::keep_identity() {
  if (read_cluster_id(node_.spool_dir).empty())
    (void)write_cluster_id(node_.spool_dir, node_.cluster_id);
  if (read_credential_key(node_.spool_dir).empty())
    (void)replace_file(key_file(node_.spool_dir), node_.credential_key + "\n", {.mode = 0644});
}

// The SlurmctldHost lines may be other ones than at this agent's start. Its own come last: the
// controller may be elsewhere for itself than for this node.
void Registrar::follow_hosts() {
  std::vector<std::string> addresses = controller_addresses(*node_.config);
  for (const std::string& own : first_addresses_) {
    if (std::ranges::find(addresses, own) == addresses.end()) addresses.push_back(own);
  }
  if (controller_.use_addresses(addresses))
    log::info("the controller is asked at {} from now on", join(addresses, ", "));
}

void Registrar::registered(protocol::RegisterNodeReply reply, const Asked& asked) {
  if (!node_.cluster_id.empty() && reply.cluster_id != node_.cluster_id) {
    return failed({ErrorCode::kWrongCluster, "this node belongs to cluster " + node_.cluster_id +
                                                 ", the controller to " + reply.cluster_id});
  }
  if (reply.removed) {
    if (!node_.cluster_id.empty()) handlers_.on_registered(reply);
    return failed(
        {ErrorCode::kInvalidNodeName, "it does not have node " + node_.name + " any more"});
  }
  if (auto ok = take_key(reply); !ok) return failed(ok.error());
  if (node_.cluster_id.empty()) {
    if (auto ok = write_cluster_id(node_.spool_dir, reply.cluster_id); !ok) {
      return failed(ok.error());
    }
    node_.cluster_id = reply.cluster_id;
  }
  keep_identity();
  node_.controller_clock.told(reply.sent, asked.at, asked.answered);
  if (reply.sent != kNoTime) node_.answered_from = reply.sent;
  else if (node_.registered_with == kNoTime) node_.answered_from = node_.started;
  node_.registered_with = reply.controller_start;
  heard_controller(node_);
  const NodeHardware told = node_.hardware;
  const HelpersConfig helpers = node_.config->helpers;
  if (!reply.config.nodes.empty()) adopt_sent_config(node_, std::move(reply.config));
  follow_hosts();
  // the controller's gres.conf, helpers.conf or SlurmdParameters=config_overrides says otherwise
  if (!is_same_size(told, node_.hardware) || told.devices != node_.hardware.devices ||
      helpers != node_.config->helpers)
    again_ = true;
  retry_.succeeded();
  told_.clear();
  log::info("registered as {}", node_.name);
  compare_clocks(asked.told);
  handlers_.on_registered(reply);
}

void Registrar::watch_silence() {
  const Duration limit = longest_silence(*node_.config);
  silence_.expires_after(limit / 3);
  silence_.async_wait([this, limit](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    if (now() - node_.last_controller_message >= limit && handlers_.has_work()) start();
    watch_silence();
  });
}

}  // namespace sluice::noded
