// it loads texts all at once or, by what it calls deprecated, those of a part
#define OPENSSL_SUPPRESS_DEPRECATED
#include "common/auth/openssl_objects.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace sluice::net {
namespace {

BioPtr reader_of(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

}  // namespace

void start_openssl() {
  static const int done = OPENSSL_init_ssl(
      OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_SSL_STRINGS |
          OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS | OPENSSL_INIT_NO_ADD_ALL_CIPHERS,
      nullptr);
  (void)done;
}

void load_openssl_texts() {
  static const int done = ERR_load_SSL_strings() + ERR_load_X509_strings();
  (void)done;
}

std::vector<CertificatePtr> certificates_in(std::string_view pem) {
  std::vector<CertificatePtr> out;
  const BioPtr reader = reader_of(pem);
  while (X509* one = PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr))
    out.emplace_back(one);
  ERR_clear_error();  // the end is told as a failure
  return out;
}

KeyPtr private_key_in(std::string_view pem) {
  KeyPtr out(PEM_read_bio_PrivateKey(
      reader_of(pem).get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr));
  ERR_clear_error();
  return out;
}

BioPtr empty_text() { return BioPtr(BIO_new(BIO_s_mem())); }

std::string text_in(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return {bytes, static_cast<size_t>(size)};
}

std::string openssl_problem() {
  load_openssl_texts();
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  std::string text = reason != nullptr ? reason : "OpenSSL gives no reason";
  ERR_clear_error();
  return text;
}

}  // namespace sluice::net
