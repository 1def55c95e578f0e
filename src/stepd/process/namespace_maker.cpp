#include "stepd/process/namespace_maker.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/os/remove_tree.hpp"
#include "common/protocol/container.hpp"

namespace sluice::stepd {
namespace {

namespace fs = std::filesystem;
constexpr const char* kShm = "/dev/shm";

struct Wanted {
  std::string folder;
  uid_t uid = 0;
  std::vector<std::string> mounts;  // "/tmp", "/dev/shm"
  bool shared = false;              // Shared: what the host mounts later is seen
  std::string script;
};

// The user's folder that is seen at `place`: "/var/tmp" lies in "var_tmp".
std::string source_of(const Wanted& wanted, std::string place) {
  place.erase(0, place.find_first_not_of('/'));
  std::replace(place.begin(), place.end(), '/', '_');
  return fmt::format("{}{}/{}", wanted.folder, protocol::kFoldersFolder, place);
}

// Held by whoever works in the folder; it lies beside it, because the folder itself comes and goes.
std::string lock_file(const std::string& folder) {
  const fs::path path(folder);
  return path.parent_path() / fmt::format(".{}.lock", path.filename().string());
}

// Whoever had the lock before may have removed the file: the next one would make and lock another.
bool is_still_there(int file, const std::string& path) {
  struct stat locked {
  }, present{};
  if (::fstat(file, &locked) != 0 || ::lstat(path.c_str(), &present) != 0) return false;
  return locked.st_ino == present.st_ino && locked.st_dev == present.st_dev;
}

// Waits for a maker that an agent before left. -1: there is no place for the file.
int lock(const std::string& folder) {
  const std::string path = lock_file(folder);
  while (true) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    int done = ::flock(file, LOCK_EX);
    while (done != 0 && errno == EINTR) done = ::flock(file, LOCK_EX);
    if (done == 0 && is_still_there(file, path)) return file;
    ::close(file);
    if (done != 0) return -1;
  }
}

bool agent_is_gone() {
  struct pollfd agent {
    protocol::kAgentDescriptor, 0, 0
  };
  return ::poll(&agent, 1, 0) == 1 && (agent.revents & POLLHUP) != 0;
}

bool clear(const std::string& folder) {
  const std::string kept = folder + protocol::kNamespaceFile;
  for (const std::string& mounted : {kept, folder}) {
    while (::umount2(mounted.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {}
  }
  return remove_tree(folder);
}

// Only root goes into it; what is below is the user's. It is a mount of its own that nothing is
// passed on from: else no namespace could be kept in it.
bool make_folders(const Wanted& wanted) {
  const std::string& folder = wanted.folder;
  if (!clear(folder) || ::mkdir(folder.c_str(), 0700) != 0) return false;
  if (::mkdir((folder + protocol::kFoldersFolder).c_str(), 0700) != 0) return false;
  for (const std::string& place : wanted.mounts) {
    const std::string source = source_of(wanted, place);
    if (::mkdir(source.c_str(), 0700) != 0 ||
        ::chown(source.c_str(), wanted.uid, static_cast<gid_t>(-1)) != 0) {
      return false;
    }
  }
  const int file = ::open((folder + protocol::kNamespaceFile).c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
  if (file < 0) return false;
  ::close(file);
  return ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
         ::mount(nullptr, folder.c_str(), nullptr, MS_PRIVATE, nullptr) == 0;
}

bool run_script(const std::string& script) {
  if (script.empty()) return true;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl(script.c_str(), script.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0;
}

bool mount_all(const Wanted& wanted) {
  // in no case anything goes back: the job's own folders would be mounted over those of the host
  if (::mount(nullptr, "/", nullptr, MS_REC | (wanted.shared ? MS_SLAVE : MS_PRIVATE), nullptr) !=
      0)
    return false;
  for (const std::string& place : wanted.mounts) {
    const bool in_memory = place == kShm;
    const std::string source = source_of(wanted, place);
    const std::string options = fmt::format("mode=0700,uid={}", wanted.uid);
    const int done = in_memory
                         ? ::mount("tmpfs", kShm, "tmpfs", MS_NOSUID | MS_NODEV, options.c_str())
                         : ::mount(source.c_str(), place.c_str(), nullptr, MS_BIND, nullptr);
    if (done != 0) return false;
  }
  return true;
}

// A child has the namespace until its file is bound: then that keeps it.
int keep_namespace(const Wanted& wanted) {
  int ready[2], go[2];
  if (::pipe2(ready, O_CLOEXEC) != 0 || ::pipe2(go, O_CLOEXEC) != 0)
    return protocol::kNamespaceKeep;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(go[1]);
    char result = protocol::kNamespaceMade;
    if (::unshare(CLONE_NEWNS) != 0) result = protocol::kNamespaceUnshare;
    else if (!mount_all(wanted)) result = protocol::kNamespaceMount;
    if (::write(ready[1], &result, 1) == 1) (void)!::read(go[0], &result, 1);
    ::_exit(0);
  }
  ::close(ready[1]);
  char result = protocol::kNamespaceUnshare;
  if (child > 0 && ::read(ready[0], &result, 1) != 1) result = protocol::kNamespaceUnshare;
  if (result == protocol::kNamespaceMade) {
    const std::string from = fmt::format("/proc/{}/ns/mnt", child);
    const std::string to = wanted.folder + protocol::kNamespaceFile;
    if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0)
      result = protocol::kNamespaceKeep;
  }
  ::close(go[1]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return result;
}

}  // namespace

int make_namespace(int count, char** arguments) {
  if (count < 4) return protocol::kNamespaceArguments;
  Wanted wanted;
  wanted.folder = arguments[0];
  wanted.uid = to_number<uid_t>(arguments[1]).value_or(0);
  wanted.mounts = split_list(arguments[2]);
  wanted.shared = std::string_view(arguments[3]) == protocol::kSharedMounts;
  if (count > 4) wanted.script = arguments[4];
  ::umask(077);
  ::fcntl(protocol::kAgentDescriptor, F_SETFD, FD_CLOEXEC);  // not for the script
  if (lock(wanted.folder) < 0) return protocol::kNamespaceFolder;
  if (agent_is_gone()) return protocol::kNamespaceAgentGone;
  if (!make_folders(wanted)) return protocol::kNamespaceFolder;
  if (!run_script(wanted.script)) return protocol::kNamespaceScript;
  return keep_namespace(wanted);
}

int remove_namespace(int count, char** arguments) {
  if (count != 1) return 1;
  const std::string folder = arguments[0];
  const bool locked = lock(folder) >= 0;  // else BasePath is gone, and the folder with it
  if (agent_is_gone()) return 1;
  const bool cleared = clear(folder);
  if (cleared && locked) ::unlink(lock_file(folder).c_str());
  return cleared ? 0 : 1;
}

}  // namespace sluice::stepd
