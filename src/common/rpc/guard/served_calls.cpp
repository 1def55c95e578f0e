#include "common/rpc/guard/served_calls.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sluice::net {
namespace {

// a call has one, in which all that it needs is
std::atomic<int64_t>& arenas() {
  static std::atomic<int64_t> count{0};
  return count;
}
std::atomic<int64_t>& own() {
  static std::atomic<int64_t> count{0};
  return count;
}

}  // namespace

size_t served_calls() {
  const int64_t served =
      arenas().load(std::memory_order_relaxed) - own().load(std::memory_order_relaxed);
  return static_cast<size_t>(std::max<int64_t>(0, served));
}

OwnCall::OwnCall() { own().fetch_add(1, std::memory_order_relaxed); }
OwnCall::~OwnCall() { own().fetch_sub(1, std::memory_order_relaxed); }

}  // namespace sluice::net

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
// grpc_core::Arena::CreateWithAlloc(), whose pair comes back as these two pointers do, and
// Arena::Destroy()
struct SluiceArenaAndObject {
  void* arena;
  void* object;
};
SluiceArenaAndObject
__real__ZN9grpc_core5Arena15CreateWithAllocEmmPN17grpc_event_engine12experimental15MemoryAllocatorE(
    size_t first, size_t object, void* allocator);
size_t __real__ZN9grpc_core5Arena7DestroyEv(void* arena);

SluiceArenaAndObject
__wrap__ZN9grpc_core5Arena15CreateWithAllocEmmPN17grpc_event_engine12experimental15MemoryAllocatorE(
    size_t first, size_t object, void* allocator) {
  sluice::net::arenas().fetch_add(1, std::memory_order_relaxed);
  return __real__ZN9grpc_core5Arena15CreateWithAllocEmmPN17grpc_event_engine12experimental15MemoryAllocatorE(  // NOLINT
      first, object, allocator);
}

size_t __wrap__ZN9grpc_core5Arena7DestroyEv(void* arena) {
  sluice::net::arenas().fetch_sub(1, std::memory_order_relaxed);
  return __real__ZN9grpc_core5Arena7DestroyEv(arena);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}
