#include "common/step/x11_setup.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice {
namespace {

constexpr size_t kHeader = 12;
constexpr size_t kMost = 4096;  // of name and cookie
constexpr uint32_t kFirstPort = 6000;
constexpr uint16_t kAnyFamily = 0xFFFF;
constexpr uint16_t kLocalFamily = 256;  // by a host's name

size_t padded(size_t length) { return (length + 3) / 4 * 4; }

void put_short(std::string& out, size_t number) {
  out.push_back(static_cast<char>(number >> 8 & 0xFF));
  out.push_back(static_cast<char>(number & 0xFF));
}
void put_counted(std::string& out, std::string_view text) {
  put_short(out, text.size());
  out += text;
}

std::string entry_head(uint16_t family, std::string_view host, uint32_t display) {
  std::string out;
  put_short(out, family);
  put_counted(out, host);
  put_counted(out, std::to_string(display));
  return out;
}
std::string entry(uint16_t family, std::string_view host, uint32_t display,
                  std::string_view cookie) {
  std::string out = entry_head(family, host, display);
  put_counted(out, kX11CookieName);
  put_counted(out, cookie);
  return out;
}

// Bytes of the entry that `file` begins with: a family and four counted texts. 0: there is no whole
// one.
size_t entry_length(std::string_view file) {
  size_t place = 2;
  for (int text = 0; text < 4; ++text) {
    if (file.size() < place + 2) return 0;
    place += 2 + (static_cast<size_t>(static_cast<unsigned char>(file[place])) << 8 |
                  static_cast<unsigned char>(file[place + 1]));
  }
  return place <= file.size() ? place : 0;
}

}  // namespace

size_t X11Setup::word_at(size_t place) const {
  const auto low = static_cast<unsigned char>(bytes_[place]),
             high = static_cast<unsigned char>(bytes_[place + 1]);
  return bytes_[0] == 'B' ? static_cast<size_t>(low) << 8 | high
                          : static_cast<size_t>(high) << 8 | low;
}

size_t X11Setup::end() const { return kHeader + padded(name_length()) + padded(data_length()); }

bool X11Setup::feed(std::string_view bytes) {
  bytes_ += bytes;
  if (!bytes_.empty() && bytes_[0] != 'B' && bytes_[0] != 'l') return false;
  return bytes_.size() < kHeader || name_length() + data_length() <= kMost;
}

bool X11Setup::complete() const { return bytes_.size() >= kHeader && bytes_.size() >= end(); }

std::string X11Setup::cookie() const {
  if (bytes_.substr(kHeader, name_length()) != kX11CookieName) return {};
  return bytes_.substr(kHeader + padded(name_length()), data_length());
}

std::string X11Setup::with_cookie(std::string_view cookie) const {
  std::string out = bytes_.substr(0, 6);
  const auto put_word = [&](size_t number) {
    if (bytes_[0] == 'B') return put_short(out, number);
    out.push_back(static_cast<char>(number & 0xFF));
    out.push_back(static_cast<char>(number >> 8 & 0xFF));
  };
  put_word(kX11CookieName.size());
  put_word(cookie.size());
  out.append(2, '\0');
  out += kX11CookieName;
  out.resize(kHeader + padded(kX11CookieName.size()));
  out += cookie;
  out.resize(kHeader + padded(kX11CookieName.size()) + padded(cookie.size()));
  return out + bytes_.substr(end());
}

std::string xauthority_file(uint32_t display, std::string_view cookie) {
  return entry(kAnyFamily, "", display, cookie);
}

std::string without_xauthority(std::string_view file, std::string_view host, uint32_t display) {
  const std::string head = entry_head(kLocalFamily, host, display);
  std::string out;
  while (const size_t length = entry_length(file)) {
    if (!file.starts_with(head)) out += file.substr(0, length);
    file.remove_prefix(length);
  }
  return out.append(file);
}

std::string with_xauthority(std::string_view file, std::string_view host, uint32_t display,
                            std::string_view cookie) {
  return entry(kLocalFamily, host, display, cookie) + without_xauthority(file, host, display);
}

std::optional<X11Display> parse_display(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view host = text.substr(0, colon);
  const std::string_view screen = text.substr(colon + 1);
  const auto number = to_number<uint32_t>(screen.substr(0, screen.find('.')));
  if (!number || *number > UINT16_MAX - kFirstPort) return std::nullopt;
  X11Display out;
  if (host.empty() || host == "unix") out.path = fmt::format("/tmp/.X11-unix/X{}", *number);
  out.host = host;
  out.port = kFirstPort + *number;
  return out;
}

}  // namespace sluice
