#include "common/net/certificates.hpp"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "common/auth/openssl_objects.hpp"

namespace sluice::net {
namespace {

constexpr int kSerialBits = 127;

tl::unexpected<Error> failed(std::string_view what) {
  return failure(fmt::format("a certificate cannot be made: {}: {}", what, openssl_problem()));
}

bool set_times(X509* certificate, const Validity& valid) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), to_seconds(valid.from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), to_seconds(valid.until)) != nullptr;
}

bool set_serial(X509* certificate) {
  const NumberPtr number(BN_new());
  return BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

struct Made {
  CertificatePtr certificate;
  KeyPtr key;
};

// All but the issuer, the extensions and the signature.
Result<Made> begin(const std::string& name, const Validity& valid) {
  Made made{CertificatePtr(X509_new()), KeyPtr(EVP_EC_gen("P-256"))};
  if (made.certificate == nullptr || made.key == nullptr) return failed("its key");
  X509* certificate = made.certificate.get();
  X509_NAME* subject = X509_get_subject_name(certificate);
  const auto* bytes = reinterpret_cast<const unsigned char*>(name.data());
  const bool good = X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
                    set_times(certificate, valid) &&
                    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, bytes,
                                               static_cast<int>(name.size()), -1, 0) == 1 &&
                    X509_set_pubkey(certificate, made.key.get()) == 1;
  if (!good) return failed(name);
  return made;
}

Result<CertifiedKey> finish(const Made& made, EVP_PKEY* signer) {
  if (X509_sign(made.certificate.get(), signer, EVP_sha256()) == 0) return failed("its signature");
  const BioPtr certificate = empty_text();
  const BioPtr key = empty_text();
  if (PEM_write_bio_X509(certificate.get(), made.certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key.get(), made.key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return failed("its text");
  }
  return CertifiedKey{text_in(certificate.get()), text_in(key.get())};
}

Result<Made> read_authority(const CertifiedKey& authority) {
  std::vector<CertificatePtr> certificates = certificates_in(authority.certificate);
  Made out{certificates.empty() ? nullptr : std::move(certificates.front()),
           private_key_in(authority.key)};
  const bool good = out.certificate != nullptr && out.key != nullptr &&
                    X509_check_private_key(out.certificate.get(), out.key.get()) == 1;
  ERR_clear_error();
  if (!good)
    return failure(ErrorCode::kInvalidConfig, "the CA's key is not that of its certificate");
  return out;
}

}  // namespace

Result<CertifiedKey> make_authority(const std::string& name, const Validity& valid) {
  auto made = begin(name, valid);
  if (!made) return tl::unexpected<Error>(std::move(made.error()));
  X509* certificate = made->certificate.get();
  const bool good =
      X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1 &&
      add_extension(certificate, certificate, NID_basic_constraints,
                    "critical,CA:TRUE,pathlen:0") &&
      add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(certificate, certificate, NID_subject_key_identifier, "hash");
  return good ? finish(*made, made->key.get()) : failed(name);
}

Result<CertifiedKey> certify(const CertifiedKey& authority, const std::vector<std::string>& names,
                             const Validity& valid) {
  const auto signer = read_authority(authority);
  if (!signer) return tl::unexpected<Error>(signer.error());
  auto made = begin(names.front(), valid);
  if (!made) return tl::unexpected<Error>(std::move(made.error()));
  std::string alternatives;
  for (const std::string& name : names)
    alternatives += (alternatives.empty() ? "DNS:" : ",DNS:") + name;
  X509* certificate = made->certificate.get();
  X509* issuer = signer->certificate.get();
  const bool good =
      X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
      add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
      add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth,clientAuth") &&
      add_extension(certificate, issuer, NID_subject_alt_name, alternatives) &&
      add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
      add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always");
  return good ? finish(*made, signer->key.get()) : failed(names.front());
}

}  // namespace sluice::net
