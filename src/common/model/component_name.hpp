// What users call a component of a heterogeneous job.
#pragma once

#include <string>

#include "common/model/het_job.hpp"

namespace sluice {

[[nodiscard]] inline std::string component_name(const HetInfo& het) {  // "123+1"
  return std::to_string(het.leader) + '+' + std::to_string(het.offset);
}

}  // namespace sluice
