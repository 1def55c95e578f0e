// See table_printer.hpp.
#include "cli/format/table_printer.hpp"

#include <unistd.h>

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

int repeat_every(unsigned seconds, const std::function<int()>& print) {
  while (true) {
    const int status = print();
    if (seconds == 0) return status;
    std::puts("");
    // nobody can read it any longer
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return status;
    sleep(seconds);
  }
}

bool is_order(const char* program, std::string_view sort, std::string_view letters) {
  const size_t wrong = sort.find_last_not_of(std::string(letters) + ",-+");
  if (wrong == std::string_view::npos) return true;
  std::fprintf(stderr, "%s: error: Invalid sort specification: %c\n", program, sort[wrong]);
  return false;
}

}  // namespace sluice::cli
