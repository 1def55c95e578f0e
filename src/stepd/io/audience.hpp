// Who hears of a step's tasks while they run: its srun and the watchers, all together.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/ids.hpp"
#include "common/protocol/stepd.hpp"

namespace sluice::stepd {

class Audience {
 public:
  virtual ~Audience() = default;
  // To everyone; lost when nobody listens.
  virtual void send(protocol::FrameType type, uint32_t task, std::string_view body) = 0;
  // To the step's own srun only.
  virtual void send_owner(protocol::FrameType type, uint32_t task, std::string_view body) = 0;
  // More waits to be sent than should: do not read on.
  [[nodiscard]] virtual bool congested() const = 0;
  // The step's own srun is there.
  [[nodiscard]] virtual bool has_owner() const = 0;
  // Input stops and goes on (other frames of those that may give it wait too).
  virtual void pause_input() = 0;
  virtual void resume_input() = 0;
};

}  // namespace sluice::stepd
