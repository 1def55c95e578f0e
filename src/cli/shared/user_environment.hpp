// The variables that a user's login sets: salloc --get-user-env.
#pragma once

#include <optional>
#include <string>

#include "common/environment/environment.hpp"

namespace sluice::cli {

// Nothing when the user cannot log in. Root asks su, others their own login shell.
[[nodiscard]] std::optional<Environment> login_environment(const std::string& user);

}  // namespace sluice::cli
