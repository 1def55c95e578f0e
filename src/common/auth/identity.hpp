// Who a request comes from, as proved by its token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::net {

struct Identity {
  bool authenticated = false;  // false: the method is open to all and no token was sent
  uint32_t uid = UINT32_MAX;
  uint32_t gid = UINT32_MAX;
  std::string host;  // the host that made the token; empty when unknown
  // of the host that made a munge credential, as its munged says; empty: unknown
  std::string address = {};
  std::string answer_key = {};  // the answer is to be signed with it; empty: it need not be

  [[nodiscard]] bool is_root() const { return authenticated && uid == 0; }
  [[nodiscard]] bool is_user(uint32_t who) const { return authenticated && uid == who; }
};

// What a token proves, as long as the request is the one that it is for.
struct Proof {
  Identity identity;
  std::optional<std::string> digest;  // of that request; nothing: it is good for any
};

}  // namespace sluice::net
