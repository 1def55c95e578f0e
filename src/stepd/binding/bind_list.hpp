// The lists of --cpu-bind and --gpu-bind: "map_cpu:0,2", "mask_gpu:0x3,0xc".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::stepd {

// more than tasks of a node, and than masks of them need; the rest of a list is not read
inline constexpr size_t kMostItems = 1U << 16, kMostItemBytes = 4U << 20;
// What users may write as such a list; each task of a node reads it.
inline constexpr size_t kMostListBytes = 256U << 10;

// The items of a list; "0*4" stands for four.
[[nodiscard]] std::vector<std::string> list_items(std::string_view list);
// The item of a list that is `index`'s, going round when the list is short.
[[nodiscard]] std::string_view list_item(std::string_view list, uint32_t index);
// Numbers of the bits of a hexadecimal mask, up to 65535; nothing when it is none.
[[nodiscard]] std::vector<uint32_t> bits_of_mask(std::string_view mask);

}  // namespace sluice::stepd
