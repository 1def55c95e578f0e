#include "common/auth/jwt.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "common/os/clock.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::net {
namespace {

const std::string kKey = "0123456789abcdef0123456789abcdef";
const Time kNow = from_seconds(1'800'000'000);
const Time kLater = kNow + std::chrono::minutes(30);

std::string problem(std::string_view token, Time now = kNow, std::string_view key = kKey) {
  const auto user = read_jwt(key, token, now);
  return user ? "none, " + *user : user.error().text;
}

TEST(Jwt, NamesItsUserUntilItExpires) {
  const std::string token = make_jwt(kKey, "ann", kNow, kLater);
  EXPECT_EQ(problem(token), "none, ann");
  EXPECT_EQ(problem(token, kLater - std::chrono::seconds(1)), "none, ann");
  EXPECT_EQ(problem(token, kLater + std::chrono::seconds(5)), "the token expired 5 s ago");
  EXPECT_EQ(problem(token, kNow - std::chrono::minutes(5)),
            "the token is not yet valid: it was made in the future");
}

TEST(Jwt, TakesWhatOthersMakeWithTheKey) {
  // {"alg":"HS256","typ":"JWT"} and {"exp":1800001800,"iat":1800000000,"sun":"ann"}, signed by
  // Python's hmac
  EXPECT_EQ(
      problem(
          "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjE4MDAwMDE4MDAsImlhdCI6MTgwMDAwMDAwMCwic3VuIjoiYW5uIn0."
          "mbmYnnDnBHyG1Jw1uUb10X7O1J1olzqL7yjNcMyN_Tw"),
      "none, ann");
}

TEST(Jwt, IsRefusedWhenItIsNotOurs) {
  std::string token = make_jwt(kKey, "ann", kNow, kLater);
  EXPECT_EQ(problem(token, kNow, "another key, another key, another"),
            "the token is forged, or made with another key");
  const std::string root = make_jwt("guessed guessed guessed", "root", kNow, kLater);
  EXPECT_EQ(problem(root), "the token is forged, or made with another key");
  // somebody else's claims before our signature
  const std::string mixed = root.substr(0, root.rfind('.')) + token.substr(token.rfind('.'));
  EXPECT_EQ(problem(mixed), "the token is forged, or made with another key");
  // {"alg":"none"}
  EXPECT_EQ(problem("eyJhbGciOiJub25lIn0" + token.substr(token.find('.'))),
            "the token is not signed with HS256");
}

// Knows nobody.
class NoOther final : public AuthProvider {
 public:
  [[nodiscard]] std::string_view name() const override { return "auth/none"; }
  Result<std::string> create_token(const RequestDigest&) override {
    return failure(ErrorCode::kAuthentication);
  }
  Result<Proof> open(std::string_view) override { return failure(ErrorCode::kAuthentication); }
};

TEST(Jwt, ProvesItsUserAsAnyTokenDoes) {
  const test::TempFolder folder;
  const std::filesystem::path file = folder.path() / "jwt.key";
  std::ofstream(file) << kKey;
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  JwtSettings settings = {file.string(), static_cast<uint32_t>(geteuid())};
  const auto acceptor = accept_jwt(std::make_shared<NoOther>(), [&settings] { return settings; });
  const RequestDigest digest{std::string(32, 'd')};
  const auto proved = [&](std::string_view user) {
    const std::string token = make_jwt(kKey, user, now(), now() + std::chrono::minutes(1));
    return acceptor->verify(*use_jwt(token)->create_token(digest), digest);
  };
  const auto root = proved("root");
  ASSERT_TRUE(root) << root.error().text;
  EXPECT_TRUE(root->is_root());
  EXPECT_TRUE(root->is_user(0));
  EXPECT_FALSE(proved("nobody-of-this-name"));
  EXPECT_FALSE(acceptor->verify("something else", digest));
  settings = {};  // AuthAltTypes was taken out
  const auto refused = proved("root");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "AuthAltTypes has no auth/jwt here");
}

TEST(Jwt, GarbageIsRefused) {
  for (const char* text : {"", ".", "..", "a.b.c", "a.b",
                           "====.====.====", "e30.e30.e30=", "e30.W10.e30", "\x80.\xff.\n"}) {
    EXPECT_TRUE(problem(text).starts_with("the token is")) << text << ": " << problem(text);
  }
  EXPECT_EQ(problem(std::string(100'000, 'a')), "the token is malformed");
  const std::string token = make_jwt(kKey, "ann", kNow, kLater);
  for (size_t length = 0; length < token.size(); ++length)
    EXPECT_NE(problem(token.substr(0, length)), "none, ann") << length;
}

}  // namespace
}  // namespace sluice::net
