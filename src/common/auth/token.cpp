#include "common/auth/token.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "common/os/back_off.hpp"
#include "common/auth/crypto.hpp"
#include "common/auth/other_cluster.hpp"
#include "common/wire/codec.hpp"

namespace sluice::net {
namespace {

constexpr char kVersion = 1;
constexpr size_t kMostTokenBytes = 4096;
constexpr size_t kMostTokens = size_t{4} << 20;  // within the usual lifetime

double seconds_of(Duration time) { return std::chrono::duration<double>(time).count(); }

// Clocks differ in both directions.
constexpr Duration remembered(Duration lifetime) { return lifetime + 2 * kClockTolerance; }

tl::unexpected<Error> refuse(std::string text) {
  return failure(ErrorCode::kAuthentication, "auth/slurm: " + std::move(text));
}

// A set of numbers in one array, at most three quarters full.
class NumberSet {
 public:
  // False when it was there already.
  bool insert(uint64_t number) {
    if ((count_ + 1) * 4 > slots_.size() * 3) grow();
    if (!place(slots_, number)) return false;
    ++count_;
    return true;
  }
  [[nodiscard]] bool contains(uint64_t number) const {
    if (slots_.empty()) return false;
    const size_t mask = slots_.size() - 1;
    for (size_t i = number & mask; slots_[i] != 0; i = (i + 1) & mask) {
      if (slots_[i] == number) return true;
    }
    return false;
  }
  [[nodiscard]] size_t size() const { return count_; }

 private:
  static bool place(std::vector<uint64_t>& slots, uint64_t number) {
    const size_t mask = slots.size() - 1;
    size_t i = number & mask;
    for (; slots[i] != 0; i = (i + 1) & mask) {
      if (slots[i] == number) return false;
    }
    slots[i] = number;
    return true;
  }
  void grow() {
    std::vector<uint64_t> larger(slots_.empty() ? 64 : slots_.size() * 2);
    for (const uint64_t number : slots_) {
      if (number != 0) place(larger, number);
    }
    slots_ = std::move(larger);
  }
  std::vector<uint64_t> slots_;  // 0: free
  size_t count_ = 0;
};

}  // namespace

Result<ClusterKey> ClusterKey::load(const std::string& path, uint32_t owner) {
  Result<std::string> bytes = read_secret(path, 32, 4096, owner);
  if (!bytes) return tl::unexpected<Error>(std::move(bytes.error()));
  return ClusterKey(std::move(*bytes));
}

std::string ClusterKey::sign(std::string_view bytes) const { return hmac_sha256(bytes_, bytes); }

// No token begins like this, so none that a user is given can be such a key.
std::string ClusterKey::answer_key(std::string_view token) const {
  return sign(fmt::format("answer to {}", token));
}

TokenMaker::TokenMaker(ClusterKey key, std::string cluster, std::string host, Duration lifetime)
    : key_(std::move(key)),
      cluster_(std::move(cluster)),
      host_(std::move(host)),
      lifetime_(lifetime) {}

std::string TokenMaker::make(uint32_t uid, uint32_t gid, std::string_view digest, Time now,
                             bool signs_answer) const {
  return sign({.uid = uid,
               .gid = gid,
               .issued = now,
               .expires = now + lifetime_,
               .nonce = random_number(),
               .host = host_,
               .cluster = cluster_,
               .digest = std::string(digest),
               .signs_answer = signs_answer});
}

std::string TokenMaker::sign(const Token& token) const {
  std::string bytes(1, kVersion);
  wire::encode_to(bytes, token);
  bytes += key_.sign(bytes);
  return bytes;
}

struct ReplayCache::Shard {
  std::mutex mutex;
  Time started{};
  NumberSet current;
  NumberSet previous;
};

ReplayCache::ReplayCache(Duration period, size_t capacity)
    : period_(period), capacity_(capacity), shards_(std::make_unique<Shard[]>(kShards)) {}

ReplayCache::~ReplayCache() = default;

ReplayCache::Verdict ReplayCache::insert(uint64_t nonce, Time now) {
  if (nonce == 0) nonce = 1;
  Shard& shard = shards_[nonce >> 60];  // kShards is 16; the low bits place it within the set
  const std::lock_guard lock(shard.mutex);
  // A number is looked for in the period it came in and the one after, so for at least a period. A
  // clock that was set back begins a new one: else the periods would not end before the time that
  // it showed then.
  const Duration age = now - shard.started;
  if (age >= period_ || age < -period_) {
    const bool adjacent = age < 2 * period_;
    shard.previous = adjacent ? std::move(shard.current) : NumberSet{};
    shard.current = NumberSet{};
    shard.started = now;
  }
  if (shard.previous.contains(nonce) || shard.current.contains(nonce)) return Verdict::kReplayed;
  if (shard.current.size() >= capacity_ / kShards) return Verdict::kFull;
  shard.current.insert(nonce);
  return Verdict::kFresh;
}

TokenVerifier::TokenVerifier(ClusterKey key, std::string cluster, Time started, Duration lifetime)
    : key_(std::move(key)),
      cluster_(std::move(cluster)),
      started_(started),
      lifetime_(lifetime),
      seen_(remembered(lifetime),
            kMostTokens *
                static_cast<size_t>(remembered(lifetime) / remembered(kTokenLifetime) + 1)) {}

Result<Identity> TokenVerifier::verify(std::string_view token, std::string_view digest, Time now) {
  const Result<Token> claims = check(token, now);
  if (!claims) return tl::unexpected<Error>(claims.error());
  if (!same_secret(claims->digest, digest)) {
    return refuse("the token belongs to another request, or to one to another daemon");
  }
  return use(*claims, token, now);
}

Result<Proof> TokenVerifier::open(std::string_view token, Time now) {
  const Result<Token> claims = check(token, now);
  if (!claims) return tl::unexpected<Error>(claims.error());
  auto identity = use(*claims, token, now);
  if (!identity) return tl::unexpected<Error>(std::move(identity.error()));
  return Proof{std::move(*identity), claims->digest};
}

Result<Token> TokenVerifier::check(std::string_view token, Time now) {
  if (token.size() <= 1 + kDigestSize || token.size() > kMostTokenBytes ||
      token.front() != kVersion) {
    return refuse("the token is malformed");
  }
  const std::string_view body = token.substr(0, token.size() - kDigestSize);
  if (!same_secret(key_.sign(body), token.substr(body.size()))) {
    return refuse("the token's signature is wrong: it was forged, or made with another key");
  }
  Result<Token> claims = wire::decode<Token>(body.substr(1));
  if (!claims) return refuse("the token is malformed");
  if (!cluster_.empty() && claims->cluster != cluster_) {
    return refuse(other_cluster_text("token", claims->cluster, cluster_));
  }
  const int64_t age = to_seconds(now - claims->issued);
  if (claims->issued > now + kClockTolerance) {
    return refuse(
        fmt::format("the token is not valid yet: it was issued {} s in this host's future; "
                    "check the clocks of {} and of this host (clock difference {} s)",
                    -age, claims->host, -age));
  }
  // The memory of used tokens covers the lifetime here.
  const Time expires = std::min(claims->expires, claims->issued + lifetime_);
  if (now > expires + kClockTolerance) {
    return refuse(
        fmt::format("the token has expired: it was issued {} s ago and valid for {} s; "
                    "check the clocks of {} and of this host (clock difference up to {} s)",
                    age, to_seconds(expires - claims->issued), claims->host, age));
  }
  return claims;
}

Result<Identity> TokenVerifier::use(const Token& claims, std::string_view token, Time now) {
  Time started = started_.load(std::memory_order_relaxed);
  while (now < started &&
         !started_.compare_exchange_weak(started, now, std::memory_order_relaxed)) {}
  if (claims.issued < std::min(started, now)) {
    return failure(
        ErrorCode::kRetry,
        fmt::format(
            "{}, which cannot tell whether it was used before: it was issued {:.1f} s ago by this host's clock; "
            "if it is new, the clock of {} is behind by that much",
            kOlderText, seconds_of(now - claims.issued), claims.host));
  }
  switch (seen_.insert(claims.nonce, now)) {
    case ReplayCache::Verdict::kReplayed:
      return refuse(fmt::format("the token was replayed: it was used before (issued {} s ago)",
                                to_seconds(now - claims.issued)));
    case ReplayCache::Verdict::kFull: return refuse("too many tokens in a short time");
    case ReplayCache::Verdict::kFresh: break;
  }
  Identity identity{
      .authenticated = true, .uid = claims.uid, .gid = claims.gid, .host = claims.host};
  if (claims.signs_answer) identity.answer_key = key_.answer_key(token);
  return identity;
}

}  // namespace sluice::net
