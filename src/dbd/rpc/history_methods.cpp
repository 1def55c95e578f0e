// What controllers and sacct ask.
#include "common/base/version.hpp"
#include "common/os/host_name.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/protocol_version.hpp"
#include "dbd/rpc/services.hpp"

namespace sluice::dbd {
namespace {

protocol::PingAccountingReply ping() {
  return {short_host_name(), kSlurmVersion, protocol::kProtocolVersion};
}

}  // namespace

void add_history_methods(net::RpcServer& server, ServiceParts& /*parts*/) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<PingAccountingRequest, PingAccountingReply>(
      [](const auto&, auto, auto responder) { responder.reply(ping()); }, net::kForAnyone);
}

}  // namespace sluice::dbd
