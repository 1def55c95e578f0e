// A real controller and a real node agent for tests that talk to them without Slurm's commands: as
// any user, since the test holds the cluster's key.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "common/auth/auth.hpp"
#include "common/net/rpc_client.hpp"
#include "common/auth/token.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice::testing {

// Two users that every Debian has; jobs run as them, so these tests need root.
inline constexpr uint32_t kAlice = 1;  // daemon
inline constexpr uint32_t kBob = 2;    // bin
inline constexpr uint32_t kNobody = 65534;

enum class Server { kController, kAgent, kAccounting };

using TokenOf = std::function<std::string(const net::RequestDigest&)>;

// Started with `sluice up`: one node n1, and an accounting daemon.
class WireCluster {
 public:
  explicit WireCluster(const std::string& conf = {});
  WireCluster(const WireCluster&) = delete;
  WireCluster& operator=(const WireCluster&) = delete;
  ~WireCluster();

  [[nodiscard]] std::string address(Server server) const;
  [[nodiscard]] static std::string receiver(Server server);  // whom tokens for it are made for
  // A client whose requests carry what `token` gives; an empty one: none at all.
  [[nodiscard]] std::unique_ptr<net::RpcClient> client(Server server, TokenOf token) const;
  [[nodiscard]] std::unique_ptr<net::RpcClient> client_as(Server server, uint32_t uid) const;
  [[nodiscard]] net::TokenMaker maker() const;

  // One request as bytes; of a stream, its first chunk ("" when it ended well without any).
  [[nodiscard]] Result<std::string> ask(Server server, net::RpcClient& client,
                                        const std::string& method,
                                        const std::string& request) const;
  template <class Reply, class Request>
  [[nodiscard]] Result<Reply> call_as(uint32_t uid, const Request& request,
                                      Server server = Server::kController) const {
    return client_as(server, uid)->template call<Reply>(request, std::chrono::seconds(20));
  }
  // A job of Alice's that sleeps in its batch script, and runs (or is held).
  [[nodiscard]] JobId running_job() const;
  [[nodiscard]] JobId held_job() const;
  [[nodiscard]] protocol::SubmitJobRequest submission(const std::string& script) const;
  [[nodiscard]] protocol::JobRecord job(JobId id) const;
  // Waits until the condition holds.
  [[nodiscard]] static bool eventually(const std::function<bool()>& condition);

  // writes slurm.conf anew with this added, and has it read
  void set_conf(const std::string& conf) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  [[nodiscard]] pid_t pid(Server server) const;
  void kill_and_restart(Server server) const;
  [[nodiscard]] const std::string& dir() const { return dir_; }
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  std::string dir_;
  std::string base_conf_;
  std::string key_;
  int port_ = 0;
};

}  // namespace sluice::testing
