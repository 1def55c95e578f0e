#include "stepd/mpi/mpi_server.hpp"

#include <utility>

#include "common/syntax/mpi_types.hpp"
#include "stepd/mpi/pmi_server.hpp"
#include "stepd/mpi/pmix_server.hpp"

namespace sluice::stepd {

Result<std::unique_ptr<MpiServer>> make_mpi_server(const PlanInput& input, MpiHost host) {
  switch (mpi_kind(input.launch.step->mpi).value_or(MpiKind::kNone)) {
    case MpiKind::kPmi2: return std::make_unique<PmiServer>(input, std::move(host));
    case MpiKind::kPmix: return std::make_unique<PmixServer>(input, std::move(host));
    default: return nullptr;
  }
}

}  // namespace sluice::stepd
