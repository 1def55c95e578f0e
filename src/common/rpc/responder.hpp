// The ways a handler answers: a Responder for one reply, a StreamWriter for many chunks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/wire/instances.hpp"

namespace sluice::net {

// Where the bytes of a reply go: a call of the server, or whoever dispatched it in this process.
// complete() is called exactly once.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void complete(Result<std::string> reply) = 0;
  // The caller has gone: nobody will see the answer.
  [[nodiscard]] virtual bool is_gone() const { return false; }
  // So much of the time until the answer was waiting for something else, not work on the request.
  virtual void note_wait(Duration) {}
  // What the request is about ("JobId=17"), for the log of what is denied. Before the handler runs.
  virtual void note_subject(const std::string& /*subject*/) {}
};

// The right to answer one request: movable, not copyable, usable from any thread at any later
// time. When the caller has gone, answering is a no-op. Dropped unanswered, it answers kError.
class RawResponder {
 public:
  RawResponder() = default;
  explicit RawResponder(std::shared_ptr<ReplySink> sink) : sink_(std::move(sink)) {}
  RawResponder(RawResponder&&) noexcept = default;
  RawResponder& operator=(RawResponder&& other) noexcept {
    drop();
    sink_ = std::move(other.sink_);
    return *this;
  }
  ~RawResponder() { drop(); }

  void complete(Result<std::string> reply) {
    if (const auto sink = std::exchange(sink_, nullptr)) sink->complete(std::move(reply));
  }
  void fail(Error error) { complete(tl::unexpected<Error>(std::move(error))); }
  [[nodiscard]] bool is_gone() const { return sink_ == nullptr || sink_->is_gone(); }
  void note_wait(Duration time) const {
    if (sink_) sink_->note_wait(time);
  }
  void note_subject(const std::string& subject) const {
    if (sink_ && !subject.empty()) sink_->note_subject(subject);
  }
  [[nodiscard]] explicit operator bool() const { return sink_ != nullptr; }

 private:
  void drop() {
    if (sink_) fail({ErrorCode::kError, "the request was dropped without an answer"});
  }
  std::shared_ptr<ReplySink> sink_;
};

template <class Reply>
class Responder {
 public:
  Responder() = default;
  explicit Responder(RawResponder raw) : raw_(std::move(raw)) {}

  // A responder that hands the reply to a function: for tests and for calls within a process.
  static Responder to(std::function<void(Result<Reply>)> receive) {
    struct Receiver final : ReplySink {
      std::function<void(Result<Reply>)> receive;
      void complete(Result<std::string> bytes) override {
        receive(bytes ? wire::decode<Reply>(*bytes) : tl::unexpected<Error>(bytes.error()));
      }
    };
    auto receiver = std::make_shared<Receiver>();
    receiver->receive = std::move(receive);
    return Responder(RawResponder(std::move(receiver)));
  }

  // The first of these ends it; the responder is empty afterwards.
  void reply(const Reply& reply) { raw_.complete(wire::encode(reply)); }
  void fail(Error error) { raw_.fail(std::move(error)); }
  void fail(ErrorCode code, std::string text = {}) { fail(Error{code, std::move(text)}); }
  void complete(const Result<Reply>& result) {
    if (result) reply(*result);
    else fail(result.error());
  }
  [[nodiscard]] bool is_gone() const { return raw_.is_gone(); }
  void note_wait(Duration time) const { raw_.note_wait(time); }
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(raw_); }

 private:
  RawResponder raw_;
};

enum class WriteState {
  kOk,
  kFull,    // taken, but the reader is behind: best wait for on_ready before writing more
  kClosed,  // not taken: the reader has gone, or the stream is finished
};

// The server's end of a stream. Chunks that the reader is too slow for are kept up to a limit
// (ServerOptions::stream_backlog); beyond it the stream is ended with kError.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual WriteState write(std::string chunk) = 0;
  virtual void finish(Status status) = 0;
  virtual void note_subject(const std::string& /*subject*/) {}  // as ReplySink's
  virtual void note_work_done() {
  }  // what follows waits for the cluster: no part of the call's time
  virtual void on_cancel(std::function<void()> callback) = 0;
  virtual void on_ready(std::function<void()> callback) = 0;
};

// A shared handle on a stream; copies are the same stream. All functions may be called from any
// thread, callbacks run on a thread of the server. When the last copy goes unfinished, the stream
// ends with kError.
template <class Chunk>
class StreamWriter {
 public:
  StreamWriter() = default;
  explicit StreamWriter(std::shared_ptr<StreamSink> sink)
      : handle_(std::make_shared<Handle>(std::move(sink))) {}

  WriteState write(const Chunk& chunk) const { return sink().write(wire::encode(chunk)); }
  // What was written before still arrives. No-op after the first.
  void finish(Status status = {}) const { sink().finish(std::move(status)); }
  // Runs once if the reader goes before finish(), at once when it has gone already.
  void on_cancel(std::function<void()> callback) const { sink().on_cancel(std::move(callback)); }
  // Runs at once, and again each time the backlog has drained after kFull.
  void on_ready(std::function<void()> callback) const { sink().on_ready(std::move(callback)); }
  [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }

  // Sends what `next` yields, at the reader's pace, until it yields nullopt or an error; `next` is
  // called by one thread at a time and dropped at the end.
  void pull(std::function<Result<std::optional<Chunk>>()> next) const;

 private:
  struct Handle {
    explicit Handle(std::shared_ptr<StreamSink> s) : sink(std::move(s)) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() { sink->finish(failure(ErrorCode::kError, "the stream was dropped without an end")); }
    std::shared_ptr<StreamSink> sink;
  };
  [[nodiscard]] StreamSink& sink() const { return *handle_->sink; }

  std::shared_ptr<Handle> handle_;
};

template <class Chunk>
void StreamWriter<Chunk>::pull(std::function<Result<std::optional<Chunk>>()> next) const {
  // The stream keeps the pump (through on_ready), the pump keeps the stream's handle; finish()
  // makes the stream drop its callbacks, which ends the circle.
  auto pump = [writer = *this, next = std::move(next)]() mutable {
    while (true) {
      Result<std::optional<Chunk>> chunk = next();
      if (!chunk) return writer.finish(tl::unexpected<Error>(chunk.error()));
      if (!*chunk) return writer.finish();
      const WriteState state = writer.write(**chunk);
      if (state == WriteState::kFull) return;
      if (state == WriteState::kClosed) return writer.finish();
    }
  };
  on_ready(pump);
}

}  // namespace sluice::net
