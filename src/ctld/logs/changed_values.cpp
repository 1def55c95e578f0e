#include "ctld/logs/changed_values.hpp"

#include <set>
#include <vector>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/format/partition_show.hpp"
#include "common/format/reservation_keys.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice::ctld {
namespace {

// The words of `after` that `before` has not, but for those of `known` keys. Both are lines as
// scontrol shows them.
std::string new_words(const std::string& before, const std::string& after,
                      const std::vector<std::string>& known) {
  const std::vector<std::string> old = split_list(before, ' ');
  const std::set<std::string> had(old.begin(), old.end());
  std::vector<std::string> out;
  for (const std::string& word : split_list(after, ' ')) {
    if (!had.contains(word) && !contains(known, word.substr(0, word.find('='))))
      out.push_back(word);
  }
  return join(out, " ");
}

std::string shown(const PartitionConfig& config) {
  protocol::PartitionRecord record;
  record.config = config;
  return show_partition(record, {}, {}, true);
}

std::string shown(const Reservation& reservation) {
  protocol::ReservationRecord record;
  record.reservation = reservation;
  return show_reservation(record, true);
}

}  // namespace

std::string changed_values(const PartitionConfig& before, const PartitionConfig& after) {
  return new_words(shown(before), shown(after), {"Nodes", "State"});
}

std::string changed_values(const Reservation& before, const Reservation& after) {
  return new_words(shown(before), shown(after), {"Nodes", "Users", "StartTime", "EndTime"});
}

}  // namespace sluice::ctld
