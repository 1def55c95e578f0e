// What of a job's specification an update changes: an event holds that alone, since a specification
// may be megabytes and an update may name ten thousand tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/model/job_spec.hpp"

namespace sluice::state {

struct SpecChange {
  std::vector<uint32_t> fields;           // numbers of JobSpec's fields, ascending
  std::shared_ptr<const JobSpec> values;  // with these fields alone; null: nothing changes
};

[[nodiscard]] SpecChange difference(const JobSpec& before, const JobSpec& after);

// `before` with the change: difference(before, after) makes `after` of it.
[[nodiscard]] std::shared_ptr<const JobSpec> with_change(const JobSpec& before,
                                                         const SpecChange& change);

}  // namespace sluice::state
