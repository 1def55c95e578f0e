#include "cli/shared/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace sluice::cli {

std::optional<protocol::WindowSize> terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return std::nullopt;
  return protocol::WindowSize{size.ws_row, size.ws_col};
}

RawTerminal::RawTerminal() {
  if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
  termios raw = before_;
  cfmakeraw(&raw);
  changed_ = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

RawTerminal::~RawTerminal() {
  if (changed_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

}  // namespace sluice::cli
