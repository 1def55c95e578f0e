#include "common/rpc/server_calls.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "common/auth/jwt.hpp"
#include "common/rpc/refusal_log.hpp"

namespace sluice::net {
namespace {

constexpr size_t kQuickBytes = size_t{64} << 10;  // of a request that is decoded in no time

// gRPC says "ipv4:10.0.0.1:4242" and "ipv6:%5B::1%5D:4242".
std::string peer_text(const std::string& peer) {
  if (peer.starts_with("ipv4:")) return peer.substr(5);
  if (!peer.starts_with("ipv6:")) return peer;
  std::string text = peer.substr(5);
  for (const auto& [coded, plain] : {std::pair("%5B", "["), std::pair("%5D", "]")}) {
    if (const size_t at = text.find(coded); at != std::string::npos) text.replace(at, 3, plain);
  }
  return text;
}

// Of the host that a call comes from, whatever its port.
uint32_t host_number(const std::string& peer) {
  return static_cast<uint32_t>(
      std::hash<std::string_view>()(std::string_view(peer).substr(0, peer.rfind(':'))));
}

constexpr uint32_t kNoUser = 1U << 31;  // hosts take turns with users, whose numbers are smaller

// So long a token may wait until somebody looks at it. Its sender asks again.
constexpr std::chrono::seconds kProofPatience{10};

Time to_time(std::chrono::system_clock::time_point deadline) {
  if (deadline == std::chrono::system_clock::time_point::max()) return kNever;
  return std::chrono::time_point_cast<Duration>(deadline);
}

}  // namespace

ServerCall* ServerCall::begin(std::shared_ptr<ServerCall> self) {
  ServerCall* call = self.get();
  const std::shared_ptr<ServerCall> alive = self;
  call->self_ = std::move(self);
  call->begun_ = std::chrono::steady_clock::now();
  AuthProvider* auth = call->options_.auth.get();
  std::string token = auth == nullptr ? std::string() : call->token_in_headers();
  if (auth == nullptr && !call->options_.knows_nobody &&
      call->method_.rules.access != Access::kAnyone) {
    call->refuse({ErrorCode::kAuthentication, "this server cannot prove who asks"});
  } else if (auth != nullptr && token.empty() && call->method_.rules.access != Access::kAnyone) {
    call->refuse({ErrorCode::kAuthentication, "the request carries no token"});
  } else {
    prove_in_turn(alive, std::move(token));
  }
  return call;
}

// None of gRPC's threads waits for files, nor for a daemon that was slow of late. Hosts take turns
// at those that wait.
void ServerCall::prove_in_turn(const std::shared_ptr<ServerCall>& call, std::string token) {
  const WaitsFor what =
      token.empty() ? WaitsFor::kNothing : call->options_.auth->open_waits_for(token);
  if (what == WaitsFor::kNothing) return prove(call, token);
  const bool asks_daemon = what == WaitsFor::kDaemon;
  InlineTurn& turn = call->shared_.credential_turn;
  if (asks_daemon && turn.take()) {
    prove(call, token);
    return turn.give_back();
  }
  SlowWork& work = asks_daemon ? call->shared_.credentials : call->shared_.slow_work;
  const uint32_t host = host_number(call->grpc_context_->peer());
  const uint32_t whose = asks_daemon ? host : host | kNoUser;
  const bool taken = work.post(whose, [call, token = std::move(token)] {
    if (std::chrono::steady_clock::now() - call->begun_ < kProofPatience) return prove(call, token);
    call->refuse({ErrorCode::kRetry,
                  "the token was not verified in time: the daemon that does it is slow, or hangs"});
  });
  if (!taken) call->refuse({ErrorCode::kRetry, "too many tokens wait to be verified"});
}

// A token of which this process knows nothing yet; the daemon that is asked is timed.
Result<Proof> ServerCall::open(const std::string& token) const {
  const auto begun = std::chrono::steady_clock::now();
  Result<Proof> opened = options_.auth->open(token);
  if (options_.auth->open_waits_for(token) == WaitsFor::kDaemon) {
    shared_.credential_turn.note(std::chrono::steady_clock::now() - begun);
  }
  return opened;
}

std::string ServerCall::token_in_headers() const {
  const auto& metadata = grpc_context_->client_metadata();
  if (const auto token = metadata.find(kTokenKey); token != metadata.end())
    return {token->second.data(), token->second.size()};
  const auto header = metadata.find("authorization");
  return header == metadata.end() ? std::string()
                                  : bearer_token({header->second.data(), header->second.size()});
}

void ServerCall::prove(const std::shared_ptr<ServerCall>& call, const std::string& token) {
  std::optional<Proof> proof;
  if (!token.empty()) {
    Result<Proof> opened = call->open(token);
    if (!opened) return call->refuse(std::move(opened.error()));
    proof = std::move(*opened);
  }
  Status admitted;
  CallContext context;
  {
    const std::lock_guard lock(call->reading_);
    if (call->over_) return;  // gRPC's part of the call may be gone
    call->proof_ = std::move(proof);
    admitted = call->admit();
    context = call->make_context();
  }
  if (!admitted) return call->refuse(std::move(admitted.error()));
  if (call->options_.auth != nullptr && !call->proof_) return call->execute(std::move(context), {});
  if (call->counted_) call->shared_.admission.ask_to_read(call->uid_, call);
  else call->start_reading();
}

Status ServerCall::admit() {
  if (!proof_) return {};
  uid_ = proof_->identity.uid;
  const bool privileged = make_context().is_super_user();
  if (!shared_.connections.prove(grpc_context_->peer(),
                                 privileged ? ConnectionQuota::kPrivileged : uid_))
    return failure(ErrorCode::kRetry, "the connection was closed");
  if (privileged) return {};
  if (options_.admit) {
    if (Status ok = options_.admit(short_method_name(method_.name), uid_); !ok) return ok;
  }
  if (Status ok = shared_.admission.open(uid_); !ok) return ok;
  counted_ = true;
  return {};
}

CallContext ServerCall::make_context() const {
  CallContext context{.identity = {},
                      .peer = peer_text(grpc_context_->peer()),
                      .method = method_.name,
                      .deadline = to_time(grpc_context_->deadline()),
                      .slurm_user = options_.slurm_user};
  if (proof_) context.identity = proof_->identity;
  return context;
}

bool ServerCall::start_reading() {
  const std::lock_guard lock(reading_);
  if (over_) return false;
  StartRead(&request_);
  return true;
}

void ServerCall::stop_reading() {
  const std::lock_guard lock(reading_);
  over_ = true;
}

void ServerCall::OnDone() {
  size_t held = 0;
  {
    const std::lock_guard lock(reading_);
    done_ = true;
    held = held_bytes_;
  }
  if (counted_) shared_.admission.closed(uid_, held, held_answers_.load());
  under_way_.reset();
  self_.reset();
}

// What a user's request may be, and whether it is the one that was proved.
Status ServerCall::check_request(std::string_view request) {
  if (options_.auth == nullptr) return {};
  if (counted_ && request.size() > method_.rules.most_bytes) {
    return failure(ErrorCode::kBadRequest,
                   fmt::format("the request has {} bytes, and {} takes at most {}", request.size(),
                               short_method_name(method_.name), method_.rules.most_bytes));
  }
  if (Status same = check_digest(*proof_, digest_request(options_.receiver, method_.name, request));
      !same)
    return same;
  if (!counted_) return {};
  Status held = shared_.admission.hold(uid_, request.size());
  if (held) held_bytes_ = request.size();
  return held;
}

void ServerCall::OnReadDone(bool ok) {
  const std::shared_ptr<ServerCall> alive = self_;
  if (counted_) shared_.admission.has_read(uid_);
  if (!ok) return refuse({ErrorCode::kBadRequest, "the request did not arrive whole"});
  const auto request = std::make_shared<const ContiguousBytes>(request_);
  request_.Clear();
  if (Status good = check_request(request->view()); !good) return refuse(std::move(good.error()));
  CallContext context = make_context();
  // one user's long request takes none of the threads that serve everybody
  const bool slow = method_.rules.slow || (counted_ && request->view().size() > kQuickBytes);
  if (!slow) return execute(std::move(context), request->view());
  const auto work = [alive, request, context = std::move(context)] {
    alive->execute(context, request->view());
  };
  if (!shared_.slow_work.post(uid_, work))
    refuse({ErrorCode::kRetry, "too many such requests wait already"});
}

void ServerCall::execute(CallContext context, std::string_view request) {
  answer_key_ = std::move(context.identity.answer_key);
  size_t decoded = 0;
  context.decoded_bytes = &decoded;
  shared_.at_work.fetch_add(1, std::memory_order_relaxed);
  run(context, request);
  shared_.at_work.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(reading_);
  if (!counted_ || done_) return;
  held_bytes_ += decoded;
  shared_.admission.add(uid_, decoded);
}

Status ServerCall::hold_answer(size_t bytes) {
  if (!counted_) return {};
  Status held = shared_.admission.hold_answer(uid_, bytes);
  if (held) held_answers_ += bytes;
  return held;
}

void ServerCall::read_answer(size_t bytes) {
  if (!counted_) return;
  held_answers_ -= bytes;
  shared_.admission.read_answer(uid_, bytes);
}

void ServerCall::sign(std::string_view reply) {
  if (!answer_key_.empty())
    grpc_context_->AddTrailingMetadata(kSignatureKey, sign_answer(answer_key_, reply));
}

void ServerCall::answered(Duration waited) {
  if (!options_.on_answered || uid_ == UINT32_MAX) return;
  const auto took = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun_);
  options_.on_answered(short_method_name(method_.name), uid_, std::max(took - waited, Duration(0)));
}

void ServerCall::refused(const Error& why) {
  const std::optional<uint32_t> uid = uid_ == UINT32_MAX ? std::nullopt : std::optional(uid_);
  const std::string peer = peer_text(grpc_context_->peer());
  const bool by_admin = uid && (*uid == 0 || *uid == options_.slurm_user);
  options_.refusals->note({short_method_name(method_.name), uid, peer, why, subject_, by_admin});
}

void UnaryCall::run(const CallContext& context, std::string_view request) {
  method_.unary(context, request, RawResponder(shared_from_this()));
}

void UnaryCall::refuse(Error error) { complete(tl::unexpected<Error>(std::move(error))); }

void UnaryCall::complete(Result<std::string> reply) {
  if (answered_.exchange(true, std::memory_order_acq_rel)) return;
  answered(Duration(waited_.load(std::memory_order_relaxed)));
  if (reply) {
    if (Status held = hold_answer(reply->size()); !held) reply = tl::unexpected(held.error());
  }
  if (!reply) refused(reply.error());
  if (!reply) return Finish(to_grpc(to_status(reply.error())));
  sign(*reply);
  reply_ = to_buffer(std::move(*reply));
  StartWriteAndFinish(&reply_, grpc::WriteOptions(), grpc::Status::OK);
}

void UnaryCall::OnCancel() {
  stop_reading();
  if (!answered_.exchange(true, std::memory_order_acq_rel)) Finish(grpc::Status::CANCELLED);
}

void StreamCall::run(const CallContext& context, std::string_view request) {
  method_.stream(context, request, shared_from_this());
}

WriteState StreamCall::write(std::string chunk) {
  Next next;
  WriteState state = WriteState::kOk;
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || cancelled_) return WriteState::kClosed;
    if (queued_bytes_ + chunk.size() > options_.stream_backlog && !queue_.empty()) {
      queue_.clear();
      end_locked(failure(ErrorCode::kError, "the reader of the stream is too slow"), next);
      state = WriteState::kClosed;
    } else if (Status held = hold_answer(chunk.size()); !held) {
      queue_.clear();
      end_locked(std::move(held), next);
      state = WriteState::kClosed;
    } else {
      queued_bytes_ += chunk.size();
      queue_.push_back(std::move(chunk));
      if (queued_bytes_ > options_.stream_high_water) {
        full_ = true;
        state = WriteState::kFull;
      }
    }
    advance_locked(next);
  }
  act(std::move(next));
  return state;
}

void StreamCall::finish(Status status) {
  Next next;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    // else its reader has gone, and gRPC's part of the call with it
    if (!status && !finish_sent_) refused(status.error());
    end_locked(std::move(status), next);
    advance_locked(next);
  }
  const auto done = work_done_.load();
  const bool waits = done != std::chrono::steady_clock::time_point();
  answered(waits ? std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - done)
                 : Duration(0));
  act(std::move(next));
}

void StreamCall::end_locked(Status status, Next& next) {
  ended_ = true;
  end_ = std::move(status);
  next.dropped[0] = std::move(on_cancel_);
  next.dropped[1] = std::move(on_ready_);
}

// Sets off the next write, or the end when all is written.
void StreamCall::advance_locked(Next& next) {
  if (writing_ || finish_sent_) return;
  if (cancelled_) {
    finish_sent_ = true;
    next.finish = grpc::Status::CANCELLED;
  } else if (!queue_.empty()) {
    current_bytes_ = queue_.front().size();
    current_ = to_buffer(std::move(queue_.front()));
    queue_.pop_front();
    writing_ = true;
    next.write = true;
  } else if (ended_) {
    finish_sent_ = true;
    next.finish = end_ ? grpc::Status::OK : to_grpc(to_status(end_.error()));
  }
}

// gRPC may free the call as soon as it is finished and no handle is left, so this comes last.
void StreamCall::act(Next next) {
  if (next.write) StartWrite(&current_);
  if (next.call) (*next.call)();
  if (next.finish) Finish(std::move(*next.finish));
}

void StreamCall::OnWriteDone(bool ok) {
  const auto alive = shared_from_this();
  Next next;
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    queued_bytes_ -= current_bytes_;
    read_answer(current_bytes_);
    current_.Clear();
    if (!ok) {
      // OnCancel follows, and ends the call when this write was not what it waited for
      queue_.clear();
      if (cancelled_ || ended_) advance_locked(next);
    } else {
      advance_locked(next);
      if (full_ && !ended_ && queued_bytes_ <= options_.stream_high_water / 2) {
        full_ = false;
        next.call = on_ready_;
      }
    }
  }
  act(std::move(next));
}

void StreamCall::OnCancel() {
  stop_reading();
  const auto alive = shared_from_this();
  Next next;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    queue_.clear();
    if (!ended_) next.call = std::move(on_cancel_);
    next.dropped[0] = std::move(on_cancel_);
    next.dropped[1] = std::move(on_ready_);
    advance_locked(next);
  }
  act(std::move(next));
}

void StreamCall::on_cancel(std::function<void()> callback) {
  Next next;
  auto shared = std::make_shared<std::function<void()>>(std::move(callback));
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    if (cancelled_) next.call = std::move(shared);
    else std::swap(on_cancel_, shared);
  }
  act(std::move(next));
}

void StreamCall::on_ready(std::function<void()> callback) {
  Next next;
  auto shared = std::make_shared<std::function<void()>>(std::move(callback));
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || cancelled_) return;
    on_ready_ = shared;
    if (!full_) next.call = std::move(shared);
  }
  act(std::move(next));
}

}  // namespace sluice::net
