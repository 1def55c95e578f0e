#include "common/os/program_output.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.hpp"

namespace sluice {
namespace {

size_t size_of(int fd) {
  struct stat file {};
  return ::fstat(fd, &file) == 0 ? static_cast<size_t>(file.st_size) : 0;
}

std::string read_at(int fd, size_t from, size_t most) {
  std::string text(most, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), static_cast<off_t>(from));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

}  // namespace

ProgramOutput::ProgramOutput() : fd_(::memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  // where the file begins anew, so does what is written next
  if (fd_ >= 0) ::fcntl(fd_, F_SETFL, O_APPEND);
}

ProgramOutput::~ProgramOutput() {
  if (fd_ >= 0) ::close(fd_);
}

std::string ProgramOutput::text(size_t most_bytes) const { return read_at(fd_, 0, most_bytes); }

std::vector<std::string> ProgramOutput::last_lines(size_t most_lines, size_t most_bytes) const {
  const size_t size = size_of(fd_);
  const size_t from = size > most_bytes ? size - most_bytes : 0;
  std::vector<std::string> lines = split(read_at(fd_, from, most_bytes), '\n');
  if (from > 0 && lines.size() > 1) lines.erase(lines.begin());  // the end of one
  std::erase_if(lines, [](const std::string& line) { return trim(line).empty(); });
  if (lines.size() > most_lines)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most_lines));
  return lines;
}

void ProgramOutput::bound(size_t most_bytes) {
  const size_t size = size_of(fd_);
  if (size <= most_bytes) return;
  const size_t kept = most_bytes / 4;
  const std::string end = read_at(fd_, size - kept, kept);
  if (::ftruncate(fd_, 0) == 0) (void)!::write(fd_, end.data(), end.size());
}

void ProgramOutput::close() {
  (void)!::ftruncate(fd_, 0);
  ::fcntl(fd_, F_ADD_SEALS, F_SEAL_GROW);
}

}  // namespace sluice
