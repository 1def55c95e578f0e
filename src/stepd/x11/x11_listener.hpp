// --x11: a display for the step's tasks on this node. What programs send to it goes to srun, which
// has the user's own one (cli/step/x11_relay.hpp). Only who shows the cookie in the user's file
// gets through.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/result.hpp"
#include "common/environment/environment.hpp"
#include "stepd/process/user_identity.hpp"

namespace sluice::stepd {

class X11Listener {
 public:
  struct Handlers {
    std::function<void(uint32_t connection)> opened;
    std::function<void(uint32_t connection, std::string_view bytes)> received;  // none: it is over
    std::function<bool()> congested;
  };
  X11Listener(boost::asio::io_context& io, Handlers handlers)
      : io_(io), handlers_(std::move(handlers)), acceptor_(io) {}
  ~X11Listener();
  X11Listener(const X11Listener&) = delete;
  X11Listener& operator=(const X11Listener&) = delete;

  // Takes a free display number and writes its cookie into a file of the user's: `home_file`, or
  // where that is empty one of its own in /tmp, named by `step`. In the job's mount namespace, if
  // it has one.
  [[nodiscard]] Status start(const UserIdentity& user, const std::string& mount_namespace,
                             const std::string& step, const std::string& home_file);
  void set_variables(Environment& out) const;

  // From the display; no bytes: it is over.
  void send(uint32_t connection, std::string_view bytes);
  // srun takes more again.
  void resume();
  void stop();

 private:
  struct Connection;
  using ConnectionPtr = std::shared_ptr<Connection>;
  [[nodiscard]] Status listen();
  [[nodiscard]] Status write_file(const std::string& step);
  [[nodiscard]] Status write_home_file(const std::string& path);
  void remove_cookie();
  void accept();
  void accept_later();
  void drop_stranger();
  void take(boost::asio::ip::tcp::socket socket);
  void received(uint32_t connection, std::string_view bytes);
  void close(uint32_t connection, bool tell);
  [[nodiscard]] size_t queued_of_all() const;

  boost::asio::io_context& io_;
  Handlers handlers_;
  boost::asio::ip::tcp::acceptor acceptor_;
  // while it waits to accept again; what goes throws nothing
  std::optional<boost::asio::steady_timer> accept_timer_;
  std::map<uint32_t, ConnectionPtr> connections_;
  uint32_t next_ = 0;
  uint32_t display_ = 0;
  std::string cookie_;
  std::string file_;      // the user's
  bool in_home_ = false;  // it has other cookies, too
  UserIdentity user_;
  std::string mount_namespace_;
};

}  // namespace sluice::stepd
