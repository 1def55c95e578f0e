// How a program ended, in words.
#pragma once

#include <string>

namespace sluice {

// Of a status as wait(2) gives it: "ended with exit status 3", "was ended by signal 9"; -1: it
// "could not be started".
[[nodiscard]] std::string ending_text(int status);

}  // namespace sluice
