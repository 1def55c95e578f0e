// Names of users, as this host knows them.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::cli {

// The user's name; the number where none is known.
[[nodiscard]] std::string user_name(uint32_t uid);
// Of who runs the command.
[[nodiscard]] std::string own_name();

}  // namespace sluice::cli
