// Configuration from a controller with SlurmctldParameters=enable_configless, for who has no
// slurm.conf.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/auth/auth.hpp"
#include "common/net/tls.hpp"
#include "common/protocol/config_files.hpp"

namespace sluice::net {

inline constexpr uint16_t kUsualControllerPort = 6817;

// The addresses in "HOST[:PORT],…" (an IPv6 address with a port stands in brackets), in their
// order. Errors: kInvalidConfig naming the part that is none.
[[nodiscard]] Result<std::vector<std::string>> parse_conf_servers(std::string_view text);

struct ConfigServer {
  std::vector<std::string> addresses;  // tried in this order
  // where slurm.conf would stand; the key of auth/slurm is looked for as if it did
  std::string config_path;
  // a daemon, which proves itself by the key, not by another daemon's tokens
  bool holds_key = false;
  std::shared_ptr<AuthProvider> auth;  // null: it is asked how identity is proved there
  std::shared_ptr<TlsTrust> tls;       // null: nothing is encrypted
  // What this host knows (ExpectedController of conf/load): whoever answers is not believed to be
  // another user, nor to prove itself less well.
  uint32_t slurm_user = 0;
  std::string auth_type;
  Duration timeout = std::chrono::seconds(10);  // of each of its two questions
};

// Asks how identity is proved there (where that is not known), then, with proof, for the files, and
// takes them from who signs its answer alone: by the site's key (auth/slurm), or as SlurmUser
// (auth/munge). They are complete and may be written as they are. The first answer is anybody's: it
// can make the second question fail, and no more. auth/munge is not accepted where this host has
// the key of auth/slurm, or was configured with it before. Errors: those of RpcClient,
// kAuthentication for who is not to be believed, kDisabled when the controller does not send its
// configuration, kInvalidConfig for files that it must not send. All name the servers.
[[nodiscard]] Result<protocol::FetchConfigReply> fetch_config(const ConfigServer& server);

// The same for files as they came; kBadRequest when they are not what the digest says.
[[nodiscard]] Status check_fetched(const protocol::FetchConfigReply& reply);

// Equal for equal files.
[[nodiscard]] std::string config_digest(const std::vector<ConfigFile>& files);

}  // namespace sluice::net
