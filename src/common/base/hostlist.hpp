// Slurm's host lists: `n[1-3,07],rack[0-1]n[01-04],login` to names and back.
//
// Commas (or blanks) separate entries; every bracket of an entry holds numbers and ranges, and
// several brackets give their product, the last one running fastest. A bracket must be followed by
// another part that ends in a bracket or by nothing, as in Slurm (`n[1]x` is refused). Zero padding
// is kept: `n[08-10]` is n08, n09, n10. Duplicates are kept.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice {

inline constexpr size_t kMaxHostsInRange = 65536;  // of one `a-b`, as in Slurm
inline constexpr size_t kMaxHosts = 1U << 18;      // of one whole expression

// The names, in the order written. kInvalidNodeName ("Invalid hostlist: TEXT") when `text` is
// malformed or larger than the limits above. An empty text gives an empty list.
[[nodiscard]] Result<std::vector<std::string>> expand_hosts(std::string_view text);

// How many names `text` has, without making them.
[[nodiscard]] Result<size_t> count_hosts(std::string_view text);

// The entries of a list, brackets left as they are: `n[1,2],m` is {`n[1,2]`, `m`}.
[[nodiscard]] std::vector<std::string> split_hosts(std::string_view text);

// Neighbours that follow each other become ranges; order and duplicates stay
// (`scontrol show hostlist`): n1 n2 n4 m gives `n[1-2,4],m`.
[[nodiscard]] std::string fold_hosts(const std::vector<std::string>& names);

// As fold_hosts() of the sorted names (`scontrol show hostlistsorted`); duplicates stay.
[[nodiscard]] std::string fold_hosts_sorted(const std::vector<std::string>& names);

// Slurm's order of names: by the text before the last number, then by that number's digits and
// value, so that n9 comes before n10.
[[nodiscard]] bool host_less(std::string_view a, std::string_view b);
void sort_hosts(std::vector<std::string>& names);

}  // namespace sluice
