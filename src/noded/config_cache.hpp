// The configuration of an agent that has no slurm.conf (--conf-server): it fetches the controller's
// files when it starts, keeps them in SlurmdSpoolDir/conf-cache for the commands of jobs, and
// follows when the controller has others.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "common/net/config_fetch.hpp"
#include "common/rpc/async_client.hpp"
#include "noded/node/node_state.hpp"
#include "noded/node/retry.hpp"

namespace sluice::noded {

// Asks until there is an answer, or `patience` is at its end; each failure is said to `say`. A
// controller that refuses is not asked again. Starts no thread.
[[nodiscard]] Result<protocol::FetchConfigReply> fetch_patiently(
    const net::ConfigServer& server, Duration patience,
    const std::function<void(const Error&)>& say);

// Where the files of a node go.
[[nodiscard]] std::string cache_folder(const ClusterConfig& config, const NodeConfig& self);

// Writes them there, with links to the key of auth/slurm and the certificates where they are at
// hand, as they are looked for beside slurm.conf.
[[nodiscard]] Status fill_cache(const std::string& folder,
                                const protocol::FetchConfigReply& fetched);

class ConfigCache {
 public:
  struct Start {
    net::ConfigServer server;
    std::string digest;  // of what is in the cache
  };
  ConfigCache(NodeState& node, net::AsyncClient& controller, Start start);

  // The controller has files with this digest; empty: it sends none (any more), and what is there
  // stays.
  void follow(std::string digest);

  // Fetches now, on the thread that calls, which may be any but the agent's own. Errors: as
  // fetch_config() and fill_cache().
  [[nodiscard]] Status renew();

 private:
  [[nodiscard]] Status fill(const protocol::FetchConfigReply& fetched);
  [[nodiscard]] bool has(const std::string& digest) const;
  void fetch();
  void fetched(const Result<protocol::FetchConfigReply>& reply);

  NodeState& node_;
  net::AsyncClient& controller_;
  const net::ConfigServer server_;
  const std::string folder_;
  Retry retry_;
  std::string wanted_;
  bool busy_ = false;
  bool again_ = false;  // another digest was named meanwhile
  mutable std::mutex mutex_;
  std::string digest_;  // guarded by mutex_, as what is in the folder
};

}  // namespace sluice::noded
