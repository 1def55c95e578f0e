#include "common/net/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/errno_text.hpp"
#include "common/os/read_file.hpp"
#include "common/auth/auth.hpp"
#include "common/auth/openssl_objects.hpp"

namespace sluice::net {
namespace {

constexpr size_t kMostFileBytes = 1 << 20;
// the one first that gRPC's servers take: another costs a turn more
constexpr const char* kGroups = "P-256:X25519:P-384";
constexpr unsigned char kProtocols[] = "\x02h2";  // what gRPC's servers want to be asked for

void free_chain(STACK_OF(X509) * chain) { sk_X509_pop_free(chain, X509_free); }
using ChainPtr = std::unique_ptr<STACK_OF(X509), FreedBy<free_chain>>;

tl::unexpected<Error> bad_file(const std::string& path, std::string_view why) {
  return failure(ErrorCode::kInvalidConfig, fmt::format("TLS: CA certificate {}: {}", path, why));
}
tl::unexpected<Error> refuse(std::string text) {
  return failure(ErrorCode::kAuthentication, std::move(text));
}

bool is_named(X509* certificate, const std::string& name) {
  return X509_check_host(certificate, name.data(), name.size(), 0, nullptr) == 1 ||
         X509_check_ip_asc(certificate, name.c_str(), 0) == 1;
}

// Subject and alternative names, for people.
std::string names_in(X509* certificate) {
  std::vector<std::string> names;
  char text[256] = {};
  const X509_NAME* subject = X509_get_subject_name(certificate);
  if (X509_NAME_get_text_by_NID(subject, NID_commonName, text, sizeof text) > 0)
    names.emplace_back(text);
  const NamesPtr more(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; more != nullptr && i < sk_GENERAL_NAME_num(more.get()); ++i) {
    const GENERAL_NAME* one = sk_GENERAL_NAME_value(more.get(), i);
    if (one->type != GEN_DNS) continue;
    names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(one->d.dNSName)),
                       static_cast<size_t>(ASN1_STRING_length(one->d.dNSName)));
  }
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return {};
  return {about.st_ino, about.st_mtim.tv_sec * INT64_C(1'000'000'000) + about.st_mtim.tv_nsec,
          about.st_size};
}

std::vector<std::string> certified_names(std::string_view receiver, std::string_view address) {
  std::vector<std::string> names;
  if (receiver == kController) names.emplace_back("slurmctld");
  else if (receiver == kAccountingDaemon) names.emplace_back("slurmdbd");
  else if (!receiver.empty()) names.emplace_back(receiver), names.emplace_back("slurmd");
  std::string_view host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (!host.empty() && !address.starts_with("unix:")) names.emplace_back(host);
  return names;
}

Result<std::shared_ptr<TlsTrust>> TlsTrust::open(std::string ca_file) {
  std::shared_ptr<TlsTrust> trust(new TlsTrust(std::move(ca_file)));
  const std::lock_guard lock(trust->mutex_);
  if (Status ok = trust->refresh(); !ok) return tl::unexpected<Error>(std::move(ok.error()));
  return trust;
}

// A file that became bad leaves the one before in force.
Status TlsTrust::refresh() {
  const FileStamp stamp = stamp_of(ca_file_);
  if (context_ != nullptr && stamp == stamp_) return {};
  const auto keep_or = [this](std::string_view why) -> Status {
    if (context_ != nullptr) return {};
    return bad_file(ca_file_, why);
  };
  start_openssl();
  errno = 0;
  const auto text = read_file(ca_file_, kMostFileBytes);
  if (!text) return keep_or(errno_text(errno));
  const std::vector<CertificatePtr> roots = certificates_in(*text);
  if (roots.empty()) return keep_or("it holds no certificate in PEM");
  std::shared_ptr<SSL_CTX> fresh(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (fresh == nullptr) return keep_or(openssl_problem());
  X509_STORE* store = SSL_CTX_get_cert_store(fresh.get());
  for (const CertificatePtr& root : roots) X509_STORE_add_cert(store, root.get());
  // what the site names as its CA need not be a root
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_verify(fresh.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_min_proto_version(fresh.get(), TLS1_3_VERSION);
  SSL_CTX_set_mode(fresh.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set1_groups_list(fresh.get(), kGroups);
  SSL_CTX_set_session_cache_mode(fresh.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(fresh.get(), TlsPeer::keep);
  SSL_CTX_set_quiet_shutdown(fresh.get(), 1);  // HTTP/2 says itself where an answer ends
  SSL_CTX_set_alpn_protos(fresh.get(), kProtocols, sizeof kProtocols - 1);
  sessions_.clear();
  context_ = std::move(fresh);
  roots_ = *text;
  stamp_ = stamp;
  return {};
}

Result<std::shared_ptr<SSL_CTX>> TlsTrust::context() {
  const std::lock_guard lock(mutex_);
  if (Status ok = refresh(); !ok) return tl::unexpected<Error>(std::move(ok.error()));
  return context_;
}

void TlsTrust::SessionEnd::operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }

void TlsPeer::resume(SSL* tls) {
  SSL_set_app_data(tls, this);
  const std::lock_guard lock(trust->mutex_);
  if (context != trust->context_) return;
  if (const auto known = trust->sessions_.extract(name)) SSL_set_session(tls, known.mapped().get());
}

// 1: the session is ours now.
int TlsPeer::keep(SSL* tls, SSL_SESSION* session) {
  const auto* self = static_cast<const TlsPeer*>(SSL_get_app_data(tls));
  TlsTrust::Session kept(session);
  const std::lock_guard lock(self->trust->mutex_);
  if (self->context == self->trust->context_)
    self->trust->sessions_.insert_or_assign(self->name, std::move(kept));
  return 1;
}

Result<std::string> TlsTrust::roots() {
  const std::lock_guard lock(mutex_);
  if (Status ok = refresh(); !ok) return tl::unexpected<Error>(std::move(ok.error()));
  return roots_;
}

Status TlsTrust::check_chain(std::string_view chain, const std::vector<std::string>& names) {
  const auto trusted = context();
  if (!trusted) return tl::unexpected<Error>(trusted.error());
  std::vector<CertificatePtr> shown = certificates_in(chain);
  if (shown.empty()) return refuse("TLS: no certificate was shown");
  const ChainPtr between(sk_X509_new_null());
  for (size_t i = 1; i < shown.size(); ++i) sk_X509_push(between.get(), shown[i].release());
  const StoreContextPtr check(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(trusted->get()), shown[0].get(),
                          between.get()) != 1) {
    return refuse("TLS: " + openssl_problem());
  }
  X509_STORE_CTX_set_default(check.get(), "ssl_server");
  if (X509_verify_cert(check.get()) != 1) {
    ERR_clear_error();
    return refuse(why_not_valid(X509_STORE_CTX_get_error(check.get()), shown[0].get()));
  }
  return names.empty() ? Status() : check_names(shown[0].get(), names);
}

Status check_names(X509* certificate, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (is_named(certificate, name)) return {};
  }
  return refuse(fmt::format("TLS: the certificate is that of {}, and none of {}",
                            names_in(certificate), fmt::join(names, ", ")));
}

std::string why_not_valid(int code, const X509* certificate) {
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format(
          "TLS: the certificate has expired{}",
          certificate != nullptr ? ": it was valid until " + expiry_of(certificate) : "");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "TLS: the certificate is not valid yet; check the clocks of both hosts";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format(
          "TLS: the certificate is not of the CA that is trusted here (ca_cert_file): {}",
          X509_verify_cert_error_string(code));
    default:
      return fmt::format("TLS: the certificate is not valid: {}",
                         X509_verify_cert_error_string(code));
  }
}

std::string expiry_of(const X509* certificate) {
  const BioPtr bio = empty_text();
  ASN1_TIME_print(bio.get(), X509_get0_notAfter(certificate));
  return text_in(bio.get());
}

}  // namespace sluice::net
