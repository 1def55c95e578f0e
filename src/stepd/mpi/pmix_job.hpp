// What PMIx clients may ask about the step they are part of.
#pragma once

#include <string>

#include "stepd/mpi/pmix_info.hpp"
#include "stepd/mpi/pmix_library.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {

// The name by which PMIx knows the step.
[[nodiscard]] std::string pmix_namespace(const StepId& id);

// Fills `out` for PMIx_server_register_nspace(). `folder`: where clients put their files.
void describe_pmix_job(const PmixLibrary& library, const PlanInput& input,
                       const std::string& folder, PmixInfo& out);

}  // namespace sluice::stepd
