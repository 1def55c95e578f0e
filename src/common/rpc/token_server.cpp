#include "common/rpc/token_server.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/host_name.hpp"
#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "common/os/local_address.hpp"
#include "common/auth/crypto.hpp"
#include "common/wire/codec.hpp"

namespace sluice::net {
namespace {

// Idle connections beyond this are closed, oldest first, so that nobody can use them all up.
constexpr size_t kMostConnections = 512;

tl::unexpected<Error> cannot(const std::string& path, std::string_view what) {
  return failure(ErrorCode::kPathMissing,
                 fmt::format("token socket {}: {}: {}", path, what, errno_text(errno)));
}

// A file that daemons of root and of SlurmUser lock; -1 with errno.
int open_lock(const std::string& path, uint32_t owner) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 || ::geteuid() != 0 || owner == 0 || ::fchown(fd, owner, static_cast<gid_t>(-1)) == 0)
    return fd;
  const int problem = errno;
  ::close(fd);
  errno = problem;
  return -1;
}

// Which file is at a path, as device and inode.
using FileMark = std::pair<dev_t, ino_t>;

FileMark mark_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

// Who is to serve next, of those that wait: it looks often, and the others, of which a host may
// have hundreds, seldom.
class NextInLine {
 public:
  NextInLine(const std::string& socket, uint32_t owner) : fd_(open_lock(socket + ".next", owner)) {}
  NextInLine(const NextInLine&) = delete;
  NextInLine& operator=(const NextInLine&) = delete;
  ~NextInLine() {
    if (fd_ >= 0) ::close(fd_);
  }
  // Without the file everybody is.
  [[nodiscard]] bool is_it() {
    held_ = held_ || fd_ < 0 || ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
    return held_;
  }

 private:
  int fd_;
  bool held_ = false;
};

// A connection to what serves there, and whose it is; -1: nobody does.
int connect_to_server(const std::string& path, ucred& server) {
  const auto address = local_address(path);
  const int fd = address ? ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
  if (fd < 0) return -1;
  socklen_t length = sizeof server;
  const auto* generic = reinterpret_cast<const sockaddr*>(&*address);
  if (::connect(fd, generic, sizeof *address) == 0 &&
      ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &length) == 0)
    return fd;
  ::close(fd);
  return -1;
}

// An agent serves it, with a lock of the user that it expects: it has the key, too.
bool is_served_by_root(const std::string& path) {
  ucred server{};
  const int fd = connect_to_server(path, server);
  if (fd < 0) return false;
  ::close(fd);
  return server.uid == 0;
}

tl::unexpected<Error> is_served(const std::string& path) {
  return failure(ErrorCode::kDuplicateName,
                 fmt::format("token socket {}: another process serves it", path));
}

// Why the user cannot lock it; empty: the lock file is his, or there is none.
std::string foreign_lock(const std::string& path, uint32_t user) {
  const std::string lock = path + ".lock";
  struct stat file {};
  if (user == 0 || ::lstat(lock.c_str(), &file) != 0 || file.st_uid == user) return {};
  return fmt::format("{} belongs to uid {}, and uid {} cannot lock it: remove that file", lock,
                     file.st_uid, user);
}

}  // namespace

class TokenServer::Impl {
 public:
  Impl(std::string path, int listener, int lock, std::shared_ptr<const TokenMaker> maker)
      : path_(std::move(path)),
        own_(mark_of(path_)),
        maker_(std::move(maker)),
        listener_(listener),
        lock_(lock),
        wake_(::eventfd(0, EFD_CLOEXEC)),
        thread_([this] { run(); }) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    ::eventfd_write(wake_, 1);
    thread_.join();
    for (const int fd : peers_) ::close(fd);
    ::close(wake_);
    ::close(listener_);
    // the folder may have been made anew since, and another daemon serves there
    if (is_in_place()) ::unlink(path_.c_str());
    if (lock_ >= 0) ::close(lock_);
  }
  [[nodiscard]] bool is_in_place() const { return own_ != FileMark() && mark_of(path_) == own_; }

 private:
  void run() {
    std::vector<pollfd> watched;
    while (true) {
      watched.assign({{wake_, POLLIN, 0}, {listener_, POLLIN, 0}});
      for (const int fd : peers_) watched.push_back({fd, POLLIN, 0});
      if (::poll(watched.data(), watched.size(), -1) < 0) continue;  // EINTR
      if (watched[0].revents != 0) return;
      for (size_t i = 2; i < watched.size(); ++i) {
        if (watched[i].revents != 0 && !answer(watched[i].fd)) drop(watched[i].fd);
      }
      if (watched[1].revents != 0) accept_all();
    }
  }
  void accept_all() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) {
          if (!peers_.empty()) drop(peers_.front());
          else std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return;
      }
      if (peers_.size() >= kMostConnections) drop(peers_.front());
      peers_.push_back(fd);
      // the question is mostly there already: a command's round trip costs one wake-up less
      if (!answer(fd)) drop(fd);
    }
  }
  // False: the connection is at its end.
  [[nodiscard]] bool answer(int fd) const {
    char bytes[512];
    const ssize_t size = ::recv(fd, bytes, sizeof bytes, MSG_TRUNC);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0 || static_cast<size_t>(size) > sizeof bytes) return false;
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
    TokenReply reply;
    const auto request = wire::decode<TokenRequest>({bytes, static_cast<size_t>(size)});
    if (!request || request->digest.size() != kDigestSize) {
      reply.problem = "the request for a token makes no sense";
    } else {
      reply.token = maker_->make(peer.uid, peer.gid, request->digest, now(), request->signs_answer);
      // which tells nothing of any other token
      if (request->signs_answer) reply.answer_key = maker_->answer_key(reply.token);
    }
    const std::string out = wire::encode(reply);
    return ::send(fd, out.data(), out.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(out.size());
  }
  void drop(int fd) {
    ::close(fd);
    std::erase(peers_, fd);
  }

  std::string path_;
  FileMark own_;  // of the socket
  std::shared_ptr<const TokenMaker> maker_;
  int listener_;
  int lock_;  // -1: it replaces one that has the lock
  int wake_;
  std::vector<int> peers_;  // oldest first
  std::thread thread_;      // last: it uses the others
};

TokenServer::TokenServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TokenServer::~TokenServer() = default;

bool TokenServer::is_in_place() const { return impl_->is_in_place(); }

std::string foreign_token_lock(const std::string& path, uint32_t user) {
  std::string foreign = foreign_lock(path, user);
  return foreign.empty() || is_served_by_root(path) ? std::string() : foreign;
}

Result<std::unique_ptr<TokenServer>> TokenServer::start(const std::string& path,
                                                        std::shared_ptr<const TokenMaker> maker,
                                                        uint32_t owner) {
  // The kernel lets the lock go however its holder ends; two that find a dead socket do not replace
  // each other's.
  const int lock = open_lock(path + ".lock", owner);
  if (lock < 0) {
    const int why = errno;
    if (is_served_by_root(path)) return is_served(path);
    if (std::string foreign = foreign_lock(path, ::geteuid()); !foreign.empty())
      return failure(ErrorCode::kPathMissing, fmt::format("token socket {}: {}", path, foreign));
    errno = why;
    return cannot(path, "lock");
  }
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return is_served(path);
  }
  auto server = listen(path, lock, std::move(maker));
  if (!server) ::close(lock);
  return server;
}

Result<std::unique_ptr<TokenServer>> TokenServer::replace_silent(
    const std::string& path, std::shared_ptr<const TokenMaker> maker) {
  return listen(path, -1, std::move(maker));
}

Result<std::unique_ptr<TokenServer>> TokenServer::listen(const std::string& path, int lock,
                                                         std::shared_ptr<const TokenMaker> maker) {
  const auto address = local_address(path);
  if (!address) return cannot(path, "bind");
  const auto* generic = reinterpret_cast<const sockaddr*>(&*address);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return cannot(path, "socket");
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) ::unlink(path.c_str());
  if (::bind(fd, generic, sizeof *address) != 0 || ::chmod(path.c_str(), 0777) != 0 ||
      ::listen(fd, 512) != 0) {
    auto error = cannot(path, "bind");
    ::close(fd);
    return error;
  }
  return std::unique_ptr<TokenServer>(
      new TokenServer(std::make_unique<Impl>(path, fd, lock, std::move(maker))));
}

pid_t silent_server(const std::string& path, std::chrono::milliseconds limit,
                    const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kSlice{100};
  ucred server{};
  const int fd = connect_to_server(path, server);
  if (fd < 0) return 0;
  const std::string question = wire::encode(TokenRequest{std::string(kDigestSize, '\0')});
  bool silent = ::send(fd, question.data(), question.size(), MSG_NOSIGNAL) > 0;
  for (auto waited = kSlice; silent && waited <= limit; waited += kSlice) {
    pollfd answer{fd, POLLIN, 0};
    silent = !stop.stop_requested() && ::poll(&answer, 1, static_cast<int>(kSlice.count())) <= 0;
  }
  ::close(fd);
  return silent ? server.pid : 0;
}

TokenService::TokenService(AuthOptions options, std::shared_ptr<const TokenMaker> maker,
                           std::unique_ptr<TokenServer> server)
    : options_(std::move(options)),
      maker_(std::move(maker)),
      server_(std::move(server)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

TokenService::~TokenService() = default;

bool TokenService::serves() const {
  const std::lock_guard lock(mutex_);
  return server_ != nullptr;
}

void TokenService::run(const std::stop_token& stop) {
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (server_ != nullptr) keep_in_place(lock, stop);
    else wait_for_turn(lock, stop);
  }
}

void TokenService::keep_in_place(Lock& lock, const std::stop_token& stop) {
  stopped_.wait_for(lock, stop, kTokenLook, [] { return false; });
  if (stop.stop_requested() || server_->is_in_place()) return;
  log::error("token socket {}: it was removed or replaced, and is made anew unless another serves",
             options_.token_socket);
  server_.reset();
  try_to_serve();
}

void TokenService::wait_for_turn(Lock& lock, const std::stop_token& stop) {
  NextInLine next(options_.token_socket, options_.slurm_user);
  SteadyTime look = steady_now() + kTokenSilence;
  while (server_ == nullptr) {
    const auto pause = next.is_it() ? kTokenTakeover : kNextTakeover;
    stopped_.wait_for(lock, stop, pause, [] { return false; });
    if (stop.stop_requested()) return;
    if (!next.is_it()) continue;
    try_to_serve();
    if (server_ != nullptr || steady_now() < look) continue;
    const pid_t silent = silent_server(options_.token_socket, kTokenSilence, stop);
    look = steady_now() + kTokenSilence;
    if (silent == 0 || stop.stop_requested()) continue;
    log::error("token socket {}: process {}, which serves it, does not answer, and is replaced",
               options_.token_socket, silent);
    auto server = TokenServer::replace_silent(options_.token_socket, maker_);
    if (server) take(std::move(*server));
    else log::error("{}", server.error().text);
  }
}

void TokenService::try_to_serve() {
  auto server = TokenServer::start(options_.token_socket, maker_, options_.slurm_user);
  if (server) return take(std::move(*server));
  if (server.error().code == ErrorCode::kDuplicateName) return trouble_.over();
  if (trouble_.is_to_be_said(steady_now())) log::error("{}", server.error().text);
}

void TokenService::take(std::unique_ptr<TokenServer> server) {
  server_ = std::move(server);
  trouble_.over();
  log::info("tokens of this host's users are handed out here now");
}

Result<std::unique_ptr<TokenService>> serve_tokens(const AuthOptions& options) {
  if (options.type != "auth/slurm") return std::unique_ptr<TokenService>();
  auto key = ClusterKey::load(options.key_file, options.slurm_user);
  if (!key) return tl::unexpected(key.error());
  auto maker = std::make_shared<const TokenMaker>(std::move(*key), options.cluster,
                                                  short_host_name(), options.key_lifetime());
  auto server = TokenServer::start(options.token_socket, maker, options.slurm_user);
  if (!server && server.error().code != ErrorCode::kDuplicateName)
    return tl::unexpected(server.error());
  return std::unique_ptr<TokenService>(
      new TokenService(options, std::move(maker), server ? std::move(*server) : nullptr));
}

}  // namespace sluice::net
