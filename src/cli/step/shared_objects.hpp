// The shared objects that a program loads, as ldd finds them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

// Paths, without those in or below the `excluded` folders. None for a script or a static program.
[[nodiscard]] std::vector<std::string> shared_objects(const std::string& program,
                                                      const std::vector<std::string>& excluded);
// What `text`, the output of ldd, names.
[[nodiscard]] std::vector<std::string> objects_of_ldd(std::string_view text,
                                                      const std::vector<std::string>& excluded);

}  // namespace sluice::cli
