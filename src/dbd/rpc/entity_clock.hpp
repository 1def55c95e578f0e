// What another daemon on the same database has changed is read once a second. Says in the log when
// the database is away, and when it is back.
#pragma once

#include "common/os/round_thread.hpp"
#include "dbd/store/entity_store.hpp"

namespace sluice::dbd {

class EntityClock {
 public:
  explicit EntityClock(EntityStore& store);  // which outlives it

 private:
  RoundThread thread_;
};

}  // namespace sluice::dbd
