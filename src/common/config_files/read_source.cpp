#include "common/config_files/read_source.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/matching_paths.hpp"
#include "common/os/read_file.hpp"

namespace sluice {
namespace {

constexpr size_t kMostFileBytes = size_t{64} << 20;

bool is_pipe(int fd) {
  struct stat file {};
  return ::fstat(fd, &file) == 0 && (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode));
}

}  // namespace

Result<tables::ConfSource> read_source(const std::string& path) {
  const auto refuse = [&path](std::string_view why) {
    return failure(ErrorCode::kInvalidConfig, fmt::format("{}: {}", path, why));
  };
  // a pipe without a writer would be waited for
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return refuse(errno_text(errno));
  const bool pipe = is_pipe(fd);
  std::optional<std::string> read = pipe ? std::nullopt : read_descriptor(fd, kMostFileBytes + 1);
  const int why = errno;
  ::close(fd);
  if (pipe) return refuse("it is a pipe or a socket, not a file");
  if (!read) return refuse(errno_text(why));
  std::string text = std::move(*read);
  if (text.size() > kMostFileBytes)
    return refuse(fmt::format("it has more than {} MiB", kMostFileBytes >> 20));
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
