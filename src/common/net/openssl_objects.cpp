#include "common/net/openssl_objects.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace sluice::net {
namespace {

BioPtr reader_of(std::string_view text) { return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

}  // namespace

std::vector<CertificatePtr> certificates_in(std::string_view pem) {
  std::vector<CertificatePtr> out;
  const BioPtr reader = reader_of(pem);
  while (X509* one = PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)) out.emplace_back(one);
  ERR_clear_error();  // the end is told as a failure
  return out;
}

KeyPtr private_key_in(std::string_view pem) {
  KeyPtr out(PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr));
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
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  std::string text = reason != nullptr ? reason : "OpenSSL gives no reason";
  ERR_clear_error();
  return text;
}

}  // namespace sluice::net
