#include "stepd/x11/x11_listener.hpp"

#include <cerrno>
#include <utility>

#include <boost/asio/ip/host_name.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/hex_digits.hpp"
#include "common/base/errno_text.hpp"
#include "common/step/byte_connection.hpp"
#include "common/step/x11_setup.hpp"
#include "stepd/x11/home_xauthority.hpp"
#include "stepd/process/mount_namespace.hpp"

namespace sluice::stepd {

using boost::asio::ip::tcp;

namespace {

constexpr uint32_t kFirstDisplay = 10;  // below are those of people at the machine
constexpr uint32_t kLastDisplay = 1010;
constexpr size_t kMostConnections = 256;
constexpr auto kAcceptRetry = std::chrono::milliseconds(200);
constexpr size_t kCookieBytes = 16;
// for a program that takes nothing; pictures are a few megabytes
constexpr size_t kMostQueued = 64U << 20;
constexpr size_t kMostQueuedOfAll = 128U << 20;

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  size_t filled = 0;
  while (filled < count) {
    const ssize_t n = ::getrandom(bytes.data() + filled, count - filled, 0);
    if (n > 0) filled += static_cast<size_t>(n);
  }
  return bytes;
}

}  // namespace

struct X11Listener::Connection {
  std::shared_ptr<ByteConnection> program;
  X11Setup setup;
  bool admitted = false;
};

X11Listener::~X11Listener() { stop(); }

Status X11Listener::start(const UserIdentity& user, const std::string& mount_namespace,
                          const std::string& step, const std::string& home_file) {
  user_ = user;
  mount_namespace_ = mount_namespace;
  cookie_ = random_bytes(kCookieBytes);
  if (auto ok = listen(); !ok) return ok;
  if (auto ok = home_file.empty() ? write_file(step) : write_home_file(home_file); !ok) return ok;
  accept();
  return {};
}

Status X11Listener::listen() {
  boost::system::error_code error;
  for (display_ = kFirstDisplay; display_ < kLastDisplay; ++display_) {
    const tcp::endpoint place(boost::asio::ip::address_v4::loopback(),
                              static_cast<uint16_t>(6000 + display_));
    acceptor_ = tcp::acceptor(io_);
    acceptor_.open(place.protocol(), error);
    if (!error) acceptor_.bind(place, error);
    if (!error) acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
    if (!error) return {};
  }
  return failure(fmt::format("no display is free for X11 forwarding: {}", error.message()));
}

Status X11Listener::write_file(const std::string& step) {
  const std::string path = fmt::format("/tmp/.Xauthority-{}-{}", step, hex_digits(random_bytes(8)));
  const std::string text = xauthority_file(display_, cookie_);
  const MountNamespaceScope scope(mount_namespace_);
  if (scope.error() != 0) return failure("cannot enter the job's mount namespace");
  const ActAsUser as_user(user_);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const std::string why = errno_text(errno);
  if (fd >= 0) ::close(fd);
  if (fd >= 0) file_ = path;
  return written ? Status() : failure(fmt::format("cannot write {}: {}", path, why));
}

// Programs look for a display of this host by the host's name.
Status X11Listener::write_home_file(const std::string& path) {
  const MountNamespaceScope scope(mount_namespace_);
  if (scope.error() != 0) return failure("cannot enter the job's mount namespace");
  const ActAsUser as_user(user_);
  auto written = change_xauthority(path, [this](std::string_view text) {
    return with_xauthority(text, boost::asio::ip::host_name(), display_, cookie_);
  });
  if (!written) return written;
  file_ = path;
  in_home_ = true;
  return {};
}

void X11Listener::remove_cookie() {
  const std::string path = std::exchange(file_, {});
  const MountNamespaceScope scope(mount_namespace_);
  if (scope.error() != 0) return;
  const ActAsUser as_user(user_);
  if (!in_home_) {
    ::unlink(path.c_str());
    return;
  }
  // where it stays it opens nothing: the display is closed
  (void)change_xauthority(path, [this](std::string_view text) {
    return without_xauthority(text, boost::asio::ip::host_name(), display_);
  });
}

void X11Listener::set_variables(Environment& out) const {
  out.set("DISPLAY", fmt::format("localhost:{}.0", display_));
  out.set("XAUTHORITY", file_);
}

void X11Listener::stop() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  accept_timer_.reset();
  for (const auto& [number, connection] : connections_) connection->program->close();
  connections_.clear();
  if (!file_.empty()) remove_cookie();
}

void X11Listener::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (error) return accept_later();
    if (connections_.size() >= kMostConnections) drop_stranger();
    if (connections_.size() < kMostConnections) take(std::move(socket));
    accept();
  });
}

void X11Listener::take(tcp::socket socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const uint32_t number = next_++;
  auto connection = std::make_shared<Connection>();
  connections_[number] = connection;
  connection->program = ByteConnection::make(
      std::move(socket),
      {[this, number](std::string_view bytes) { received(number, bytes); },
       [this, number] { close(number, true); }, [this, number] { close(number, false); },
       [this, number] { return !connections_.at(number)->admitted || !handlers_.congested(); }});
  connection->program->start();
}

// No descriptor is free, say: who waits would be offered again at once, and again.
void X11Listener::accept_later() {
  accept_timer_.emplace(io_, kAcceptRetry);
  accept_timer_->async_wait([this](const boost::system::error_code& error) {
    if (!error && acceptor_.is_open()) accept();
  });
}

// Who has not shown the cookie may be anybody on this host: the one that came first makes room.
void X11Listener::drop_stranger() {
  for (const auto& [number, connection] : connections_) {
    if (!connection->admitted) return close(number, false);
  }
}

// Nothing goes out before the cookie was seen.
void X11Listener::received(uint32_t number, std::string_view bytes) {
  const ConnectionPtr connection = connections_.at(number);
  if (connection->admitted) return handlers_.received(number, bytes);
  if (!connection->setup.feed(bytes)) return close(number, false);
  if (!connection->setup.complete()) return;
  if (connection->setup.cookie() != cookie_) return close(number, false);
  connection->admitted = true;
  handlers_.opened(number);
  handlers_.received(number, connection->setup.with_cookie(cookie_));
}

void X11Listener::send(uint32_t number, std::string_view bytes) {
  const auto place = connections_.find(number);
  if (place == connections_.end()) return;
  const ConnectionPtr connection = place->second;
  if (bytes.empty()) return connection->program->finish();
  connection->program->send(bytes);
  if (connection->program->queued_bytes() > kMostQueued) return close(number, true);
  if (connection->program->queued_bytes() > kMostQueuedOfAll / kMostConnections &&
      queued_of_all() > kMostQueuedOfAll)
    close(number, true);
}

size_t X11Listener::queued_of_all() const {
  size_t bytes = 0;
  for (const auto& [number, connection] : connections_)
    bytes += connection->program->queued_bytes();
  return bytes;
}

void X11Listener::close(uint32_t number, bool tell) {
  const auto place = connections_.find(number);
  if (place == connections_.end()) return;
  const ConnectionPtr connection = place->second;
  connections_.erase(place);
  connection->program->close();
  if (tell && connection->admitted) handlers_.received(number, {});
}

void X11Listener::resume() {
  const auto all = connections_;
  for (const auto& [number, connection] : all) connection->program->resume();
}

}  // namespace sluice::stepd
