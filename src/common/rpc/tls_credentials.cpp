#include "common/rpc/tls_credentials.hpp"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

namespace sluice::net {
namespace {

// gRPC's own check knows one name and gives no reason: ours is the one that commands make, too.
class Verifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  Verifier(std::shared_ptr<TlsTrust> trust, std::vector<std::string> names)
      : trust_(std::move(trust)), names_(std::move(names)) {}
  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              // NOLINTNEXTLINE(performance-unnecessary-value-param): gRPC's signature
              std::function<void(grpc::Status)> /*later*/, grpc::Status* verdict) override {
    const grpc::string_ref chain = request->peer_cert_full_chain();
    const Status valid = trust_->check_chain({chain.data(), chain.size()}, names_);
    *verdict = valid ? grpc::Status::OK
                     : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, valid.error().text);
    return true;
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest* /*request*/) override {}

 private:
  std::shared_ptr<TlsTrust> trust_;
  std::vector<std::string> names_;
};

class RenewedCredentials final : public grpc::ServerCredentials {
 public:
  explicit RenewedCredentials(std::shared_ptr<TlsIdentity> identity)
      : identity_(std::move(identity)) {
    auto* options = grpc_ssl_server_credentials_create_options_using_config_fetcher(
        GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE, renew, this);
    credentials_ = grpc_ssl_server_credentials_create_with_options(options);
  }
  ~RenewedCredentials() override { grpc_server_credentials_release(credentials_); }
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }
  // gRPC calls it one at a time for a port, and keeps the last one where it gets none.
  static grpc_ssl_certificate_config_reload_status renew(void* self,
                                                         grpc_ssl_server_certificate_config** out) {
    auto* own = static_cast<RenewedCredentials*>(self);
    const TlsIdentity::Pair pair = own->identity_->current();
    if (pair.version == own->given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair text{pair.key.c_str(), pair.certificate.c_str()};
    // gRPC wants roots, though it asks for no certificate
    *out = grpc_ssl_server_certificate_config_create(pair.roots.c_str(), &text, 1);
    own->given_ = pair.version;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  std::shared_ptr<TlsIdentity> identity_;
  grpc_server_credentials* credentials_ = nullptr;
  uint64_t given_ = 0;
};

}  // namespace

Result<std::shared_ptr<grpc::ChannelCredentials>> channel_credentials(
    std::shared_ptr<TlsTrust> trust, std::vector<std::string> names) {
  const auto roots = trust->roots();
  if (!roots) return tl::unexpected<Error>(roots.error());
  namespace tls = grpc::experimental;
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(*roots));
  options.watch_root_certs();
  options.set_verify_server_certs(false);  // by the verifier, whole
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<Verifier>(std::move(trust), std::move(names)));
  return tls::TlsCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(std::shared_ptr<TlsIdentity> identity) {
  return std::make_shared<RenewedCredentials>(std::move(identity));
}

}  // namespace sluice::net
