#include "stepd/binding/bind_list.hpp"

#include <algorithm>

#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {

constexpr uint32_t kMostRepetitions = 4096;
constexpr uint32_t kMostBits = 1U << 16;

struct Piece {
  std::string_view text;
  uint32_t times = 1;
};

// Takes the first of `list`, up to the next comma; empty ones are none.
Piece take_piece(std::string_view& list) {
  while (list.starts_with(',')) list.remove_prefix(1);
  const std::string_view whole = list.substr(0, list.find(','));
  list.remove_prefix(whole.size());
  const size_t star = whole.find('*');
  if (star == std::string_view::npos) return {trim(whole), 1};
  const uint32_t times = to_number<uint32_t>(trim(whole.substr(star + 1))).value_or(1);
  return {trim(whole.substr(0, star)), std::min(times, kMostRepetitions)};
}

}  // namespace

std::vector<std::string> list_items(std::string_view list) {
  std::vector<std::string> items;
  size_t bytes = 0;
  while (!list.empty() && items.size() < kMostItems && bytes < kMostItemBytes) {
    const Piece piece = take_piece(list);
    const size_t room = (kMostItemBytes - bytes) / std::max<size_t>(piece.text.size(), 1);
    const auto times = std::min<size_t>(piece.times, room + 1);
    if (!piece.text.empty()) items.insert(items.end(), times, std::string(piece.text));
    bytes += times * piece.text.size();
  }
  return items;
}

std::string_view list_item(std::string_view list, uint32_t index) {
  uint64_t count = 0;
  for (std::string_view rest = list; !rest.empty();) {
    if (const Piece piece = take_piece(rest); !piece.text.empty()) count += piece.times;
  }
  uint64_t left = count == 0 ? 0 : index % count;
  while (!list.empty()) {
    const Piece piece = take_piece(list);
    if (piece.text.empty()) continue;
    if (left < piece.times) return piece.text;
    left -= piece.times;
  }
  return {};
}

std::vector<uint32_t> bits_of_mask(std::string_view mask) {
  if (mask.starts_with("0x") || mask.starts_with("0X")) mask.remove_prefix(2);
  std::vector<uint32_t> bits;
  uint32_t place = 0;
  for (auto digit = mask.rbegin(); digit != mask.rend() && place < kMostBits; ++digit, place += 4) {
    const auto value =
        std::string_view("0123456789abcdef")
            .find(static_cast<char>(*digit >= 'A' && *digit <= 'F' ? *digit + 32 : *digit));
    if (value == std::string_view::npos) return {};
    for (uint32_t bit = 0; bit < 4; ++bit) {
      if ((value >> bit & 1) != 0) bits.push_back(place + bit);
    }
  }
  return bits;
}

}  // namespace sluice::stepd
