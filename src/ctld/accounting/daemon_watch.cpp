#include "ctld/accounting/daemon_watch.hpp"

#include <utility>

#include "common/os/is_away.hpp"

namespace sluice::ctld {
namespace {

bool has_no_answer(const Status& call) { return !call && is_unanswered(call.error().code); }

// As dbd/store tells of it.
bool is_of_database(const Error& error) {
  return error.code == ErrorCode::kRetry || error.code == ErrorCode::kStorageFull ||
         error.code == ErrorCode::kDamaged || error.code == ErrorCode::kInvalidConfig ||
         error.code == ErrorCode::kError;
}

}  // namespace

TriggerEvents DaemonWatch::change(Known& known, bool works, TriggerEvents failure,
                                  TriggerEvents resumed) {
  const Known before = std::exchange(known, works ? Known::kWorks : Known::kFails);
  if (before == known) return 0;
  if (!works) return failure;
  return before == Known::kFails ? resumed : 0;
}

void DaemonWatch::tell_to(Tell tell_whom) {
  const std::lock_guard lock(mutex_);
  tell_ = std::move(tell_whom);
  tell(std::exchange(untold_, 0));
}

void DaemonWatch::tell(TriggerEvents events) {
  if (events == 0) return;
  if (tell_) tell_(events);
  else untold_ |= events;
}

void DaemonWatch::asked(const Status& call) {
  const std::lock_guard lock(mutex_);
  tell(change(daemon_, !has_no_answer(call), kTriggerDbdFailure, kTriggerDbdResumed));
}

void DaemonWatch::records_sent(const Status& call) {
  asked(call);
  if (has_no_answer(call) || (!call && !is_of_database(call.error()))) return;
  const std::lock_guard lock(mutex_);
  tell(change(database_, call.has_value(), kTriggerDatabaseFailure, kTriggerDatabaseResumed));
}

void DaemonWatch::records_wait(uint64_t count, uint64_t most) {
  const std::lock_guard lock(mutex_);
  const bool full = most > 0 && count >= most;
  if (full && !full_) tell(kTriggerBufferFull);
  full_ = full;
}

}  // namespace sluice::ctld
