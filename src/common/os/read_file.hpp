// A whole file at once: records, and the small texts that the kernel makes up when they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

// Nothing when it cannot be read. Stops once there are `most` bytes or a few more.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path, size_t most = SIZE_MAX);
// The same of what is open already, from where it stands.
[[nodiscard]] std::optional<std::string> read_descriptor(int fd, size_t most = SIZE_MAX);

}  // namespace sluice
