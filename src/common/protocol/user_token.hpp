// scontrol token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::protocol {

struct CreateUserTokenRequest {
  static constexpr std::string_view kMethod = "Controller/CreateUserToken";
  using Reply = struct CreateUserTokenReply;
  std::string user_name;    // empty: the sender's own
  uint32_t lifespan_s = 0;  // 0: as long as is usual
  template <class V>
  static void describe(V&& field) {
    field(1, "user_name", &CreateUserTokenRequest::user_name);
    field(2, "lifespan_s", &CreateUserTokenRequest::lifespan_s);
  }
};
struct CreateUserTokenReply {
  std::string token;
  template <class V>
  static void describe(V&& field) {
    field(1, "token", &CreateUserTokenReply::token);
  }
};

}  // namespace sluice::protocol
