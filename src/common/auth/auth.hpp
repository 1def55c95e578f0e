// Proof of identity: one short-lived token per request, made by the caller and verified by the
// server before a handler runs. auth/munge and auth/slurm stand behind this interface.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/auth/identity.hpp"
#include "common/auth/token.hpp"

namespace sluice::net {

// What a token is bound to: the SHA-256 of receiver, method and request, so that a token that was
// seen on the wire proves nothing about any other request, nor anything to another daemon. The
// receiver is kController, kAccountingDaemon or a node's name.
struct RequestDigest {
  std::string bytes;  // 32 bytes
};
// These have a blank: they are no node's name.
inline constexpr std::string_view kController = "the controller";
inline constexpr std::string_view kAccountingDaemon = "the accounting daemon";
[[nodiscard]] RequestDigest digest_request(std::string_view receiver, std::string_view method,
                                           std::string_view request);

// A token that lets its receiver alone sign the answer: who has the cluster's key, or (auth/munge)
// SlurmUser.
struct KeyedToken {
  std::string token;
  std::string answer_key;  // empty: no signature is asked for
};
// 32 bytes.
[[nodiscard]] std::string sign_answer(std::string_view answer_key, std::string_view reply);

// kAuthentication: the token belongs to another request, or to one to another daemon.
[[nodiscard]] Status check_digest(const Proof& proof, const RequestDigest& digest);

// What a token's proof may keep its thread waiting for.
enum class WaitsFor {
  kNothing,
  kFiles,   // files and name services
  kDaemon,  // another daemon of this host, which may hang
};

class AuthProvider {
 public:
  AuthProvider() = default;
  AuthProvider(const AuthProvider&) = delete;
  AuthProvider& operator=(const AuthProvider&) = delete;
  virtual ~AuthProvider() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;  // "auth/slurm"

  // A token for this process's own user. Any thread. Errors: kAuthentication.
  [[nodiscard]] virtual Result<std::string> create_token(const RequestDigest& digest) = 0;

  // The same, for a request whose answer is to be signed.
  [[nodiscard]] virtual Result<KeyedToken> create_keyed_token(const RequestDigest& digest);

  // Whose token it is, before the request is there: what it is for is compared when it has come
  // (check_digest). Each token is accepted once, but for those of jwt.hpp. Any thread. Errors:
  // kAuthentication; the text says whether the token was malformed, forged, expired, not yet valid,
  // replayed or for another cluster, and by how much the clocks differ where that matters.
  [[nodiscard]] virtual Result<Proof> open(std::string_view token) = 0;

  [[nodiscard]] virtual WaitsFor open_waits_for(std::string_view /*token*/) const {
    return WaitsFor::kNothing;
  }
  [[nodiscard]] virtual WaitsFor create_waits_for() const { return WaitsFor::kNothing; }

  // Who is told, on any thread, when the daemon that is asked cannot be reached any more, and when
  // it can again.
  using OutageListener = std::function<void(bool away, const std::string& text)>;
  // NOLINTNEXTLINE(performance-unnecessary-value-param): others keep it
  virtual void on_outage(OutageListener /*listener*/) {}

  // Both at once.
  [[nodiscard]] Result<Identity> verify(std::string_view token, const RequestDigest& digest);
};

struct AuthOptions {
  std::string type = "auth/munge";  // AuthType of slurm.conf
  std::string cluster;              // tokens of another cluster are refused
  uint32_t slurm_user = 0;          // auth/slurm: the key may be this user's
  std::string key_file;             // auth/slurm: used directly where this process may read it
  std::string token_socket;         // auth/slurm: else a daemon of this host is asked here
  // nobody is believed there but root and this user: the path is not of this host's own
  // configuration
  bool own_token_socket = false;
  std::string munge_socket;  // auth/munge: empty for munged's default
  Duration lifetime{};       // AuthInfo=ttl=: of tokens; 0: the usual one
  // auth/slurm
  [[nodiscard]] Duration key_lifetime() const {
    return lifetime > Duration::zero() ? lifetime : kTokenLifetime;
  }
};

// Errors: kInvalidConfig for an unknown type or an unusable key.
[[nodiscard]] Result<std::shared_ptr<AuthProvider>> make_auth(const AuthOptions& options);

}  // namespace sluice::net
