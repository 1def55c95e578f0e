#include "stepd/binding/bind_list.hpp"

#include <algorithm>

#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {
constexpr uint32_t kMostRepetitions = 4096;
}  // namespace

std::vector<std::string> list_items(std::string_view list) {
  std::vector<std::string> items;
  for (const std::string& piece : split_list(list)) {
    const size_t star = piece.find('*');
    const uint32_t times =
        star == std::string::npos
            ? 1
            : to_number<uint32_t>(std::string_view(piece).substr(star + 1)).value_or(1);
    if (items.size() >= kMostItems) break;
    items.insert(items.end(), std::min(times, kMostRepetitions), piece.substr(0, star));
  }
  return items;
}

std::string list_item(std::string_view list, uint32_t index) {
  const std::vector<std::string> items = list_items(list);
  return items.empty() ? std::string() : items[index % items.size()];
}

std::vector<uint32_t> bits_of_mask(std::string_view mask) {
  if (mask.starts_with("0x") || mask.starts_with("0X")) mask.remove_prefix(2);
  std::vector<uint32_t> bits;
  uint32_t place = 0;
  for (auto digit = mask.rbegin(); digit != mask.rend(); ++digit, place += 4) {
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
