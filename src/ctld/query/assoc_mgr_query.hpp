// QueryAssocMgr: what a snapshot knows of accounting.
#pragma once

#include "common/protocol/assoc_mgr.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::ctld {

// Under PrivateData=usage or users others than operators see their own associations, and accounts;
// those that they coordinate with all users. Under PrivateData=usage or accounts they see the
// accounts that they are in or below, and those that they coordinate. `uid` is who asks.
[[nodiscard]] protocol::AssocMgrReply assoc_mgr(const state::ClusterState& state,
                                                const protocol::QueryAssocMgrRequest& request,
                                                uint32_t uid, Time now);

}  // namespace sluice::ctld
