#include "common/rpc/server_calls.hpp"

#include <algorithm>

namespace sluice::net {
namespace {

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

Time to_time(std::chrono::system_clock::time_point deadline) {
  if (deadline == std::chrono::system_clock::time_point::max()) return kNever;
  return std::chrono::time_point_cast<Duration>(deadline);
}

}  // namespace

ServerCall* ServerCall::begin(std::shared_ptr<ServerCall> self) {
  ServerCall* call = self.get();
  call->self_ = std::move(self);
  call->StartRead(&call->request_);
  return call;
}

Result<CallContext> ServerCall::prove(std::string_view request) const {
  CallContext context{.identity = {},
                      .peer = peer_text(grpc_context_->peer()),
                      .method = method_.name,
                      .deadline = to_time(grpc_context_->deadline()),
                      .slurm_user = options_.slurm_user};
  if (options_.auth == nullptr) return context;
  const auto& metadata = grpc_context_->client_metadata();
  const auto token = metadata.find(kTokenKey);
  if (token == metadata.end()) {
    if (method_.access == Access::kAnyone) return context;
    return failure(ErrorCode::kAuthentication, "the request carries no token");
  }
  Result<Identity> identity = options_.auth->verify({token->second.data(), token->second.size()},
                                                    digest_request(options_.receiver, method_.name, request));
  if (!identity) return tl::unexpected<Error>(std::move(identity.error()));
  context.identity = std::move(*identity);
  return context;
}

void ServerCall::OnReadDone(bool ok) {
  if (!ok) return refuse({ErrorCode::kBadRequest, "the request did not arrive whole"});
  begun_ = std::chrono::steady_clock::now();
  const ContiguousBytes request(request_);
  Result<CallContext> context = prove(request.view());
  if (!context) {
    refuse(std::move(context.error()));
  } else {
    uid_ = context->identity.uid;
    answer_key_ = std::move(context->identity.answer_key);
    run(*context, request.view());
  }
  request_.Clear();
}

void ServerCall::sign(std::string_view reply) {
  if (!answer_key_.empty()) grpc_context_->AddTrailingMetadata(kSignatureKey, sign_answer(answer_key_, reply));
}

void ServerCall::answered(Duration waited) {
  if (!options_.on_answered || uid_ == UINT32_MAX) return;
  const auto took = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun_);
  options_.on_answered(method_.name, uid_, std::max(took - waited, Duration(0)));
}

void UnaryCall::run(const CallContext& context, std::string_view request) {
  method_.unary(context, request, RawResponder(shared_from_this()));
}

void UnaryCall::refuse(Error error) {
  complete(tl::unexpected<Error>(std::move(error)));
}

void UnaryCall::complete(Result<std::string> reply) {
  if (answered_.exchange(true, std::memory_order_acq_rel)) return;
  answered(Duration(waited_.load(std::memory_order_relaxed)));
  if (!reply) return Finish(to_grpc(to_status(reply.error())));
  sign(*reply);
  reply_ = to_buffer(std::move(*reply));
  StartWriteAndFinish(&reply_, grpc::WriteOptions(), grpc::Status::OK);
}

void UnaryCall::OnCancel() {
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
    end_locked(std::move(status), next);
    advance_locked(next);
  }
  answered();
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
    if (cancelled_)
      next.call = std::move(shared);
    else
      std::swap(on_cancel_, shared);
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
