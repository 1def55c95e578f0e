// What a handler of a request knows about its caller.
#pragma once

#include <string>
#include <string_view>

#include "common/base/time.hpp"
#include "common/net/identity.hpp"

namespace sluice::net {

// Valid while the handler runs; copy what is needed later.
struct CallContext {
  Identity identity;
  std::string peer;  // "10.0.0.1:4242", "unix:" or "local"
  std::string_view method;
  Time deadline = kNever;   // when the caller stops waiting
  uint32_t slurm_user = 0;  // uid of SlurmUser, as the server was configured

  [[nodiscard]] bool is_root() const { return identity.is_root(); }
  [[nodiscard]] bool is_slurm_user() const { return identity.is_user(slurm_user); }
  // Root and SlurmUser may do anything.
  [[nodiscard]] bool is_super_user() const { return is_root() || is_slurm_user(); }
};

}  // namespace sluice::net
