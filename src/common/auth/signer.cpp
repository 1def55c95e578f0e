#include "common/auth/signer.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/base/errno_text.hpp"
#include "common/auth/crypto.hpp"
#include "common/auth/openssl_objects.hpp"

namespace sluice::net {
namespace {

constexpr size_t kKeySize = 32;
constexpr size_t kSignatureSize = 64;

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// Writes `bytes` to a new file at `path`, so that after a crash it is there whole or not at all.
Status store(const std::string& path, std::string_view bytes) {
  const std::string fresh = fmt::format("{}.new.{}", path, ::getpid());
  ::unlink(fresh.c_str());
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool stored = fd >= 0 &&
                ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                ::fsync(fd) == 0;
  if (fd >= 0) ::close(fd);
  stored = stored && ::rename(fresh.c_str(), path.c_str()) == 0;
  if (stored) {
    const std::string folder = path.substr(0, path.find_last_of('/') + 1);
    const int dir = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (dir >= 0) {
      ::fsync(dir);
      ::close(dir);
    }
    return {};
  }
  auto error =
      failure(ErrorCode::kPathMissing, fmt::format("key file {}: {}", path, errno_text(errno)));
  ::unlink(fresh.c_str());
  return error;
}

}  // namespace

struct CredentialSigner::Key {
  KeyPtr owned;
};
struct CredentialVerifier::Key {
  KeyPtr owned;
};

CredentialSigner::CredentialSigner(std::shared_ptr<const Key> key) : key_(std::move(key)) {
  SLUICE_CHECK(key_->owned != nullptr);
  size_t size = kKeySize;
  public_key_.resize(size);
  SLUICE_CHECK(EVP_PKEY_get_raw_public_key(key_->owned.get(),
                                           reinterpret_cast<unsigned char*>(public_key_.data()),
                                           &size) == 1);
}

CredentialSigner CredentialSigner::generate() {
  return CredentialSigner(
      std::make_shared<const Key>(Key{KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"))}));
}

Result<CredentialSigner> CredentialSigner::create(const std::string& path) {
  const CredentialSigner made = generate();
  std::string secret(kKeySize, '\0');
  size_t size = secret.size();
  SLUICE_CHECK(EVP_PKEY_get_raw_private_key(made.key_->owned.get(),
                                            reinterpret_cast<unsigned char*>(secret.data()),
                                            &size) == 1);
  if (const Status stored = store(path, secret); !stored) {
    return tl::unexpected<Error>(stored.error());
  }
  return made;
}

Result<CredentialSigner> CredentialSigner::load(const std::string& path, uint32_t owner) {
  Result<std::string> bytes = read_secret(path, kKeySize, kKeySize, owner);
  if (!bytes) return tl::unexpected<Error>(std::move(bytes.error()));
  return CredentialSigner(std::make_shared<const Key>(Key{KeyPtr(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(*bytes), bytes->size()))}));
}

std::string CredentialSigner::sign(std::string_view bytes) const {
  std::string signature(kSignatureSize, '\0');
  size_t size = signature.size();
  const DigestContextPtr context(EVP_MD_CTX_new());
  const bool made =
      context != nullptr &&
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_->owned.get()) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     raw(bytes), bytes.size()) == 1;
  SLUICE_CHECK(made && size == kSignatureSize);
  return signature;
}

Result<CredentialVerifier> CredentialVerifier::from_public_key(std::string_view public_key) {
  KeyPtr key(public_key.size() != kKeySize
                 ? nullptr
                 : EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(public_key),
                                               public_key.size()));
  if (key == nullptr) {
    return failure(ErrorCode::kInvalidCredential, "the controller's public key cannot be used");
  }
  return CredentialVerifier(std::make_shared<const Key>(Key{std::move(key)}));
}

Status CredentialVerifier::verify(std::string_view bytes, std::string_view signature) const {
  const DigestContextPtr context(EVP_MD_CTX_new());
  const bool good =
      context != nullptr && signature.size() == kSignatureSize &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_->owned.get()) == 1 &&
      EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(bytes), bytes.size()) ==
          1;
  if (good) return {};
  return failure(ErrorCode::kInvalidCredential,
                 "the credential's signature is not the controller's");
}

}  // namespace sluice::net
