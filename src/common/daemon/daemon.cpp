#include "common/daemon/daemon.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include "common/os/append_file.hpp"
#include "common/base/errno_text.hpp"

namespace sluice::daemon {
namespace {

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGTERM, SIGQUIT})
    sigaddset(&set, signal);
  return set;
}

// Reads one byte: the daemon is ready. None: it ended, and so does this process.
[[noreturn]] void wait_for_daemon(int pipe) {
  char byte = 0;
  ssize_t got = 0;
  while ((got = read(pipe, &byte, 1)) < 0 && errno == EINTR) {}
  _exit(got == 1 ? 0 : 1);
}

constexpr int kHeld = -2;

// Opens and locks the file at `path`: a descriptor, or kHeld where another process has it.
Result<int> lock_at(const std::string& path) {
  const auto opened = open_daemon_file(path, O_RDWR);
  if (!opened) return opened;
  const int fd = *opened;
  struct stat locked {};
  struct stat there {};
  // A daemon that ends removes its file: a lock on what is no longer at the path would guard
  // nothing.
  const bool mine = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &locked) == 0 &&
                    stat(path.c_str(), &there) == 0 && locked.st_ino == there.st_ino &&
                    locked.st_dev == there.st_dev;
  if (mine) return fd;
  close(fd);
  return kHeld;
}

}  // namespace

Status become_user(uint32_t uid, const std::vector<std::string>& files) {
  if (getuid() != 0 || uid == 0) return {};
  passwd entry{};
  passwd* found = nullptr;
  char buffer[16384];
  if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) {
    return failure(ErrorCode::kInvalidUser, fmt::format("SlurmUser: there is no user {}", uid));
  }
  if (Status given = give_daemon_files(files, uid, found->pw_gid); !given) return given;
  if (initgroups(found->pw_name, found->pw_gid) != 0 || setgid(found->pw_gid) != 0 ||
      setuid(uid) != 0) {
    return failure(ErrorCode::kAccessDenied, fmt::format("SlurmUser: cannot become {}: {}",
                                                         found->pw_name, errno_text(errno)));
  }
  return {};
}

void tell_service_manager(std::string_view state) {
  const char* socket_name = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t length = socket_name == nullptr ? 0 : std::strlen(socket_name);
  if (length < 2 || length >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_name, length);
  if (address.sun_path[0] == '@') address.sun_path[0] = 0;  // a name that is in no file system
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const ssize_t ignored = sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                                 reinterpret_cast<const sockaddr*>(&address), size);
  static_cast<void>(ignored);
  close(fd);
}

Background Background::stay() { return Background(-1); }

Background Background::enter() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return stay();
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return stay();
  }
  if (child > 0) {
    close(ends[1]);
    wait_for_daemon(ends[0]);
  }
  close(ends[0]);
  setsid();
  // not a session leader: can never get a terminal again
  if (const pid_t daemon = fork(); daemon > 0) _exit(0);
  return Background(ends[1]);
}

Background::Background(Background&& other) noexcept : pipe_(std::exchange(other.pipe_, -1)) {}

Background::~Background() {
  if (pipe_ >= 0) close(pipe_);
}

void Background::ready() {
  tell_service_manager("READY=1\n");
  if (pipe_ < 0) return;
  if (chdir("/") != 0) {}  // an unmountable working folder is all that is at stake
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    for (int fd = 0; fd <= 2; ++fd) dup2(null, fd);
    if (null > 2) close(null);
  }
  const char byte = 1;
  while (write(pipe_, &byte, 1) < 0 && errno == EINTR) {}
  close(std::exchange(pipe_, -1));
}

Result<PidFile> PidFile::create(const std::string& path, std::chrono::milliseconds wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  auto locked = lock_at(path);
  while (locked && *locked == kHeld && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    locked = lock_at(path);
  }
  if (!locked) return tl::unexpected<Error>(locked.error());
  const int fd = *locked;
  if (fd == kHeld)
    return failure(ErrorCode::kDuplicateName, fmt::format("{}: a running daemon holds it", path));
  const std::string text = std::to_string(getpid()) + "\n";
  constexpr mode_t kForAllToRead = 0644;
  if (ftruncate(fd, 0) != 0 || fchmod(fd, kForAllToRead) != 0 ||
      pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    close(fd);
    return failure(ErrorCode::kPathMissing, fmt::format("{}: cannot be written", path));
  }
  return PidFile(path, fd);
}

PidFile::PidFile(PidFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

PidFile::~PidFile() { remove(); }

void PidFile::remove() {
  if (fd_ < 0) return;
  unlink(path_.c_str());
  close(std::exchange(fd_, -1));
}

Signals::Signals() {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

void Signals::run(const std::function<bool(int)>& handle) {
  const sigset_t set = handled_signals();
  while (true) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0 || handle(signal)) continue;
    tell_service_manager("STOPPING=1\n");
    return;
  }
}

void Signals::stop() { kill(getpid(), SIGTERM); }

void Signals::restore_in_child() {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &standard, nullptr);
}

EndWhileStarting::EndWhileStarting(std::function<void(int)> last)
    : thread_([this, last = std::move(last)] {
        sigset_t set;
        sigemptyset(&set);
        for (const int signal : {SIGINT, SIGTERM, SIGQUIT}) sigaddset(&set, signal);
        constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 50'000'000};
        while (!started_) {
          const int signal = sigtimedwait(&set, nullptr, &kLook);
          if (signal < 0) continue;
          tell_service_manager("STOPPING=1\n");
          last(signal);
          _exit(0);
        }
      }) {}

EndWhileStarting::~EndWhileStarting() {
  started_ = true;
  thread_.join();
}

}  // namespace sluice::daemon
