// The first message of an X11 client: it names the proof (a "magic cookie") that it may use the
// display.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace sluice {

inline constexpr std::string_view kX11CookieName = "MIT-MAGIC-COOKIE-1";

// Gathers the message as bytes come, and gives it to the next one with another cookie.
class X11Setup {
 public:
  // Bytes that the client sent. False when they cannot be such a message.
  [[nodiscard]] bool feed(std::string_view bytes);
  [[nodiscard]] bool complete() const;
  // The cookie in it; empty when it names another kind of proof, or none.
  [[nodiscard]] std::string cookie() const;
  // The message (and whatever followed it), with this cookie.
  [[nodiscard]] std::string with_cookie(std::string_view cookie) const;

 private:
  [[nodiscard]] size_t word_at(size_t place) const;
  [[nodiscard]] size_t name_length() const { return word_at(6); }
  [[nodiscard]] size_t data_length() const { return word_at(8); }
  [[nodiscard]] size_t end() const;  // of the message

  std::string bytes_;
};

// An .Xauthority file of one entry, which stands for this display on every host.
[[nodiscard]] std::string xauthority_file(uint32_t display, std::string_view cookie);

// The contents of an .Xauthority file without the entry for this display of `host` (a display of
// this machine), and with one for it before the others. What cannot be read stays as it is.
[[nodiscard]] std::string without_xauthority(std::string_view file, std::string_view host,
                                             uint32_t display);
[[nodiscard]] std::string with_xauthority(std::string_view file, std::string_view host,
                                          uint32_t display, std::string_view cookie);

// Where DISPLAY leads: a socket's path, or a host and a port.
struct X11Display {
  std::string path;  // empty: host and port
  std::string host;
  uint32_t port = 0;
};
[[nodiscard]] std::optional<X11Display> parse_display(std::string_view text);

}  // namespace sluice
