#include "common/os/proc_stat.hpp"

#include "common/base/text.hpp"

namespace sluice {

std::vector<std::string> stat_fields(std::string_view stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return {};
  return split(trim(stat.substr(name_end + 1)), ' ');
}

}  // namespace sluice
