#include "common/step/mpi_spawned.hpp"

#include "common/wire/codec.hpp"

namespace sluice {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string mpi_spawned_text(const protocol::MpiSpawned& spawned) {
  std::string text;
  for (const char c : wire::encode(spawned)) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xfU];
  }
  return text;
}

std::optional<protocol::MpiSpawned> read_mpi_spawned(std::string_view text) {
  std::string bytes;
  if (text.empty() || text.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < text.size(); i += 2) {
    const size_t high = kDigits.find(text[i]);
    const size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>(high << 4U | low);
  }
  auto spawned = wire::decode<protocol::MpiSpawned>(bytes);
  if (!spawned) return std::nullopt;
  return std::move(*spawned);
}

}  // namespace sluice
