// The user's terminal while a task's own one (--pty) is shown on it.
#pragma once

#include <optional>

#include <termios.h>

#include "common/protocol/stepd.hpp"

namespace sluice::cli {

// The size of the terminal on standard output; nothing when it is none.
[[nodiscard]] std::optional<protocol::WindowSize> terminal_size();

// Raw from construction to destruction; no-op where standard input is no terminal.
class RawTerminal {
 public:
  RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal();

 private:
  bool changed_ = false;
  termios before_{};
};

}  // namespace sluice::cli
