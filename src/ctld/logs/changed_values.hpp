// What an update changed, as it is shown: "MaxTime=01:00:00 AllowGroups=physics".
#pragma once

#include <string>

namespace sluice {
struct PartitionConfig;
struct Reservation;
}  // namespace sluice

namespace sluice::ctld {

// Without Nodes and State, which the log says anyway.
[[nodiscard]] std::string changed_values(const PartitionConfig& before,
                                         const PartitionConfig& after);
// Without Nodes, Users and times, for the same reason.
[[nodiscard]] std::string changed_values(const Reservation& before, const Reservation& after);

}  // namespace sluice::ctld
