#include "cli/shared/x11_relay.hpp"

#include <array>
#include <cstdlib>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/shared/program_output.hpp"
#include "common/base/text.hpp"
#include "common/step/send_queue.hpp"

namespace sluice::cli {

using boost::asio::generic::stream_protocol;
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
    if (words.size() >= 3 && words[words.size() - 2] == kX11CookieName) return bytes_of_hex(words.back());
  }
  return {};
}

Result<X11Target> find_x11_target() {
  const char* text = std::getenv("DISPLAY");
  if (text == nullptr || *text == '\0') return failure("No DISPLAY variable set, cannot setup x11 forwarding.");
  const auto display = parse_display(text);
  if (!display) return failure(fmt::format("Cannot parse DISPLAY {}, cannot setup x11 forwarding.", text));
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
  explicit Connection(boost::asio::io_context& io) : socket(io) {}
  size_t node = 0;
  uint32_t number = 0;
  stream_protocol::socket socket;
  X11Setup setup;
  bool admitted = false;  // the setup message went on
  bool open = false;
  bool writing = false;
  bool ends = false;
  SendQueue queue;
  std::array<char, 32768> buffer{};
};

X11Relay::X11Relay(boost::asio::io_context& io, X11Target target, Send send)
    : io_(io), target_(std::move(target)), send_(std::move(send)) {}

X11Relay::~X11Relay() { stop(); }

void X11Relay::stop() {
  boost::system::error_code ignored;
  for (const auto& [key, connection] : connections_) connection->socket.close(ignored);
  connections_.clear();
}

void X11Relay::opened(size_t node, uint32_t number) {
  auto connection = std::make_shared<Connection>(io_);
  connection->node = node;
  connection->number = number;
  connections_[{node, number}] = connection;
  const auto done = [this, connection](const boost::system::error_code& error) {
    if (error == boost::asio::error::operation_aborted) return;
    if (error) return close(connection, true);
    connected(connection);
  };
  if (!target_.display.path.empty()) {
    using boost::asio::local::stream_protocol;
    return connection->socket.async_connect(stream_protocol::endpoint(target_.display.path), done);
  }
  boost::system::error_code error;
  const auto found = tcp::resolver(io_).resolve(target_.display.host, std::to_string(target_.display.port), error);
  if (error || found.empty()) return close(connection, true);
  connection->socket.async_connect(found.begin()->endpoint(), done);
}

void X11Relay::connected(const ConnectionPtr& connection) {
  connection->open = true;
  read(connection);
  write(connection);
}

void X11Relay::received(size_t node, uint32_t number, std::string_view bytes) {
  const auto place = connections_.find({node, number});
  if (place == connections_.end()) return;
  const ConnectionPtr connection = place->second;
  if (bytes.empty()) {
    connection->ends = true;
  } else if (connection->admitted) {
    connection->queue.append(bytes);
  } else if (!connection->setup.feed(bytes)) {
    return close(connection, true);
  } else if (connection->setup.complete()) {
    connection->admitted = true;
    connection->queue.append(connection->setup.with_cookie(target_.cookie));
  }
  write(connection);
}

void X11Relay::read(const ConnectionPtr& connection) {
  connection->socket.async_read_some(boost::asio::buffer(connection->buffer),
                                     [this, connection](const boost::system::error_code& error, size_t bytes) {
                                       if (error == boost::asio::error::operation_aborted) return;
                                       if (error) return close(connection, true);
                                       send_(connection->node, connection->number, {connection->buffer.data(), bytes});
                                       read(connection);
                                     });
}

void X11Relay::write(const ConnectionPtr& connection) {
  if (connection->writing || !connection->open) return;
  if (connection->queue.size() == 0) {
    if (connection->ends) close(connection, false);
    return;
  }
  connection->writing = true;
  connection->socket.async_write_some(boost::asio::buffer(connection->queue.next()),
                                      [this, connection](const boost::system::error_code& error, size_t bytes) {
                                        if (error == boost::asio::error::operation_aborted) return;
                                        connection->writing = false;
                                        if (error) return close(connection, true);
                                        connection->queue.taken(bytes);
                                        write(connection);
                                      });
}

void X11Relay::close(const ConnectionPtr& connection, bool tell) {
  if (connections_.erase({connection->node, connection->number}) == 0) return;
  boost::system::error_code ignored;
  connection->socket.close(ignored);
  if (tell) send_(connection->node, connection->number, {});
}

void X11Relay::node_gone(size_t node) {
  const auto all = connections_;
  for (const auto& [key, connection] : all) {
    if (key.first == node) close(connection, false);
  }
}

}  // namespace sluice::cli
