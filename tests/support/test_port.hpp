// TCP ports for daemons that a test starts.
#pragma once

#include <string>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>
#include <unistd.h>

namespace sluice::testing {

// A free port of 127.0.0.1 that no other test takes while this object lives. The range is below the
// ephemeral one, so that the kernel gives it to no connection either, and `sluice up` and the
// scripts' `free_ports` leave it alone. What holds the claim is an abstract Unix socket, which goes
// with its process.
class TestPort {
 public:
  TestPort() {
    for (int port = kFirst; port < kLast && claim_ < 0; ++port) {
      claim_ = bound_claim(port);
      if (claim_ >= 0 && !is_free(port)) ::close(std::exchange(claim_, -1));
      number_ = port;
    }
  }
  ~TestPort() {
    if (claim_ >= 0) ::close(claim_);
  }
  TestPort(const TestPort&) = delete;
  TestPort& operator=(const TestPort&) = delete;

  [[nodiscard]] int number() const { return number_; }

 private:
  static constexpr int kFirst = 11001;
  static constexpr int kLast = 11999;

  // The socket that claims the port, or -1.
  static int bound_claim(int port) {
    const std::string name = fmt::format("sluice-test-port-{}", port);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0) return fd;
    ::close(fd);
    return -1;
  }
  static bool is_free(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return free;
  }

  int claim_ = -1;
  int number_ = 0;
};

}  // namespace sluice::testing
