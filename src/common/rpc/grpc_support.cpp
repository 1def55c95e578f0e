#include "common/rpc/grpc_support.hpp"

#include <mutex>

#include <absl/synchronization/mutex.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>

namespace sluice::net {
namespace {

constexpr size_t kCopiedBytes = 4096;  // up to here a copy is cheaper than passing ownership

}  // namespace

grpc::ByteBuffer to_buffer(std::string bytes) {
  if (bytes.size() <= kCopiedBytes) {
    const grpc::Slice slice(bytes);
    return {&slice, 1};
  }
  auto* owned = new std::string(std::move(bytes));
  const grpc::Slice slice(
      owned->data(), owned->size(), [](void* p) { delete static_cast<std::string*>(p); }, owned);
  return {&slice, 1};
}

ContiguousBytes::ContiguousBytes(const grpc::ByteBuffer& buffer) {
  if (buffer.Valid() && !buffer.TrySingleSlice(&slice_).ok()) {
    (void)buffer.DumpToSingleSlice(&slice_);
  }
}

grpc::Status to_grpc(const CallStatus& status) {
  return {static_cast<grpc::StatusCode>(status.code), status.message, status.details};
}

CallStatus from_grpc(const grpc::Status& status) {
  return {static_cast<StatusCode>(status.error_code()), status.error_message(),
          status.error_details()};
}

void set_up_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function([](gpr_log_func_args*) {});
    // Debian's builds look for cycles at each lock, which takes a twentieth of a daemon's time.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    // Never shut down: doing so starts a thread, at the end of every process.
    grpc_init();
  });
}

}  // namespace sluice::net
