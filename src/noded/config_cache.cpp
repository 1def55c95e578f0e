#include "noded/config_cache.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include <unistd.h>

#include "common/os/is_away.hpp"
#include "common/config_files/config_cache.hpp"
#include "common/config_files/load.hpp"
#include "common/log/log.hpp"
#include "common/auth/auth_config.hpp"
#include "common/os/clock.hpp"
#include "common/net/tls_config.hpp"

namespace sluice::noded {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(250);
constexpr Duration kLongestPause = std::chrono::seconds(5);
constexpr Duration kCallTime = std::chrono::seconds(20);

}  // namespace

Result<protocol::FetchConfigReply> fetch_patiently(const net::ConfigServer& server,
                                                   Duration patience,
                                                   const std::function<void(const Error&)>& say) {
  const SteadyTime end = net::steady_now() + patience;
  Duration pause = kFirstPause;
  while (true) {
    auto reply = net::fetch_config(server);
    const SteadyTime now = net::steady_now();
    if (reply || !is_away(reply.error().code) || now >= end) return reply;
    say(reply.error());
    std::this_thread::sleep_for(std::min(pause, Duration(end - now)));
    pause = std::min(pause * 2, kLongestPause);
  }
}

std::string cache_folder(const ClusterConfig& config, const NodeConfig& self) {
  return node_path(config.slurmd_spool_dir, self) + "/conf-cache";
}

Status fill_cache(const std::string& folder, const protocol::FetchConfigReply& fetched) {
  if (Status ok = store_config_files(folder, fetched.files); !ok) return ok;
  const auto usual = std::filesystem::path(kUsualConfigPath).parent_path();
  const std::pair<const char*, std::string> links[] = {
      {"slurm.key", net::key_file_for(kUsualConfigPath)},
      {net::kCaFile, net::usual_ca_file(kUsualConfigPath)},
      {net::kAgentCertificate, usual / net::kAgentCertificate},
      {net::kAgentKey, usual / net::kAgentKey}};
  for (const auto& [name, target] : links) {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::absolute(target, error);
    if (error || ::access(file.c_str(), F_OK) != 0) continue;
    if (Status ok = set_link(folder + "/" + name, file.string()); !ok) return ok;
  }
  return {};
}

ConfigCache::ConfigCache(NodeState& node, net::AsyncClient& controller, Start start)
    : node_(node),
      controller_(controller),
      server_(std::move(start.server)),
      folder_(std::filesystem::path(node.config_path).parent_path().string()),
      retry_(node.io),
      digest_(std::move(start.digest)) {}

bool ConfigCache::has(const std::string& digest) const {
  const std::lock_guard lock(mutex_);
  return digest == digest_;
}

Status ConfigCache::fill(const protocol::FetchConfigReply& fetched) {
  const std::lock_guard lock(mutex_);
  if (Status ok = fill_cache(folder_, fetched); !ok) return ok;
  if (fetched.digest != digest_) log::info("the configuration files in {} were replaced", folder_);
  digest_ = fetched.digest;
  return {};
}

Status ConfigCache::renew() {
  const auto reply = net::fetch_config(server_);
  return reply ? fill(*reply) : tl::unexpected<Error>(reply.error());
}

void ConfigCache::follow(std::string digest) {
  wanted_ = std::move(digest);
  if (wanted_.empty()) return;
  if (busy_) again_ = true;
  if (busy_ || has(wanted_)) return;
  retry_.cut_short();
  fetch();
}

void ConfigCache::fetch() {
  busy_ = true;
  again_ = false;
  controller_.call<protocol::FetchConfigReply>(
      protocol::FetchConfigRequest{}, kCallTime,
      [this, mailbox = node_.mailbox](Result<protocol::FetchConfigReply> reply) {
        mailbox->post([this, reply = std::move(reply)] { fetched(reply); });
      });
}

void ConfigCache::fetched(const Result<protocol::FetchConfigReply>& reply) {
  busy_ = false;
  Status ok = reply ? net::check_fetched(*reply) : tl::unexpected<Error>(reply.error());
  if (ok) ok = fill(*reply);
  if (!ok) {
    if (retry_.fresh())
      log::error("the configuration files in {} cannot be renewed: {}", folder_, ok.error().text);
    return retry_.later([this] {
      if (!busy_ && !wanted_.empty() && !has(wanted_)) fetch();
    });
  }
  retry_.succeeded();
  if (again_ && !wanted_.empty() && !has(wanted_)) fetch();
}

}  // namespace sluice::noded
