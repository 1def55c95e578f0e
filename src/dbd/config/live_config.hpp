// slurmdbd.conf as it is in force: read at the start, and again when an administrator wants it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dbd/config/dbd_config.hpp"

namespace sluice::dbd {

// Any thread.
class LiveConfig {
 public:
  using Pointer = std::shared_ptr<const DbdConfig>;

  explicit LiveConfig(DbdConfig first) : now_(std::make_shared<DbdConfig>(std::move(first))) {}

  [[nodiscard]] Pointer get() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void set(DbdConfig next) {
    Pointer fresh = std::make_shared<DbdConfig>(std::move(next));
    const std::lock_guard lock(mutex_);
    now_.swap(fresh);
  }

 private:
  mutable std::mutex mutex_;
  Pointer now_;
};

// A file that was read again: what acts at the start alone stays as it is in `running`. Gives the
// keys of these that have changed.
[[nodiscard]] std::vector<std::string> keep_until_restart(const DbdConfig& running,
                                                          DbdConfig& fresh);

}  // namespace sluice::dbd
