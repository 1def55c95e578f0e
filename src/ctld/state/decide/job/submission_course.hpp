// What submissions of one command keep from one job to the next: components, lines of a crontab.
#pragma once

#include "ctld/state/decide/job/size_checks.hpp"
#include "ctld/state/rules/dependency.hpp"

namespace sluice::state {

struct SubmissionCourse {
  DependencyNotes dependencies;
  SizeChecks sizes;
};

}  // namespace sluice::state
