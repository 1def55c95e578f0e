// Code of others that must run in this process and may never come back (modules of PAM): a process
// beside it watches. No thread does, for a module may do what is refused to a process with threads.
#pragma once

#include <functional>

#include <sys/types.h>

#include "common/base/time.hpp"

namespace sluice::stepd {

class Deadline {
 public:
  // If this lives still when `limit` is over, this process stands still, `last_words` runs in a
  // copy of it, without its descriptors, and then it is killed with all that is below it. A `limit`
  // of 0 or less, or kNoLimit: nobody watches.
  Deadline(Duration limit, const std::function<void()>& last_words);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();

 private:
  pid_t watcher_ = -1;
  // a byte goes there at the end: that it is closed says nothing where a copy was inherited
  int done_ = -1;
};

}  // namespace sluice::stepd
