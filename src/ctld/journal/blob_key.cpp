// SHA-256 through OpenSSL.
#include "ctld/journal/blob_key.hpp"

#include <openssl/evp.h>

#include "common/base/check.hpp"

namespace sluice::journal {

std::string blob_key(std::string_view bytes) {
  std::string digest(kBlobKeyBytes, '\0');
  unsigned int length = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                 &length, EVP_sha256(), nullptr);
  SLUICE_CHECK(done == 1 && length == kBlobKeyBytes);
  return digest;
}

}  // namespace sluice::journal
