// Tokens of auth/slurm: a described struct, signed with HMAC-SHA256 by the cluster's key.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/auth/identity.hpp"

namespace sluice::net {

struct Token {
  uint32_t uid = UINT32_MAX;
  uint32_t gid = UINT32_MAX;
  Time issued{};
  Time expires{};
  uint64_t nonce = 0;
  std::string host;
  std::string cluster;
  std::string digest;  // of the request it is for
  bool signs_answer = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "uid", &Token::uid);
    field(2, "gid", &Token::gid);
    field(3, "issued", &Token::issued);
    field(4, "expires", &Token::expires);
    field(5, "nonce", &Token::nonce);
    field(6, "host", &Token::host);
    field(7, "cluster", &Token::cluster);
    field(8, "digest", &Token::digest);
    field(520, "signs_answer", &Token::signs_answer);
  }
};

// How a process without the key asks a daemon of its host for a token (rpc/token_server.hpp).
struct TokenRequest {
  std::string digest;
  bool signs_answer = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "digest", &TokenRequest::digest);
    field(2, "signs_answer", &TokenRequest::signs_answer);
  }
};
struct TokenReply {
  std::string token;
  std::string problem;     // set when there is no token
  std::string answer_key;  // of a token that has its answer signed
  template <class V>
  static void describe(V&& field) {
    field(1, "token", &TokenReply::token);
    field(2, "problem", &TokenReply::problem);
    field(3, "answer_key", &TokenReply::answer_key);
  }
};

// The cluster's shared secret.
class ClusterKey {
 public:
  // The file must be a regular one of mode 0600 or 0400 with 32 to 4096 bytes that belongs to this
  // user, root or `owner`.
  // Errors: kInvalidConfig naming the file and what is wrong; kPathMissing when it is not there;
  // kAccessDenied when this process may not read it.
  [[nodiscard]] static Result<ClusterKey> load(const std::string& path, uint32_t owner = 0);
  [[nodiscard]] static ClusterKey from_bytes(std::string bytes) {
    return ClusterKey(std::move(bytes));
  }
  [[nodiscard]] std::string sign(std::string_view bytes) const;  // 32 bytes
  // What the answer to the request with this token is signed with: nobody else can make it of the
  // token.
  [[nodiscard]] std::string answer_key(std::string_view token) const;

 private:
  explicit ClusterKey(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;
};

// unless AuthInfo=ttl= says otherwise
inline constexpr Duration kTokenLifetime = std::chrono::seconds(60);
inline constexpr Duration kClockTolerance = std::chrono::seconds(30);

// Makes tokens. Thread-safe.
class TokenMaker {
 public:
  TokenMaker(ClusterKey key, std::string cluster, std::string host,
             Duration lifetime = kTokenLifetime);
  [[nodiscard]] std::string make(uint32_t uid, uint32_t gid, std::string_view digest, Time now,
                                 bool signs_answer = false) const;
  [[nodiscard]] std::string sign(const Token& token) const;
  [[nodiscard]] std::string answer_key(std::string_view token) const {
    return key_.answer_key(token);
  }

 private:
  ClusterKey key_;
  std::string cluster_;
  std::string host_;
  Duration lifetime_;
};

// Remembers nonces for as long as a token can be valid, at most `capacity` of them per period;
// beyond that it refuses new ones rather than forget. Thread-safe.
class ReplayCache {
 public:
  enum class Verdict { kFresh, kReplayed, kFull };
  explicit ReplayCache(Duration period = kTokenLifetime + 2 * kClockTolerance,
                       size_t capacity = size_t{4} << 20);
  ~ReplayCache();
  [[nodiscard]] Verdict insert(uint64_t nonce, Time now);

 private:
  static constexpr size_t kShards = 16;
  struct Shard;
  Duration period_;
  size_t capacity_;
  std::unique_ptr<Shard[]> shards_;
};

// Verifies tokens. Thread-safe. Errors: kAuthentication, see AuthProvider::open; kRetry for a token
// made before `started`: which of those were used is forgotten with the process that saw them, and
// a new one costs the caller nothing. A clock that is set back behind `started` counts as started
// then.
class TokenVerifier {
 public:
  TokenVerifier(ClusterKey key, std::string cluster, Time started = kNoTime,
                Duration lifetime = kTokenLifetime);
  [[nodiscard]] Result<Proof> open(std::string_view token, Time now);
  // With the digest; a token of another request is not used up.
  [[nodiscard]] Result<Identity> verify(std::string_view token, std::string_view digest, Time now);

 private:
  [[nodiscard]] Result<Token> check(std::string_view token, Time now);
  [[nodiscard]] Result<Identity> use(const Token& claims, std::string_view token, Time now);

  ClusterKey key_;
  std::string cluster_;
  std::atomic<Time> started_;
  Duration lifetime_;  // a token that says more has no more
  ReplayCache seen_;
};

}  // namespace sluice::net
