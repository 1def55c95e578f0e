#include "common/rpc/idle.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <grpc/grpc.h>
#include <grpc/support/sync.h>
#include <grpc/support/time.h>
#include <sys/prctl.h>

#include "common/rpc/tickless_engine.hpp"

namespace sluice::net {
namespace {

std::atomic<bool> resting_allowed{false};
std::atomic<int64_t> under_way{0};
// since a thread of timers last looked: calls in a row wake none of them
std::atomic<bool> was_under_way{false};

// How many threads of gRPC's timers rest, and where: one mutex and one condition, which last as
// long as the process.
std::atomic<int> resters{0};
std::atomic<gpr_mu*> timers_mutex{nullptr};
std::atomic<gpr_cv*> timers_condition{nullptr};

bool is_thread(std::string_view name) {
  std::array<char, 17> own{};
  return ::prctl(PR_GET_NAME, own.data()) == 0 && std::string_view(own.data()) == name;
}

int wait_for_timer(gpr_cv* cv, gpr_mu* mu, gpr_timespec deadline);

}  // namespace
}  // namespace sluice::net

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
extern char __data_start;  // where the program's own static variables begin and end
extern char _end;
grpc_event __real_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved);
int __real_gpr_cv_wait(gpr_cv* cv, gpr_mu* mu, gpr_timespec deadline);

grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved) {
  static thread_local const bool serves_callbacks = sluice::net::is_thread("nexting_thread");
  if (serves_callbacks) deadline = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  return __real_grpc_completion_queue_next(queue, deadline, reserved);
}

int __wrap_gpr_cv_wait(gpr_cv* cv, gpr_mu* mu, gpr_timespec deadline) {
  static thread_local const bool serves_timers = sluice::net::is_thread("grpc_global_tim");
  const bool has_limit = gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) != 0;
  if (!serves_timers || !has_limit) return __real_gpr_cv_wait(cv, mu, deadline);
  return sluice::net::wait_for_timer(cv, mu, deadline);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace sluice::net {
namespace {

// gRPC's timers have one condition, which is a static variable as their mutex is. Their threads
// wait at others, too, which are on stacks and must be left alone: when a timer that they serve
// polls.
bool is_static(const void* place) {
  const auto at = reinterpret_cast<uintptr_t>(place);
  return at >= reinterpret_cast<uintptr_t>(&__data_start) &&
         at < reinterpret_cast<uintptr_t>(&_end);
}

// gRPC holds `mu`. A call that begins is seen here, or sees that somebody rests and waits for the
// mutex until that one sleeps.
int wait_for_timer(gpr_cv* cv, gpr_mu* mu, gpr_timespec deadline) {
  if (!resting_allowed || !is_static(cv) || !is_static(mu))
    return __real_gpr_cv_wait(cv, mu, deadline);
  timers_mutex = mu;
  timers_condition = cv;
  ++resters;
  if (was_under_way.exchange(false) || under_way != 0) {
    --resters;
    return __real_gpr_cv_wait(cv, mu, deadline);
  }
  constexpr auto kMilliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(kRest).count();
  const gpr_timespec late = gpr_time_from_millis(kMilliseconds, GPR_TIMESPAN);
  const int timed_out = __real_gpr_cv_wait(cv, mu, gpr_time_add(deadline, late));
  --resters;
  return timed_out;
}

}  // namespace

void rest_when_idle() {
  use_tickless_engine();
  resting_allowed = true;
}

UnderWay::UnderWay() {
  was_under_way = true;
  if (++under_way != 1 || resters == 0) return;
  gpr_mu* const mu = timers_mutex;
  gpr_mu_lock(mu);
  gpr_cv_broadcast(timers_condition);
  gpr_mu_unlock(mu);
}

UnderWay::~UnderWay() { --under_way; }

}  // namespace sluice::net
