// The fields of a job that squeue shows, one row each (field_row.hpp).
#pragma once

#include <span>

#include "common/format/field_row.hpp"
#include "common/format/job_values.hpp"

namespace sluice {

using JobField = FieldRow<JobView>;

[[nodiscard]] std::span<const JobField> job_fields();

}  // namespace sluice
