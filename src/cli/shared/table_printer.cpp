// See table_printer.hpp.
#include "cli/shared/table_printer.hpp"

#include <ctime>

namespace sluice::cli {

void print_date(Time now) {
  const auto seconds = static_cast<time_t>(to_seconds(now));
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y", &parts);
  std::puts(text);
}

}  // namespace sluice::cli
