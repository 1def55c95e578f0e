// The server's side of one call: proves the caller by the headers, reads the request when it is
// this caller's turn (admission.hpp), runs the handler, writes the answer. gRPC's generic callback
// API is a reactor per call; the reactor is also the sink that the handler's Responder or
// StreamWriter holds, and lives until both have let go.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <grpcpp/generic/async_generic_service.h>

#include "common/rpc/connection_quota.hpp"
#include "common/rpc/grpc_support.hpp"
#include "common/rpc/idle.hpp"
#include "common/rpc/inline_turn.hpp"
#include "common/rpc/rpc_server.hpp"
#include "common/rpc/slow_work.hpp"

namespace sluice::net {

struct Method {
  std::string name;
  MethodRules rules;
  RpcServer::RawHandler unary;
  RpcServer::RawStreamHandler stream;
};

struct ServerShared {
  const ServerOptions& options;
  Admission& admission;
  SlowWork& slow_work;
  SlowWork& credentials;        // the verification of those that another daemon has to be asked of
  InlineTurn& credential_turn;  // whether it is asked by gRPC's thread instead
  ConnectionQuota& connections;
  std::atomic<uint32_t>& at_work;  // handlers that run now
};

class ServerCall : public grpc::ServerGenericBidiReactor, public Admission::Reader {
 public:
  ServerCall(const ServerShared& shared, const Method& method,
             grpc::GenericCallbackServerContext* context)
      : options_(shared.options), method_(method), shared_(shared), grpc_context_(context) {}

  // Looks at the headers, and starts reading or refuses; gRPC holds `self` until OnDone.
  static ServerCall* begin(std::shared_ptr<ServerCall> self);

  bool start_reading() override;
  void OnReadDone(bool ok) override;
  void OnDone() override;

 protected:
  virtual void run(const CallContext& context, std::string_view request) = 0;
  virtual void refuse(Error error) = 0;

  const ServerOptions& options_;
  const Method& method_;

  void stop_reading();                // before gRPC is told that the call is over
  void sign(std::string_view reply);  // where the caller asks for it; before the reply is sent
  void answered(Duration waited = Duration(0));  // tells ServerOptions::on_answered
  void refused(const Error& why);                // tells the log, where it is worth it
  // Of answers that wait for their reader; what was not read is given back at the call's end.
  [[nodiscard]] Status hold_answer(size_t bytes);
  void read_answer(size_t bytes);
  std::string subject_;  // what the request is about

 private:
  [[nodiscard]] std::string token_in_headers() const;
  // empty: none is needed
  static void prove(const std::shared_ptr<ServerCall>& call, const std::string& token);
  static void prove_in_turn(const std::shared_ptr<ServerCall>& call, std::string token);
  [[nodiscard]] Result<Proof> open(const std::string& token) const;
  [[nodiscard]] Status admit();
  [[nodiscard]] Status check_request(std::string_view request);
  [[nodiscard]] CallContext make_context() const;
  void execute(CallContext context, std::string_view request);

  const ServerShared& shared_;
  grpc::GenericCallbackServerContext* grpc_context_;  // until OnDone
  std::optional<UnderWay> under_way_{std::in_place};  // likewise
  std::optional<Proof> proof_;
  bool counted_ = false;  // by admission_
  std::mutex reading_;    // guards these:
  bool over_ = false;     // nothing is read any more
  bool done_ = false;
  size_t held_bytes_ = 0;
  std::atomic<size_t> held_answers_{0};
  grpc::ByteBuffer request_;
  std::shared_ptr<ServerCall> self_;
  std::chrono::steady_clock::time_point begun_;
  uint32_t uid_ = UINT32_MAX;  // UINT32_MAX: not proved
  std::string answer_key_;     // Identity's
};

class UnaryCall final : public ServerCall,
                        public ReplySink,
                        public std::enable_shared_from_this<UnaryCall> {
 public:
  using ServerCall::ServerCall;
  void complete(Result<std::string> reply) override;
  [[nodiscard]] bool is_gone() const override { return answered_.load(std::memory_order_acquire); }
  void note_subject(const std::string& subject) override { subject_ = subject; }
  void note_wait(Duration time) override {
    waited_.fetch_add(time.count(), std::memory_order_relaxed);
  }
  void OnCancel() override;

 private:
  void run(const CallContext& context, std::string_view request) override;
  void refuse(Error error) override;

  std::atomic<bool> answered_{false};
  std::atomic<Duration::rep> waited_{0};
  grpc::ByteBuffer reply_;
};

// Chunks wait in `queue_` while one is being written. Whatever calls gRPC is decided under the
// mutex and done after it, and so are the handler's callbacks.
class StreamCall final : public ServerCall,
                         public StreamSink,
                         public std::enable_shared_from_this<StreamCall> {
 public:
  using ServerCall::ServerCall;
  WriteState write(std::string chunk) override;
  void finish(Status status) override;
  void note_subject(const std::string& subject) override { subject_ = subject; }
  void note_work_done() override { work_done_ = std::chrono::steady_clock::now(); }
  void on_cancel(std::function<void()> callback) override;
  void on_ready(std::function<void()> callback) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;

 private:
  using Callback = std::shared_ptr<std::function<void()>>;
  struct Next {  // what to do once the mutex is released
    bool write = false;
    std::optional<grpc::Status> finish;
    Callback call;
    Callback dropped[2];  // freed outside the mutex: they may hold the stream's own handle
  };
  void run(const CallContext& context, std::string_view request) override;
  void refuse(Error error) override { finish(tl::unexpected<Error>(std::move(error))); }
  void end_locked(Status status, Next& next);
  void advance_locked(Next& next);
  void act(Next next);

  // the epoch: it was not said
  std::atomic<std::chrono::steady_clock::time_point> work_done_{};
  std::mutex mutex_;
  std::deque<std::string> queue_;
  size_t queued_bytes_ = 0;
  size_t current_bytes_ = 0;
  grpc::ByteBuffer current_;
  bool writing_ = false;
  bool full_ = false;
  bool ended_ = false;      // finish() was called
  bool cancelled_ = false;  // the reader has gone
  bool finish_sent_ = false;
  Status end_;
  Callback on_cancel_;
  Callback on_ready_;
};

}  // namespace sluice::net
