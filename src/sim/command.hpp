// sluice sim as a function: options, files, and what is printed.
#pragma once

namespace sluice::sim {

[[nodiscard]] int command_main(int argc, char** argv);

}  // namespace sluice::sim
