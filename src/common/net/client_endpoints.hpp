// Where a client's calls go and how they are proved; shared by the client that blocks
// (rpc_client.hpp) and the daemons' with callbacks (rpc/async_client.hpp).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/auth/auth.hpp"
#include "common/net/tls.hpp"

namespace sluice::net {

struct ClientOptions {
  std::vector<std::string> addresses;  // "host:port" or "unix:/path", tried in this order
  // who answers there: kController or a node's name; tokens are for it alone
  std::string receiver;
  std::shared_ptr<AuthProvider> auth;  // null: no token is sent
  // null: nothing is encrypted. What listens on a Unix socket is spoken to in plain text
  std::shared_ptr<TlsTrust> tls;
  // an answer that the receiver has not signed is refused; of streams none is
  bool signed_answers = false;
  Duration connect_timeout = std::chrono::seconds(3);  // of one address
  Duration keepalive = std::chrono::seconds(60);       // an idle stream is probed this often
  size_t max_message = 64 << 20;
  // Called, on any thread, before a token goes to this address in plain text over a network. Null:
  // it serves nobody who reads it (not auth/jwt).
  std::function<void(const std::string& address)> exposes_token = {};
};

// Thread-safe.
class ClientEndpoints {
 public:
  explicit ClientEndpoints(ClientOptions options) : options_(std::move(options)) {}

  [[nodiscard]] const ClientOptions& options() const { return options_; }
  [[nodiscard]] size_t count() const { return options_.addresses.size(); }
  [[nodiscard]] size_t preferred() const { return preferred_; }  // the last one that answered
  void prefer(size_t index) { preferred_ = index; }

  // A token for the request; empty where none is wanted. Errors: kAuthentication.
  [[nodiscard]] Result<KeyedToken> token_for(std::string_view method,
                                             std::string_view request) const;

 private:
  ClientOptions options_;
  std::atomic<size_t> preferred_{0};
};

// Whether an answer is the receiver's: no-op for an empty key. Errors: kAuthentication.
[[nodiscard]] Status check_answer(const std::string& answer_key, std::string_view reply,
                                  std::string_view signature, const std::string& address);

// When a call with this timeout ends; kNoDeadline for one without end.
[[nodiscard]] SteadyTime deadline_after(Duration timeout);

// What a call to no address fails with.
[[nodiscard]] Error no_address();

}  // namespace sluice::net
