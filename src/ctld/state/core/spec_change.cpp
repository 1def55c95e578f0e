#include "ctld/state/core/spec_change.hpp"

#include <algorithm>

namespace sluice::state {

SpecChange difference(const JobSpec& before, const JobSpec& after) {
  SpecChange change;
  JobSpec values;
  JobSpec::describe([&](uint32_t number, const char*, auto member) {
    if (before.*member == after.*member) return;
    change.fields.push_back(number);
    values.*member = after.*member;
  });
  if (change.fields.empty()) return change;
  std::sort(change.fields.begin(), change.fields.end());
  change.values = std::make_shared<const JobSpec>(std::move(values));
  return change;
}

std::shared_ptr<const JobSpec> with_change(const JobSpec& before, const SpecChange& change) {
  auto after = std::make_shared<JobSpec>(before);
  JobSpec::describe([&](uint32_t number, const char*, auto member) {
    if (std::binary_search(change.fields.begin(), change.fields.end(), number))
      *after.*member = (*change.values).*member;
  });
  return after;
}

}  // namespace sluice::state
