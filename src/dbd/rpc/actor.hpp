// Who asks: the name of the proved uid, as the name services of this host know it.
#pragma once

#include <string>

#include "common/rpc/call_context.hpp"
#include "dbd/entities/change.hpp"

namespace sluice::dbd {

// Asks name services: for handlers of slow work.
[[nodiscard]] Actor actor_of(const net::CallContext& context);
[[nodiscard]] bool is_user_of_host(const std::string& name);

}  // namespace sluice::dbd
