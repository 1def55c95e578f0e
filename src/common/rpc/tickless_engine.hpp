// gRPC's event engine, as far as 1.51 uses it: work to be done soon, and timers. It has one thread,
// which sleeps until the next of them. Internal to rpc (idle.hpp).
#pragma once

#include <memory>

#include <grpc/event_engine/event_engine.h>

namespace sluice::net {

[[nodiscard]] std::unique_ptr<grpc_event_engine::experimental::EventEngine> make_tickless_engine();

// Has gRPC take it. Before gRPC is used.
void use_tickless_engine();

}  // namespace sluice::net
