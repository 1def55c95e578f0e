// The one object that threads share: the newest value of something immutable. A mutex round a
// shared_ptr; a reader holds it for the time of one copy.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace sluice {

template <class Value>
class SnapshotHolder {
 public:
  using Pointer = std::shared_ptr<const Value>;

  explicit SnapshotHolder(Pointer first) : value_(std::move(first)) {}

  [[nodiscard]] Pointer get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  void set(Pointer next) {
    const std::lock_guard lock(mutex_);
    value_.swap(next);  // the former value dies outside the lock, with `next`
  }

 private:
  mutable std::mutex mutex_;
  Pointer value_;
};

}  // namespace sluice
