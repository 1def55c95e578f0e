// What triggers are told of accounting (strigger -g, -G, -h, -H and -e): that the daemon is gone,
// that its database takes nothing, that too many records wait, and that it is over.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "common/base/result.hpp"
#include "common/model/trigger.hpp"

namespace sluice::ctld {

// Any thread. Each change is told once, however many calls notice it.
class DaemonWatch {
 public:
  using Tell = std::function<void(TriggerEvents)>;  // never with 0; quick

  // From now on, and what was noticed until now.
  void tell_to(Tell tell);

  // What came of a call that needs no database.
  void asked(const Status& call);
  // What came of sending records. One that the daemon refuses for another reason than its database
  // says that the daemon is there, no more.
  void records_sent(const Status& call);
  // How many wait, of how many that may.
  void records_wait(uint64_t count, uint64_t most);

 private:
  enum class Known { kNothing, kWorks, kFails };
  // What a change means, or 0; this and tell() with mutex_ held.
  [[nodiscard]] static TriggerEvents change(Known& known, bool works, TriggerEvents failure,
                                            TriggerEvents resumed);
  void tell(TriggerEvents events);

  std::mutex mutex_;
  Tell tell_;                 // guarded by mutex_, as all below
  TriggerEvents untold_ = 0;  // while there is nobody to be told
  Known daemon_ = Known::kNothing, database_ = Known::kNothing;
  bool full_ = false;
};

}  // namespace sluice::ctld
