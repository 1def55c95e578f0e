#include "dbd/rpc/entity_clock.hpp"

#include <chrono>

#include "common/log/log.hpp"

namespace sluice::dbd {

EntityClock::EntityClock(EntityStore& store) {
  thread_.start([this, &store] {
    bool away = false;
    while (thread_.rest(std::chrono::seconds(1))) {
      const Status done = store.refresh();
      if (done.has_value() != away) continue;
      away = !done;
      if (away) log::error("{}", done.error().text);
      else log::info("the database answers again");
    }
  });
}

}  // namespace sluice::dbd
