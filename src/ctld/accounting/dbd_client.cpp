#include "ctld/accounting/dbd_client.hpp"

#include "common/protocol/accounting.hpp"

namespace sluice::ctld {
namespace {

net::ClientOptions options_of(const ClusterConfig& config, std::shared_ptr<net::AuthProvider> auth,
                              std::shared_ptr<net::TlsTrust> tls) {
  net::ClientOptions options;
  options.addresses = accounting_addresses(config);
  options.receiver = net::kAccountingDaemon;
  options.auth = std::move(auth);
  options.tls = std::move(tls);
  return options;
}

}  // namespace

DbdClient::DbdClient(const ClusterConfig& config, std::shared_ptr<net::AuthProvider> auth,
                     std::shared_ptr<net::TlsTrust> tls)
    : client_(options_of(config, std::move(auth), std::move(tls))) {}

Error DbdClient::given_up() { return {ErrorCode::kTimedOut, "the controller ends"}; }

std::optional<uint64_t> DbdClient::begin_wait(std::function<void()> end) {
  const std::lock_guard lock(mutex_);
  if (gave_up_) return std::nullopt;
  waits_.emplace(++last_wait_, std::move(end));
  return last_wait_;
}

void DbdClient::end_wait(uint64_t wait) {
  const std::lock_guard lock(mutex_);
  waits_.erase(wait);
}

void DbdClient::give_up() {
  const std::lock_guard lock(mutex_);
  gave_up_ = true;
  for (const auto& [wait, end] : waits_) end();
}

Result<JobId> last_known_job(DbdClient& client, const std::string& cluster) {
  constexpr Duration kPatience = std::chrono::seconds(3);  // a start waits for it
  const auto reply =
      client.ask<protocol::QueryLastJobReply>(protocol::QueryLastJobRequest{cluster}, kPatience);
  if (!reply) return tl::unexpected<Error>(reply.error());
  return reply->last;
}

}  // namespace sluice::ctld
