// How commands that ask the accounting daemon alone find it.
#pragma once

#include <optional>

#include "cli/shared/client.hpp"

namespace sluice::cli {

// Nothing, with the reason on stderr and in `exit_code`: there is no configuration, or it has no
// accounting daemon.
[[nodiscard]] std::optional<Client> open_accounting(const char* program, int& exit_code);

// Why the accounting daemon did not answer, on stderr; where it is away, at which host and port.
void tell_no_answer(const char* program, const Client& client, const Error& error);

}  // namespace sluice::cli
