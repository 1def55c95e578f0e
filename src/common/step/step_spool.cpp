#include "common/step/step_spool.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/local_address.hpp"
#include "common/os/read_file.hpp"
#include "common/os/replace_file.hpp"
#include "common/base/text.hpp"
#include "common/wire/codec.hpp"

namespace sluice {
namespace {

constexpr size_t kMaxRecordBytes = 1U << 20;

tl::unexpected<Error> system_failure(std::string_view what, const std::string& path) {
  const ErrorCode code = errno == ENOSPC ? ErrorCode::kStorageFull : ErrorCode::kError;
  return failure(code, fmt::format("{} {}: {}", what, path, errno_text(errno)));
}

}  // namespace

std::string step_file_name(const protocol::StepKey& key) {
  return fmt::format("{}.{}.{}", key.id.job, key.id.step, key.restart);
}

std::optional<protocol::StepKey> parse_step_file_name(std::string_view name) {
  const auto parts = split(name, '.');
  if (parts.size() != 3) return std::nullopt;
  const auto job = to_number<uint32_t>(parts[0]);
  const auto step = to_number<uint32_t>(parts[1]);
  const auto restart = to_number<uint32_t>(parts[2]);
  if (!job || !step || !restart) return std::nullopt;
  return protocol::StepKey{{*job, *step}, *restart};
}

std::string StepSpool::path(const protocol::StepKey& key, std::string_view ending) const {
  return fmt::format("{}/{}.{}", folder_, step_file_name(key), ending);
}

Status StepSpool::prepare() const {
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_failure("cannot make", folder_);
  }
  return {};
}

Result<bool> StepSpool::claim(const protocol::StepRecord& record) const {
  const std::string file = path(record.key, "key");
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    if (errno == EEXIST) return false;
    return system_failure("cannot create", file);
  }
  // of an earlier step of this id: who removed its files was killed at the last
  ::unlink(path(record.key, "end").c_str());
  const bool good = write_all(fd, wire::encode(record));
  ::close(fd);
  if (good) return true;
  auto error = system_failure("cannot write", file);
  ::unlink(file.c_str());
  return error;
}

bool StepSpool::is_claimed(const protocol::StepKey& key) const {
  return ::access(path(key, "key").c_str(), F_OK) == 0;
}

Status StepSpool::write_end(const protocol::StepEnded& ended) const {
  return replace_file(path(ended.key, "end"), wire::encode(ended));
}

std::optional<protocol::StepEnded> StepSpool::read_end(const protocol::StepKey& key) const {
  const auto bytes = read_file(path(key, "end"), kMaxRecordBytes);
  if (!bytes) return std::nullopt;
  auto ended = wire::decode<protocol::StepEnded>(*bytes);
  if (!ended || ended->key != key) return std::nullopt;  // cut short by a crash of the host
  return std::move(*ended);
}

Status StepSpool::sync() const {
  const int fd = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool good = fd >= 0 && ::syncfs(fd) == 0;
  if (fd >= 0) ::close(fd);
  return good ? Status{} : Status{system_failure("cannot flush", folder_)};
}

protocol::StepRecord StepSpool::record_of(const protocol::StepKey& key) const {
  const auto bytes = read_file(path(key, "key"), kMaxRecordBytes);
  auto record = bytes ? wire::decode<protocol::StepRecord>(*bytes)
                      : Result<protocol::StepRecord>(protocol::StepRecord{});
  if (!record || record->key != key) {
    protocol::StepRecord bare;
    bare.key = key;
    return bare;
  }
  return *record;
}

Result<std::vector<protocol::StepKey>> StepSpool::scan() const {
  std::vector<protocol::StepKey> keys;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() != ".key") continue;
    const auto key = parse_step_file_name(entry->path().stem().string());
    if (key) keys.push_back(*key);
  }
  if (error) return failure(fmt::format("cannot read {}: {}", folder_, error.message()));
  return keys;
}

void StepSpool::remove(const protocol::StepKey& key) const {
  // the report goes last: a claimed step without one would be taken for a crashed one
  for (const char* ending : {"sock", "end.new", "key", "end"}) ::unlink(path(key, ending).c_str());
}

void StepSpool::remove_socket(const protocol::StepKey& key) const {
  ::unlink(path(key, "sock").c_str());
}

Result<int> StepSpool::open_socket(const protocol::StepKey& key, bool listening) const {
  const int folder = ::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return system_failure("cannot open", folder_);
  const auto address =
      local_address(fmt::format("/proc/self/fd/{}/{}.sock", folder, step_file_name(key)));
  const int fd = address ? ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
  const auto* generic = address ? reinterpret_cast<const sockaddr*>(&*address) : nullptr;
  bool good = fd >= 0;
  if (good && listening) {
    ::unlink(path(key, "sock").c_str());
    good = ::bind(fd, generic, sizeof *address) == 0 && ::listen(fd, 8) == 0;
  } else if (good) {
    good = ::connect(fd, generic, sizeof *address) == 0;
  }
  const int error = errno;
  ::close(folder);
  if (good) return fd;
  if (fd >= 0) ::close(fd);
  errno = error;
  return system_failure(listening ? "cannot listen at" : "cannot connect to", path(key, "sock"));
}

Result<int> StepSpool::connect(const protocol::StepKey& key) const {
  return open_socket(key, false);
}
Result<int> StepSpool::listen(const protocol::StepKey& key) const { return open_socket(key, true); }

std::string batch_folder(const std::string& spool_dir, JobId job) {
  return fmt::format("{}/job{:05}", spool_dir, job);
}

void remove_batch_folder(const std::string& spool_dir, JobId job) {
  const std::string folder = batch_folder(spool_dir, job);
  ::unlink((folder + "/" + kBatchScriptName).c_str());
  if (::rmdir(folder.c_str()) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace sluice
