#include "common/net/crypto.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/check.hpp"

namespace sluice::net {
namespace {

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// Looked up once: a look-up by name costs more than the digest of a small request.
const EVP_MD* sha256() {
  static const EVP_MD* const kMethod = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kMethod;
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string mac(kDigestSize, '\0');
  unsigned int size = 0;
  const auto* made = HMAC(sha256(), key.data(), static_cast<int>(key.size()), raw(bytes),
                          bytes.size(), reinterpret_cast<unsigned char*>(mac.data()), &size);
  SLUICE_CHECK(made != nullptr && size == kDigestSize);
  return mac;
}

std::string sha256_of(std::string_view first, std::string_view second) {
  std::string digest(kDigestSize, '\0');
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  SLUICE_CHECK(context != nullptr);
  const bool made =
      EVP_DigestInit_ex(context, sha256(), nullptr) == 1 &&
      EVP_DigestUpdate(context, first.data(), first.size()) == 1 &&
      EVP_DigestUpdate(context, "", 1) == 1 &&
      EVP_DigestUpdate(context, second.data(), second.size()) == 1 &&
      EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(digest.data()), nullptr) == 1;
  EVP_MD_CTX_free(context);
  SLUICE_CHECK(made);
  return digest;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

uint64_t random_number() {
  uint64_t number = 0;
  SLUICE_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof number) == 1);
  return number;
}

Result<std::string> read_secret(const std::string& path, size_t least, size_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const auto code = errno == ENOENT   ? ErrorCode::kPathMissing
                      : errno == EACCES ? ErrorCode::kAccessDenied
                                        : ErrorCode::kInvalidConfig;
    return failure(code, fmt::format("key file {}: {}", path, std::strerror(errno)));
  }
  struct stat status {};
  std::string bytes(most + 1, '\0');
  const bool known = ::fstat(fd, &status) == 0;
  const ssize_t size =
      known && S_ISREG(status.st_mode) ? ::read(fd, bytes.data(), bytes.size()) : -1;
  ::close(fd);
  const auto refuse = [&](std::string_view why) {
    return failure(ErrorCode::kInvalidConfig, fmt::format("key file {}: {}", path, why));
  };
  if (!known || !S_ISREG(status.st_mode)) return refuse("not a regular file");
  if ((status.st_mode & 07177) != 0) {
    return refuse(fmt::format("its mode is {:04o}; only its owner may have access (0600 or 0400)",
                              status.st_mode & 07777));
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return refuse("it belongs to another user");
  if (size < 0) return refuse("cannot be read");
  if (static_cast<size_t>(size) < least || static_cast<size_t>(size) > most) {
    return refuse(fmt::format("it must hold {} to {} bytes", least, most));
  }
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  const std::string_view full(name);
  return std::string(full.substr(0, full.find('.')));
}

}  // namespace sluice::net
