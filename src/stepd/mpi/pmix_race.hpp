// Whether a libpmix may be run by root. Its server gives files to the user by their paths; old ones
// followed links there, that the user could put in between (CVE-2023-41915).
#pragma once

#include <string_view>

#include "common/base/result.hpp"

namespace sluice::stepd {

// Of a loaded library (dlopen). The error's text is for the user.
[[nodiscard]] Status check_pmix_race(void* library);

// "OpenPMIx 4.2.6 (…)": whether the project had mended that by this version.
[[nodiscard]] bool is_mended_pmix(std::string_view version);
// Whether the loaded library calls a function of this name in another one. Distributions mend
// without a new version: what was mended calls lchown(), and chown() no more.
[[nodiscard]] bool imports(void* library, std::string_view function);

}  // namespace sluice::stepd
