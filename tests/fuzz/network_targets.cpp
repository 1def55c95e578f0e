// What comes from the network before anybody is trusted: DNS, tokens, and a server that is none.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "common/base/check.hpp"
#include "common/net/call_status.hpp"
#include "common/os/clock.hpp"
#include "common/net/http2_connection.hpp"
#include "common/auth/jwt.hpp"
#include "common/net/metadata_text.hpp"
#include "common/net/srv_records.hpp"
#include "common/auth/token.hpp"
#include "common/rpc/guard/connection_frames.hpp"
#include "fuzz/targets.hpp"

namespace sluice::fuzz {
namespace {

void srv_answer(std::string_view input) {
  (void)net::order_servers(net::parse_srv_answer(input), [](uint64_t most) { return most / 2; });
}

void jwt(std::string_view input) {
  (void)net::read_jwt("a key of more than sixteen bytes", input, from_seconds(1'795'000'000));
  (void)net::bearer_token(input);
}

void token(std::string_view input) {
  static net::TokenVerifier verifier(net::ClusterKey::from_bytes(std::string(32, 'k')), "c");
  (void)verifier.open(input, from_seconds(1'795'000'000));
}

void metadata(std::string_view input) {
  (void)net::percent_decoded(input);
  SLUICE_CHECK(net::from_base64(net::to_base64(input)) == input);
  (void)net::from_base64(input);
}

// A server that says what it likes.
class Liar {
 public:
  Liar()
      : path_("/tmp/sluice-fuzz-" + std::to_string(::getpid()) + ".sock"),
        fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ::unlink(path_.c_str());
    SLUICE_CHECK(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                 ::listen(fd_, 4) == 0);
  }
  Liar(const Liar&) = delete;
  Liar& operator=(const Liar&) = delete;
  ~Liar() {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  [[nodiscard]] std::string address() const { return "unix:" + path_; }
  void say(std::string_view bytes) const {
    const int peer = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) return;
    while (!bytes.empty()) {
      const ssize_t sent = ::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    ::shutdown(peer, SHUT_WR);
    char drained[4096];
    while (::recv(peer, drained, sizeof drained, 0) > 0) {}
    ::close(peer);
  }

 private:
  std::string path_;
  int fd_;
};

// Of headers with what continues them, by RFC 9113 alone.
size_t longest_block(std::string_view bytes) {
  constexpr size_t kPreface = 24;
  constexpr size_t kHead = 9;
  bytes.remove_prefix(std::min(kPreface, bytes.size()));
  size_t longest = 0;
  size_t block = 0;
  bool is_open = false;
  while (bytes.size() >= kHead) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
    const size_t length = size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2);
    if (byte(3) == 1 || byte(3) == 9) {
      block = is_open ? block + length : length;
      is_open = (byte(4) & 4) == 0;
    }
    longest = std::max(longest, block);
    bytes.remove_prefix(std::min(kHead + length, bytes.size()));
  }
  return longest;
}

void http2_client(std::string_view input) {
  static const Liar liar;
  std::thread server([&] { liar.say(input); });
  {
    const net::ClientOptions options{.max_message = 1 << 16};
    const auto until = net::steady_now() + std::chrono::seconds(20);
    auto connection = net::Http2Connection::open(liar.address(), options,
                                                 net::Http2Connection::Greeting::kWithCall, until);
    SLUICE_CHECK(connection.has_value());
    const auto call =
        (*connection)->start({"/sluice.v1.Controller/Ping", "token", "request", until});
    const auto beside =
        (*connection)->start({"/sluice.v1.Controller/WatchJob", "token", "another", until});
    std::string message;
    while (call->read(message, until) == net::ReadState::kChunk) {}
    while (beside->read(message, until) == net::ReadState::kChunk) {}
    (void)(*connection)->takes_calls();
  }
  server.join();
}

// Follows the frames of a connection, however the bytes arrive: in pieces it says what it says of
// all at once, and none of the blocks that it lets pass is too long.
void header_blocks(std::string_view input) {
  net::ConnectionFrames at_once;
  const std::string_view why = at_once.receive(input, {}, 4);
  net::ConnectionFrames in_pieces;
  std::string_view same;
  size_t piece = 1;
  for (std::string_view rest = input; same.empty() && !rest.empty(); piece = piece * 3 % 17) {
    const size_t size = std::min(piece, rest.size());
    same = in_pieces.receive(rest.substr(0, size), {}, 4);
    rest.remove_prefix(size);
  }
  SLUICE_CHECK(why == same);
  at_once.send(input, {});
  if (why.empty()) SLUICE_CHECK(longest_block(input) <= net::HeaderBlocks::kMostBytes);
}

void call_status(std::string_view input) {
  (void)net::to_error({net::StatusCode::kUnknown, "text", std::string(input)}, true, "host:1");
}

}  // namespace

std::vector<Target> network_targets() {
  return {{"srv_answer", srv_answer},
          {"jwt", jwt},
          {"token", token},
          {"metadata", metadata},
          {"http2_client", http2_client},
          {"header_blocks", header_blocks},
          {"call_status", call_status}};
}

}  // namespace sluice::fuzz
