// What SOCI throws, as errors.
#pragma once

#include <functional>
#include <string>

#include "common/base/result.hpp"

namespace sluice::dbd {

// `work`, with what it throws as an error that begins with `where`.
[[nodiscard]] Status guarded(const std::string& where, const std::function<Status()>& work);

}  // namespace sluice::dbd
