#include "cli/step/x11_relay.hpp"

#include <cstdlib>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/shared/program_output.hpp"
#include "common/base/text.hpp"
#include "common/step/byte_connection.hpp"

namespace sluice::cli {

namespace local = boost::asio::local;
using boost::asio::ip::tcp;

namespace {

std::string bytes_of_hex(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const std::string digits(text.substr(i, 2));
    char* end = nullptr;
    const unsigned long value = std::strtoul(digits.c_str(), &end, 16);
    if (*end != '\0') return {};
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

}  // namespace

std::string cookie_of_xauth(std::string_view text) {
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split_list(line, ' ');
    if (words.size() >= 3 && words[words.size() - 2] == kX11CookieName)
      return bytes_of_hex(words.back());
  }
  return {};
}

Result<X11Target> find_x11_target() {
  const char* text = std::getenv("DISPLAY");
  if (text == nullptr || *text == '\0')
    return failure("No DISPLAY variable set, cannot setup x11 forwarding.");
  const auto display = parse_display(text);
  if (!display)
    return failure(fmt::format("Cannot parse DISPLAY {}, cannot setup x11 forwarding.", text));
  struct stat about {};
  if (!display->path.empty() && ::stat(display->path.c_str(), &about) != 0) {
    return failure(fmt::format("Cannot stat() local X11 socket `{}`", display->path));
  }
  X11Target target{*display, cookie_of_xauth(program_output({"xauth", "list", text}))};
  if (target.cookie.empty()) {
    return failure("x11_get_xauth: Could not retrieve magic cookie. Cannot use X11 forwarding.");
  }
  return target;
}

struct X11Relay::Connection {
  std::shared_ptr<ByteConnection> display;
  X11Setup setup;
  bool admitted = false;  // the setup message went on
};

X11Relay::X11Relay(boost::asio::io_context& io, X11Target target, Send send)
    : io_(io), target_(std::move(target)), send_(std::move(send)) {}

X11Relay::~X11Relay() { stop(); }

void X11Relay::stop() {
  for (const auto& [key, connection] : connections_) connection->display->close();
  connections_.clear();
}

void X11Relay::opened(size_t node, uint32_t number) {
  const Key key{node, number};
  auto connection = std::make_shared<Connection>();
  connection->display = ByteConnection::make(
      ByteConnection::Socket(io_),
      {[this, node, number](std::string_view bytes) { send_(node, number, bytes); },
       [this, key] { close(key, true); }, [this, key] { close(key, false); }});
  connections_[key] = connection;
  if (!target_.display.path.empty()) {
    return connection->display->connect(local::stream_protocol::endpoint(target_.display.path));
  }
  boost::system::error_code error;
  const auto found =
      tcp::resolver(io_).resolve(target_.display.host, std::to_string(target_.display.port), error);
  if (error || found.empty()) return close(key, true);
  connection->display->connect(found.begin()->endpoint());
}

void X11Relay::received(size_t node, uint32_t number, std::string_view bytes) {
  const auto place = connections_.find({node, number});
  if (place == connections_.end()) return;
  const ConnectionPtr connection = place->second;
  if (bytes.empty()) return connection->display->finish();
  if (connection->admitted) return connection->display->send(bytes);
  if (!connection->setup.feed(bytes)) return close({node, number}, true);
  if (!connection->setup.complete()) return;
  connection->admitted = true;
  connection->display->send(connection->setup.with_cookie(target_.cookie));
}

void X11Relay::close(Key key, bool tell) {
  const auto place = connections_.find(key);
  if (place == connections_.end()) return;
  place->second->display->close();
  connections_.erase(place);
  if (tell) send_(key.first, key.second, {});
}

void X11Relay::node_gone(size_t node) {
  const auto all = connections_;
  for (const auto& [key, connection] : all) {
    if (key.first == node) close(key, false);
  }
}

}  // namespace sluice::cli
