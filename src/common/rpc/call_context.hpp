// What a handler of a request knows about its caller.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "common/base/time.hpp"
#include "common/auth/identity.hpp"
#include "common/wire/codec.hpp"

namespace sluice::net {

// Valid while the handler runs; copy what is needed later.
struct CallContext {
  Identity identity;
  std::string peer;  // "10.0.0.1:4242", "unix:" or "local"
  std::string_view method;
  Time deadline = kNever;   // when the caller stops waiting
  uint32_t slurm_user = 0;  // uid of SlurmUser, as the server was configured
  // where to say how much memory the request took, decoded; null: nobody asks
  size_t* decoded_bytes = nullptr;

  [[nodiscard]] bool is_root() const { return identity.is_root(); }
  [[nodiscard]] bool is_slurm_user() const { return identity.is_user(slurm_user); }
  // Decodes the request of a handler. Anybody's may become as much larger as is plausible for a
  // message of its size.
  template <class Request>
  [[nodiscard]] Result<Request> decode(std::string_view bytes) const {
    constexpr size_t kMostCounted = size_t{1} << 20;  // longer ones are long because of their texts
    const size_t room =
        is_super_user() ? wire::decode_room(bytes.size())
                        : wire::decode_room(std::min(bytes.size(), kMostCounted)) + bytes.size();
    size_t left = room;
    auto request = wire::decode_within<Request>(bytes, left);
    if (decoded_bytes != nullptr) *decoded_bytes = room - left;
    return request;
  }

  // Root and SlurmUser may do anything.
  [[nodiscard]] bool is_super_user() const { return is_root() || is_slurm_user(); }
};

}  // namespace sluice::net
