// Job specs of neighbours hold mostly the same texts (user, folder, partition): one copy serves
// them.
#pragma once

#include <memory>
#include <type_traits>

#include "common/model/job_spec.hpp"

namespace sluice::state {

// `spec` with every text that equals `other`'s sharing its memory.
[[nodiscard]] inline std::shared_ptr<const JobSpec> share_texts(const JobSpec& spec,
                                                                const JobSpec& other) {
  auto shared = std::make_shared<JobSpec>(spec);
  JobSpec::describe([&](uint32_t, const char*, auto member) {
    auto& mine = *shared.*member;
    if constexpr (std::is_same_v<std::decay_t<decltype(mine)>, SharedText>) {
      if (mine == other.*member) mine = other.*member;
    }
  });
  return shared;
}

}  // namespace sluice::state
