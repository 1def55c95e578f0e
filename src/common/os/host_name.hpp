// The name of this machine.
#pragma once

#include <string>

namespace sluice {

// Without its domain; "localhost" when the system does not say.
[[nodiscard]] std::string short_host_name();

}  // namespace sluice
