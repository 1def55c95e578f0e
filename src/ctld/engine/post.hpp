// One command to the engine, and whom to tell.
#pragma once

#include <vector>

#include "ctld/engine/publisher.hpp"
#include "ctld/journal/store.hpp"
#include "ctld/state/messages/commands.hpp"

namespace sluice::engine {

// `done` runs on the publisher's thread when everything the answer says is durable and published;
// with an error: nothing happened. A refusal for want of room waits for nothing.
struct Post {
  state::Command command;
  std::vector<journal::Blob> blobs;  // that the command's events mention
  Done done;                         // may be empty
};

}  // namespace sluice::engine
