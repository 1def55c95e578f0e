#include "common/cgroup/group_files.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/read_file.hpp"
#include "common/base/text.hpp"

namespace sluice::cgroup {

Status write_group_file(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  const bool written = fd >= 0 && ::write(fd, text.data(), text.size()) >= 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (written) return {};
  return failure(fmt::format("cannot write {} to {}: {}", trim(text), path, errno_text(error)));
}

uint64_t number_in(const std::string& path) {
  const auto text = read_file(path);
  const auto numbers = text ? numbers_in(*text) : std::vector<uint64_t>{};
  return numbers.empty() ? 0 : numbers.front();
}

uint64_t number_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.size() <= key.size() + 1 || !line.starts_with(key) || line[key.size()] != ' ')
      continue;
    return to_number<uint64_t>(trim(line.substr(key.size() + 1))).value_or(0);
  }
  return 0;
}

std::vector<uint64_t> numbers_in(std::string_view text) {
  std::vector<uint64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    uint64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc()) numbers.push_back(number);
    at = next == at ? at + 1 : next;
  }
  return numbers;
}

uint64_t fork_refusals_in(const std::string& folder) {
  uint64_t below = 0;
  for (const std::string& name : folders_in(folder))
    below += fork_refusals_in(fmt::format("{}/{}", folder, name));
  return std::max(below, number_of(read_file(folder + "/pids.events").value_or(""), "max"));
}

std::vector<std::string> folders_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(path, error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (at->is_directory(gone)) names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status make_group(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return failure(fmt::format("cannot make the control group {}: {}", path, errno_text(errno)));
}

bool is_folder(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

bool remove_groups(const std::string& path) {
  if (!is_folder(path)) return true;
  bool gone = true;
  for (const std::string& name : folders_in(path))
    gone = remove_groups(fmt::format("{}/{}", path, name)) && gone;
  return gone && ::rmdir(path.c_str()) == 0;
}

}  // namespace sluice::cgroup
