#include "ctld/state/events/events.hpp"

namespace sluice::state {

Event::Event() = default;
Event::Event(const Event& other) = default;
Event::Event(Event&& other) noexcept = default;
Event& Event::operator=(const Event& other) = default;
Event& Event::operator=(Event&& other) noexcept = default;
Event::~Event() = default;

const char* name_of(const Event& event) {
  return std::visit([](const auto& e) { return std::decay_t<decltype(e)>::kName; }, event);
}

}  // namespace sluice::state
