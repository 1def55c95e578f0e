#include "stepd/io/file_writer.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/replace_file.hpp"
#include "common/protocol/broadcast.hpp"
#include "common/step/frame.hpp"
#include "common/names/broadcast_names.hpp"
#include "common/wire/codec.hpp"
#include "stepd/io/lz4_block.hpp"
#include "stepd/process/mount_namespace.hpp"
#include "stepd/process/user_identity.hpp"

namespace sluice::stepd {
namespace {

using protocol::BlockAction;
using protocol::BlockReply;
using protocol::BroadcastBlock;

constexpr uint32_t kMaxFrameOfBlock = 2 * protocol::kMaxBlockBytes;

// Writes it all; 0 or an errno.
int put(int fd, std::string_view bytes) { return write_all(fd, bytes) ? 0 : errno; }

timespec time_of(int64_t nanoseconds) {
  constexpr int64_t kSecond = 1000000000;
  return {nanoseconds / kSecond, nanoseconds % kSecond};
}

// One file, from its first block to its last.
class OpenFile {
 public:
  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { drop(); }

  int begin(const std::string& path, bool force) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd_ < 0 && errno == EEXIST && force) fd_ = replace(path);
    if (fd_ < 0) return errno;
    path_ = path;
    return 0;
  }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int write(std::string_view bytes) const { return put(fd_, bytes); }

  int end(const BroadcastBlock& block, mode_t umask) {
    const mode_t mode = block.preserve ? block.mode & 07777 : block.mode & 0777 & ~umask;
    const timespec times[2] = {time_of(block.access_ns), time_of(block.change_ns)};
    if (::fchmod(fd_, mode) != 0 || (block.preserve && ::futimens(fd_, times) != 0)) return errno;
    const int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0) {  // a full quota may be told only now
      const int error = errno;
      ::unlink(path_.c_str());
      return error;
    }
    return 0;
  }

 private:
  // What is there gives way, never what it points to. In a folder where nothing can be removed, a
  // file of the user's own is written over.
  static int replace(const std::string& path) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) {
      return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    const int why = errno;
    const int fd = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat about {};
    const bool own = fd >= 0 && ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                     about.st_uid == ::geteuid();
    if (own && ::ftruncate(fd, 0) == 0) return fd;
    if (fd >= 0) ::close(fd);
    errno = why;
    return -1;
  }
  void drop() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(path_.c_str());
  }

  int fd_ = -1;
  std::string path_;
};

int make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return 0;
  const int why = errno;
  struct stat about {};
  const bool own = why == EEXIST && ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
                   about.st_uid == ::geteuid();
  return own ? 0 : why;
}

int remove_file(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(libraries_folder(path), ignored);
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

class Writer {
 public:
  // Becomes the user; an error's text is for him.
  BlockReply start(const protocol::FileWriterStart& start) {
    node_ = start.node_name;
    const auto user = identity_of(NamedUser{start.uid, start.gid, start.groups, start.user_name});
    if (!user) return {EPERM, user.error().text};
    if (const int error = enter_mount_namespace(start.mount_namespace); error != 0)
      return {error, {}};
    if (!become(*user)) return {errno, {}};
    umask_ = ::umask(0);
    ready_ = true;
    return {};
  }

  BlockReply take(const BroadcastBlock& block) {
    if (!ready_) return {EPERM, {}};
    const std::string path =
        (block.per_node ? node_file_name(block.path, node_) : block.path) + block.suffix;
    if (path.empty() || path[0] != '/') return {EINVAL, {}};
    if (block.action == BlockAction::kFolder) return {make_folder(path), {}};
    if (block.action == BlockAction::kRemove) return {remove_file(path), {}};
    if (block.number == 1) {
      if (const int error = file_.begin(path, block.force); error != 0) return {error, {}};
    }
    if (!file_.is_open()) return {EBADF, {}};
    const auto bytes = unpack_block(block);
    if (!bytes) return {EBADMSG, "a block cannot be decompressed"};
    if (const int error = file_.write(*bytes); error != 0) return {error, {}};
    return {block.last ? file_.end(block, umask_) : 0, {}};
  }

 private:
  std::string node_;
  OpenFile file_;
  mode_t umask_ = 022;
  bool ready_ = false;
};

bool answer(int agent, const BlockReply& reply) {
  std::string frame;
  append_frame(frame, protocol::FrameType::kFileDone, kNoTask, wire::encode(reply));
  return put(agent, frame) == 0;
}

}  // namespace

int write_files(int agent) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  FrameReader reader(kMaxFrameOfBlock);
  Writer writer;
  BlockReply started;
  std::string buffer(1 << 20, '\0');
  for (;;) {
    const ssize_t n = ::read(agent, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    reader.feed(std::string_view(buffer.data(), static_cast<size_t>(n)));
    for (;;) {
      const auto frame = reader.next();
      if (!frame) return 1;
      if (!frame->has_value()) break;
      if ((*frame)->type == protocol::FrameType::kFileStart) {
        const auto start = wire::decode<protocol::FileWriterStart>((*frame)->body);
        started = start ? writer.start(*start) : BlockReply{EBADMSG, {}};
        continue;
      }
      const auto block = wire::decode<BroadcastBlock>((*frame)->body);
      const BlockReply reply = started.error != 0 ? started
                               : block            ? writer.take(*block)
                                                  : BlockReply{EBADMSG, {}};
      if (!answer(agent, reply)) return 1;
    }
  }
}

}  // namespace sluice::stepd
