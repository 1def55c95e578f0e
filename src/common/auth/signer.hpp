// Signatures under what the controller orders (launch credentials): Ed25519. The controller holds
// the private key; nodes get the public one when they register, over an authenticated connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace sluice::net {

class CredentialSigner {
 public:
  // Reads the private key from `path` (mode 0600), a file of this process's user, root or `owner`.
  // Errors: kInvalidConfig, kPathMissing, kAccessDenied.
  [[nodiscard]] static Result<CredentialSigner> load(const std::string& path, uint32_t owner = 0);
  // Makes one and stores it at `path`, durably. Error: kPathMissing.
  [[nodiscard]] static Result<CredentialSigner> create(const std::string& path);
  [[nodiscard]] static CredentialSigner generate();

  [[nodiscard]] std::string sign(std::string_view bytes) const;                // 64 bytes
  [[nodiscard]] const std::string& public_key() const { return public_key_; }  // 32 bytes

 private:
  struct Key;
  explicit CredentialSigner(std::shared_ptr<const Key> key);
  std::shared_ptr<const Key> key_;
  std::string public_key_;
};

class CredentialVerifier {
 public:
  // Errors: kInvalidCredential when `public_key` is no Ed25519 key.
  [[nodiscard]] static Result<CredentialVerifier> from_public_key(std::string_view public_key);

  // Errors: kInvalidCredential.
  [[nodiscard]] Status verify(std::string_view bytes, std::string_view signature) const;

 private:
  struct Key;
  explicit CredentialVerifier(std::shared_ptr<const Key> key) : key_(std::move(key)) {}
  std::shared_ptr<const Key> key_;
};

}  // namespace sluice::net
