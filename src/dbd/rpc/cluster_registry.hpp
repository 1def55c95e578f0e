// What the entities know of a cluster follows its controller: where that is, its nodes, its TRES.
#pragma once

#include "common/base/time.hpp"
#include "common/protocol/accounting.hpp"
#include "dbd/store/entity_store.hpp"

namespace sluice::dbd {

// After a controller's records were stored: of what they said last. A TRES that is new gets its
// number here. What goes wrong is logged; the next records try again.
void register_controller(const Database& database, EntityStore& entities,
                         const protocol::StoreHistoryRequest& request, Time now);

}  // namespace sluice::dbd
