#include "common/auth/jwt.hpp"

#include <openssl/evp.h>
#include <pwd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/text.hpp"
#include "common/os/clock.hpp"
#include "common/auth/crypto.hpp"
#include "common/auth/token.hpp"

namespace sluice::net {
namespace {

using nlohmann::json;

constexpr std::string_view kPrefix = "jwt ";  // before the token on the wire
constexpr size_t kMostBytes = 4096;           // of a token
constexpr size_t kLeastKey = 16;
constexpr int64_t kLatestTime = 253'402'300'799;  // the end of the year 9999, in Unix seconds

tl::unexpected<Error> refuse(std::string text) {
  return failure(ErrorCode::kAuthentication, std::move(text));
}

// Base64 with the alphabet of URLs, and without padding (RFC 7515).
std::string encode(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

std::optional<std::string> decode(std::string_view text) {
  std::string padded(text);
  if (padded.find_first_of("+/=\r\n \t") != std::string::npos || padded.size() % 4 == 1)
    return std::nullopt;
  for (char& c : padded) c = c == '-' ? '+' : c == '_' ? '/' : c;
  const size_t missing = (4 - padded.size() % 4) % 4;
  padded.append(missing, '=');
  std::string bytes(padded.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(padded.data()),
                                     static_cast<int>(padded.size()));
  if (length < 0) return std::nullopt;
  bytes.resize(static_cast<size_t>(length) - missing);
  return bytes;
}

// An object, or null for what is none.
json parse_part(std::string_view text) {
  const auto bytes = decode(text);
  if (!bytes) return nullptr;
  json parsed = json::parse(*bytes, nullptr, false);
  return parsed.is_object() ? parsed : json(nullptr);
}

class JwtAcceptor : public AuthProvider {
 public:
  JwtAcceptor(std::shared_ptr<AuthProvider> other, LiveJwtSettings settings)
      : other_(std::move(other)), settings_(std::move(settings)) {}
  [[nodiscard]] std::string_view name() const override { return other_->name(); }
  Result<std::string> create_token(const RequestDigest& digest) override {
    return other_->create_token(digest);
  }
  [[nodiscard]] WaitsFor open_waits_for(std::string_view token) const override {
    if (!token.starts_with(kPrefix)) return other_->open_waits_for(token);
    return settings_().key_file.empty() ? WaitsFor::kNothing : WaitsFor::kFiles;
  }
  [[nodiscard]] WaitsFor create_waits_for() const override { return other_->create_waits_for(); }
  void on_outage(OutageListener listener) override { other_->on_outage(std::move(listener)); }
  Result<Proof> open(std::string_view token) override {
    if (!token.starts_with(kPrefix)) return other_->open(token);
    const JwtSettings settings = settings_();
    if (settings.key_file.empty()) return refuse("AuthAltTypes has no auth/jwt here");
    const auto key = load_jwt_key(settings);  // read again each time: it may be changed
    if (!key) return refuse(key.error().text);
    const auto user = read_jwt(*key, token.substr(kPrefix.size()), now());
    if (!user) return tl::unexpected(user.error());
    passwd entry{};
    passwd* found = nullptr;
    char buffer[16384];
    if (getpwnam_r(user->c_str(), &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) {
      return refuse(fmt::format("the token's user {} is not known here", *user));
    }
    // Unlike other tokens it is good for any request, and as often as it is sent: whoever holds it
    // is that user.
    return Proof{{.authenticated = true, .uid = found->pw_uid, .gid = found->pw_gid, .host = {}},
                 std::nullopt};
  }

 private:
  std::shared_ptr<AuthProvider> other_;
  LiveJwtSettings settings_;
};

class JwtBearer : public AuthProvider {
 public:
  explicit JwtBearer(std::string_view token) : token_(fmt::format("{}{}", kPrefix, token)) {}
  [[nodiscard]] std::string_view name() const override { return "auth/jwt"; }
  Result<std::string> create_token(const RequestDigest&) override { return token_; }
  Result<Proof> open(std::string_view) override { return refuse("a command takes no requests"); }

 private:
  std::string token_;
};

}  // namespace

std::string make_jwt(std::string_view key, std::string_view user, Time issued, Time expires) {
  const json header = {{"alg", "HS256"}, {"typ", "JWT"}};
  const json claims = {{"exp", to_seconds(expires)}, {"iat", to_seconds(issued)}, {"sun", user}};
  const std::string text = encode(header.dump()) + "." + encode(claims.dump());
  return text + "." + encode(hmac_sha256(key, text));
}

Result<std::string> read_jwt(std::string_view key, std::string_view token, Time now) {
  const size_t first = token.find('.');
  const size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (token.size() > kMostBytes || second == std::string_view::npos)
    return refuse("the token is malformed");
  const json header = parse_part(token.substr(0, first));
  const json claims = parse_part(token.substr(first + 1, second - first - 1));
  const auto signature = decode(token.substr(second + 1));
  if (!header.is_object() || !claims.is_object() || !signature)
    return refuse("the token is malformed");
  // the algorithm is ours to choose, never the sender's
  if (header.value("alg", json()) != "HS256") return refuse("the token is not signed with HS256");
  if (!same_secret(*signature, hmac_sha256(key, token.substr(0, second))))
    return refuse("the token is forged, or made with another key");
  const json expires = claims.value("exp", json());
  const json issued = claims.value("iat", json(0));
  const json user = claims.contains("sun") ? claims["sun"] : claims.value("username", json());
  if (!expires.is_number_integer() || !issued.is_number_integer() || !user.is_string()) {
    return refuse("the token lacks exp or sun");
  }
  // times that no clock shows are no times: with them a difference might not be a number
  const auto plausible = [](const json& time) {
    return time.get<int64_t>() >= 0 && time.get<int64_t>() <= kLatestTime;
  };
  if (!plausible(expires) || !plausible(issued)) return refuse("the token's times make no sense");
  const int64_t late = to_seconds(now) - expires.get<int64_t>();
  if (late >= 0) return refuse(fmt::format("the token expired {} s ago", late));
  const int64_t early = issued.get<int64_t>() - to_seconds(now + kClockTolerance);
  if (early > 0) return refuse("the token is not yet valid: it was made in the future");
  return user.get<std::string>();
}

std::string bearer_token(std::string_view header) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!starts_with_i(header, kScheme)) return {};
  return fmt::format("{}{}", kPrefix, trim(header.substr(kScheme.size())));
}

Result<std::string> load_jwt_key(const JwtSettings& settings) {
  return read_secret(settings.key_file, kLeastKey, kMostBytes, settings.slurm_user);
}

std::shared_ptr<AuthProvider> accept_jwt(std::shared_ptr<AuthProvider> other,
                                         LiveJwtSettings settings) {
  return std::make_shared<JwtAcceptor>(std::move(other), std::move(settings));
}
std::shared_ptr<AuthProvider> use_jwt(std::string_view token) {
  return std::make_shared<JwtBearer>(token);
}

}  // namespace sluice::net
