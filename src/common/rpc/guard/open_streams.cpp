#include "common/rpc/guard/open_streams.hpp"

#include <algorithm>
#include <chrono>

namespace sluice::net {
namespace {

// Calls of the process. One that waits takes twenty kilobytes.
constexpr size_t kSome = 2'048, kMany = 8'192, kTooMany = 32'768;
constexpr size_t kFew = 64;
// Who comes with all that a client may have at once, the first of which is not proved yet.
constexpr size_t kMostUnproved = 1'100;
// A command has one or two; so many more have daemons that come back.
constexpr size_t kFewUnproved = 16, kFewestUnproved = 2;

}  // namespace

bool Allowance::take(SteadyTime now) {
  const double seconds = std::chrono::duration<double>(now - counted_).count();
  left_ = std::clamp(left_ + seconds * each_second_, left_, most_);
  counted_ = now;
  if (left_ < 1) return false;
  left_ -= 1;
  return true;
}

bool OpenStreams::begin(uint32_t stream, size_t most) {
  if (stream <= newest_) return true;  // what ends a request, or nothing that gRPC takes for a call
  newest_ = stream;
  open_.push_back(stream);
  return open_.size() + (most < kMostOfClient ? cancelled_.taken() : 0) <= most;
}

bool OpenStreams::end(uint32_t stream) {
  const auto at = std::ranges::lower_bound(open_, stream);
  if (at == open_.end() || *at != stream) return false;
  open_.erase(at);
  return true;
}

bool OpenStreams::cancel(uint32_t stream, SteadyTime now) {
  return !end(stream) || cancelled_.take(now);
}

void OpenStreams::answer(uint32_t stream) {
  if (end(stream)) cancelled_.give_one();
}

size_t most_open(Trust trust, size_t calls) {
  if (trust == Trust::kPrivileged) return OpenStreams::kMost;
  if (trust == Trust::kUser) return calls < kTooMany ? OpenStreams::kMost : kFew;
  if (calls < kSome) return kMostUnproved;
  if (calls < kMany) return kFew;
  return calls < kTooMany ? kFewUnproved : kFewestUnproved;
}

}  // namespace sluice::net
