// The user's end of X11 forwarding: what programs of a step send to the display of their node goes
// to the display that srun has. The cookie of that never leaves this host: it takes the place of
// the node's own in each connection's first message.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "common/base/result.hpp"
#include "common/step/x11_setup.hpp"

namespace sluice::cli {

struct X11Target {
  X11Display display;
  std::string cookie;
};
// Of the variable DISPLAY and xauth. The error's text is for the user.
[[nodiscard]] Result<X11Target> find_x11_target();
// The cookie in what `xauth list` printed; empty without one.
[[nodiscard]] std::string cookie_of_xauth(std::string_view text);

class X11Relay {
 public:
  // To the node, for one of its connections; no bytes: it is over.
  using Send = std::function<void(size_t node, uint32_t connection, std::string_view bytes)>;
  X11Relay(boost::asio::io_context& io, X11Target target, Send send);
  ~X11Relay();
  X11Relay(const X11Relay&) = delete;
  X11Relay& operator=(const X11Relay&) = delete;

  void opened(size_t node, uint32_t connection);
  void received(size_t node, uint32_t connection, std::string_view bytes);
  void node_gone(size_t node);
  void stop();

 private:
  struct Connection;
  using ConnectionPtr = std::shared_ptr<Connection>;
  using Key = std::pair<size_t, uint32_t>;  // node, and its number there
  void close(Key key, bool tell);

  boost::asio::io_context& io_;
  X11Target target_;
  Send send_;
  std::map<Key, ConnectionPtr> connections_;
};

}  // namespace sluice::cli
