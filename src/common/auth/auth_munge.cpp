#include "common/auth/auth_munge.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <munge.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/auth/crypto.hpp"
#include "common/auth/other_cluster.hpp"
#include "common/os/local_address.hpp"

namespace sluice::net {
namespace {

using ContextPtr = std::unique_ptr<munge_ctx, decltype(&munge_ctx_destroy)>;
using Bytes = std::unique_ptr<char, decltype(&std::free)>;

class MungeAuth final : public AuthProvider {
 public:
  MungeAuth(std::string socket, std::string cluster, uid_t slurm_user, Duration lifetime)
      : socket_(std::move(socket)),
        cluster_(std::move(cluster)),
        slurm_user_(slurm_user),
        lifetime_(lifetime) {}
  [[nodiscard]] std::string_view name() const override { return "auth/munge"; }
  [[nodiscard]] WaitsFor open_waits_for(std::string_view) const override {
    return WaitsFor::kDaemon;
  }
  [[nodiscard]] WaitsFor create_waits_for() const override { return WaitsFor::kDaemon; }
  void on_outage(OutageListener listener) override {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
  }

  Result<std::string> create_token(const RequestDigest& digest) override {
    return encode(make_context(), digest.bytes + cluster_);
  }

  Result<KeyedToken> create_keyed_token(const RequestDigest& digest) override {
    std::string key = random_bytes(kDigestSize);
    const ContextPtr context = make_context();
    munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, slurm_user_);
    // whatever munged's default is
    munge_ctx_set(context.get(), MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128);
    auto token = encode(context, digest.bytes + cluster_ + kBeforeKey + key);
    if (!token) return tl::unexpected<Error>(std::move(token.error()));
    return KeyedToken{std::move(*token), std::move(key)};
  }

  Result<Proof> open(std::string_view token) override {
    const ContextPtr context = make_context();
    void* data = nullptr;
    int size = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    const munge_err_t problem =
        munge_decode(std::string(token).c_str(), context.get(), &data, &size, &uid, &gid);
    const Bytes owned(static_cast<char*>(data), &std::free);
    if (problem != EMUNGE_SUCCESS) {
      Error error = explain(problem, context.get());
      if (is_outage(problem)) error.code = ErrorCode::kRetry;  // nobody's fault that sent it
      return tl::unexpected<Error>(std::move(error));
    }
    note_answer();
    const std::string_view payload(owned.get(), static_cast<size_t>(size));
    if (payload.size() < kDigestSize) return refuse("the credential is malformed");
    const std::string_view rest = payload.substr(kDigestSize);
    const std::string_view cluster = rest.substr(0, rest.find(kBeforeKey));
    if (!cluster_.empty() && cluster != cluster_) {
      return refuse(other_cluster_text("credential", cluster, cluster_));
    }
    Identity identity{.authenticated = true,
                      .uid = uid,
                      .gid = gid,
                      .host = {},
                      .address = origin_of(context.get())};
    if (rest.size() > cluster.size()) identity.answer_key = rest.substr(cluster.size() + 1);
    return Proof{std::move(identity), std::string(payload.substr(0, kDigestSize))};
  }

 private:
  Result<std::string> encode(const ContextPtr& context, const std::string& payload) {
    char* credential = nullptr;
    const munge_err_t problem =
        munge_encode(&credential, context.get(), payload.data(), static_cast<int>(payload.size()));
    const Bytes owned(credential, &std::free);
    if (problem != EMUNGE_SUCCESS) return tl::unexpected<Error>(explain(problem, context.get()));
    note_answer();
    return std::string(credential);
  }
  [[nodiscard]] ContextPtr make_context() const {
    ContextPtr context(munge_ctx_create(), &munge_ctx_destroy);
    if (context && !socket_.empty()) {
      munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket_.c_str());
    }
    if (context && lifetime_ > Duration::zero()) {
      munge_ctx_set(context.get(), MUNGE_OPT_TTL, static_cast<int>(to_seconds(lifetime_)));
    }
    return context;
  }
  static std::string origin_of(munge_ctx_t context) {
    in_addr address{};
    char text[INET_ADDRSTRLEN];
    const bool known = munge_ctx_get(context, MUNGE_OPT_ADDR4, &address) == EMUNGE_SUCCESS &&
                       address.s_addr != INADDR_ANY;
    return known && ::inet_ntop(AF_INET, &address, text, sizeof text) != nullptr ? text : "";
  }
  static tl::unexpected<Error> refuse(std::string text) {
    return failure(ErrorCode::kAuthentication, "auth/munge: " + std::move(text));
  }
  static bool is_outage(munge_err_t problem) {
    return problem == EMUNGE_SOCKET || problem == EMUNGE_TIMEOUT;
  }
  void note_answer() {
    if (away_.load(std::memory_order_relaxed) && away_.exchange(false))
      tell(false, "munged can be reached again");
  }
  void tell(bool away, const std::string& text) {
    OutageListener listener;
    {
      const std::lock_guard lock(mutex_);
      listener = listener_;
    }
    if (listener) listener(away, text);
  }
  Error explain(munge_err_t problem, munge_ctx_t context) {
    std::time_t made_at = 0;
    std::time_t read_at = 0;
    munge_ctx_get(context, MUNGE_OPT_ENCODE_TIME, &made_at);
    munge_ctx_get(context, MUNGE_OPT_DECODE_TIME, &read_at);
    Error error = munge_error(problem, made_at, read_at);
    if (problem == EMUNGE_SOCKET) {
      if (const char* detail = munge_ctx_strerror(context))
        error.text += fmt::format(" ({})", detail);
    }
    if (!is_outage(problem)) note_answer();
    else if (!away_.exchange(true)) tell(true, error.text);
    return error;
  }
  static constexpr char kBeforeKey = '\0';  // no cluster's name has one
  std::string socket_;
  std::string cluster_;
  uid_t slurm_user_;
  Duration lifetime_;
  std::atomic<bool> away_{false};
  std::mutex mutex_;
  OutageListener listener_;  // guarded by mutex_
};

// libmunge tries again and again where nobody does.
Status somebody_listens(const std::string& path) {
  const auto address = local_address(path);
  if (path.empty() || !address) return failure(fmt::format("\"{}\" is no path of a socket", path));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the sockets API wants it
  const auto* where = reinterpret_cast<const sockaddr*>(&*address);
  const int error = fd >= 0 && ::connect(fd, where, sizeof *address) == 0 ? 0 : errno;
  if (fd >= 0) ::close(fd);
  if (error == 0) return {};
  return failure(fmt::format("munged does not listen at {}: {}", path, errno_text(error)));
}

// libmunge writes to a socket that munged may have closed: of this thread that is an error, and
// ends nothing.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    constexpr timespec kNow{};
    while (sigtimedwait(&pipe_, nullptr, &kNow) == SIGPIPE) {}
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

}  // namespace

Status munged_answers(const std::string& socket) {
  const ContextPtr context(munge_ctx_create(), &munge_ctx_destroy);
  if (!context) return failure("there is no memory for munge");
  if (!socket.empty()) munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str());
  char* usual = nullptr;
  std::string path = socket;
  if (path.empty() && munge_ctx_get(context.get(), MUNGE_OPT_SOCKET, &usual) == EMUNGE_SUCCESS &&
      usual != nullptr)
    path = usual;
  if (Status listens = somebody_listens(path); !listens) return listens;
  const NoPipeSignal quiet;
  char* credential = nullptr;
  const munge_err_t problem = munge_encode(&credential, context.get(), nullptr, 0);
  const Bytes owned(credential, &std::free);
  if (problem == EMUNGE_SUCCESS) return {};
  const char* said = munge_ctx_strerror(context.get());
  return failure(fmt::format("munged at {} does not answer: {}", path,
                             said != nullptr ? said : munge_strerror(problem)));
}

Error munge_error(int problem, int64_t made_at, int64_t read_at) {
  std::string clocks;
  if (made_at > 0 && read_at > 0) {
    clocks = fmt::format(" (clock difference {} s)", std::abs(read_at - made_at));
  }
  std::string text;
  switch (problem) {
    case EMUNGE_CRED_EXPIRED:
      text = "the credential has expired; check the clocks of both hosts" + clocks;
      break;
    case EMUNGE_CRED_REWOUND:
      text =
          "the credential is not valid yet, its time is in this host's future; check the clocks "
          "of both hosts" +
          clocks;
      break;
    case EMUNGE_CRED_REPLAYED:
      text = "the credential was replayed: it was used before" + clocks;
      break;
    case EMUNGE_CRED_INVALID:
      text = "the credential is invalid: it was forged, or made with another key";
      break;
    case EMUNGE_BAD_CRED:
    case EMUNGE_BAD_VERSION:
    case EMUNGE_BAD_LENGTH:
    case EMUNGE_BAD_ARG: text = "the credential is malformed"; break;
    case EMUNGE_CRED_UNAUTHORIZED:
      text = "the credential is for SlurmUser alone, which this process does not run as";
      break;
    case EMUNGE_SOCKET: text = "munged cannot be reached"; break;
    default: text = munge_strerror(static_cast<munge_err_t>(problem)); break;
  }
  return {ErrorCode::kAuthentication, "auth/munge: " + text};
}

std::shared_ptr<AuthProvider> make_munge_auth(std::string socket, std::string cluster,
                                              uint32_t slurm_user, Duration lifetime) {
  return std::make_shared<MungeAuth>(std::move(socket), std::move(cluster), slurm_user, lifetime);
}

}  // namespace sluice::net
