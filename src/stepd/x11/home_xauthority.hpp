// X11Parameters=home_xauthority: the cookie for a step's display is in ~/.Xauthority, beside those
// for others.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace sluice::stepd {

// Replaces the contents of the file `path` (none: it is not there yet) by what `change` makes of
// them, at once and under the lock that xauth(1) takes. Waits at most a second for that lock. With
// the rights of the caller.
[[nodiscard]] Status change_xauthority(const std::string& path,
                                       const std::function<std::string(std::string_view)>& change);

}  // namespace sluice::stepd
