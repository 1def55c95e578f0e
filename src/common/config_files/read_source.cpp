#include "common/config_files/read_source.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "common/base/errno_text.hpp"
#include "common/os/matching_paths.hpp"

namespace sluice {

Result<tables::ConfSource> read_source(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return failure(ErrorCode::kInvalidConfig, fmt::format("{}: Is a directory", path));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return failure(ErrorCode::kInvalidConfig, fmt::format("{}: {}", path, errno_text(errno)));
  }
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) {
    return failure(ErrorCode::kInvalidConfig, fmt::format("{}: cannot be read", path));
  }
  if (const size_t nul = text.find('\0'); nul != std::string::npos) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("{}:{}: there is a NUL byte, which no text has", path, line));
  }
  return tables::ConfSource{path, std::move(text)};
}

Result<std::vector<tables::ConfSource>> read_included(const std::filesystem::path& folder,
                                                      const std::string& name) {
  std::vector<tables::ConfSource> sources;
  for (const std::string& one : matching_paths((folder / name).string())) {
    // an absolute name stands for itself
    Result<tables::ConfSource> source = read_source(one);
    if (!source) return tl::unexpected(source.error());
    sources.push_back(std::move(*source));
  }
  return sources;
}

}  // namespace sluice
