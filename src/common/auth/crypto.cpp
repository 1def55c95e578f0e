#include "common/auth/crypto.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <fmt/format.h>
#define OPENSSL_SUPPRESS_DEPRECATED  // see below
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "common/base/check.hpp"
#include "common/base/errno_text.hpp"

namespace sluice::net {
namespace {

// OpenSSL's SHA-256 itself, not EVP and HMAC(): those set up providers and read configuration on
// first use, 2 ms for each command, and look the method up at each call.
class Sha256 {
 public:
  Sha256() { SHA256_Init(&state_); }
  Sha256& add(std::string_view bytes) {
    SHA256_Update(&state_, bytes.data(), bytes.size());
    return *this;
  }
  std::string end() {
    std::string digest(kDigestSize, '\0');
    SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &state_);
    return digest;
  }

 private:
  SHA256_CTX state_{};
};

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string block(key.size() > SHA256_CBLOCK ? Sha256().add(key).end() : std::string(key));
  block.resize(SHA256_CBLOCK, '\0');
  for (char& c : block) c = static_cast<char>(c ^ 0x36);
  const std::string inner = Sha256().add(block).add(bytes).end();
  for (char& c : block) c = static_cast<char>(c ^ 0x36 ^ 0x5c);
  std::string mac = Sha256().add(block).add(inner).end();
  OPENSSL_cleanse(block.data(), block.size());
  return mac;
}

std::string sha256_of(std::initializer_list<std::string_view> parts) {
  Sha256 sum;
  std::string_view between;
  for (const std::string_view part : parts)
    sum.add(std::exchange(between, std::string_view("\0", 1))).add(part);
  return sum.end();
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

uint64_t random_number() {
  uint64_t number = 0;
  SLUICE_CHECK(::getrandom(&number, sizeof number, 0) == sizeof number);
  return number;
}

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  SLUICE_CHECK(::getrandom(bytes.data(), count, 0) == static_cast<ssize_t>(count));
  return bytes;
}

Result<std::string> read_secret(const std::string& path, size_t least, size_t most,
                                uint32_t owner) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const auto code = errno == ENOENT   ? ErrorCode::kPathMissing
                      : errno == EACCES ? ErrorCode::kAccessDenied
                                        : ErrorCode::kInvalidConfig;
    return failure(code, fmt::format("key file {}: {}", path, errno_text(errno)));
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
  if (status.st_uid != ::geteuid() && status.st_uid != 0 && status.st_uid != owner)
    return refuse("it belongs to another user");
  if (size < 0) return refuse("cannot be read");
  if (static_cast<size_t>(size) < least || static_cast<size_t>(size) > most) {
    return refuse(fmt::format("it must hold {} to {} bytes", least, most));
  }
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

}  // namespace sluice::net
