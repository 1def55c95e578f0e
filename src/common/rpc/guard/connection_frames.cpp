#include "common/rpc/guard/connection_frames.hpp"

namespace sluice::net {
namespace {

constexpr std::string_view kTooLong = "its headers are longer than 64 KiB, or broken";
constexpr std::string_view kManyOpen = "it began more calls than a client may have at a time";
constexpr std::string_view kManyOfAll = "there are very many calls already, and it began some more";
constexpr std::string_view kCancels = "it cancels its calls as soon as they begin";
constexpr std::string_view kAsks = "it sends one PING or SETTINGS after another";

}  // namespace

std::string_view ConnectionFrames::look_at(const FrameHead& head, SteadyTime now, size_t most) {
  if (!blocks_.take(head)) return kTooLong;
  switch (head.type) {
    case FrameHead::kHeaders:
      if (streams_.begin(head.stream, most)) return {};
      return most < OpenStreams::kMostOfClient ? kManyOfAll : kManyOpen;
    case FrameHead::kReset: return streams_.cancel(head.stream, now) ? "" : kCancels;
    case FrameHead::kSettings:
    case FrameHead::kPing: return head.has(FrameHead::kAck) || streams_.ask(now) ? "" : kAsks;
    default: return {};
  }
}

std::string_view ConnectionFrames::receive(std::string_view bytes, SteadyTime now, size_t most) {
  if (!why_.empty()) return why_;
  (void)received_.read(bytes, [&](const FrameHead& head) {
    why_ = look_at(head, now, most);
    return why_.empty();
  });
  return why_;
}

void ConnectionFrames::send(std::string_view bytes, SteadyTime now) {
  (void)sent_.read(bytes, [&](const FrameHead& head) {
    const bool answers = head.type == FrameHead::kHeaders || head.type == FrameHead::kData;
    if (answers) streams_.heard();
    if (answers && head.has(FrameHead::kEndStream)) streams_.answer(head.stream);
    // of one that has no answer: what came of it was no call, or broke a rule
    if (head.type == FrameHead::kReset && !streams_.cancel(head.stream, now)) why_ = kCancels;
    return true;
  });
}

}  // namespace sluice::net
