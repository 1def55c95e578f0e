// What the entities know of a cluster follows its controller: where that is, its nodes, its TRES.
#pragma once

#include "common/base/time.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/accounting_admin.hpp"
#include "dbd/store/entity_store.hpp"

namespace sluice::dbd {

// Each request of a controller says who it is: the first one registers its cluster, with host and
// port. kWrongCluster: the cluster is another controller's, or this database does not know it,
// although the controller has got records of it before: it has lost them. A request without a
// cluster id, of an earlier version, is let in.
[[nodiscard]] Status admit_controller(EntityStore& entities,
                                      const protocol::QueryAccountingRecordsRequest& request,
                                      Time now);
[[nodiscard]] Status admit_controller(EntityStore& entities,
                                      const protocol::StoreHistoryRequest& request, Time now);

// After a controller's records were stored: of what they said last. A TRES that is new gets its
// number here. What goes wrong is logged; the next records try again.
void register_controller(const Database& database, EntityStore& entities,
                         const protocol::StoreHistoryRequest& request, Time now);

}  // namespace sluice::dbd
