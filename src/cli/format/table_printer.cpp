// See table_printer.hpp.
#include "cli/format/table_printer.hpp"

#include <unistd.h>

#include "common/base/time_text.hpp"

namespace sluice::cli {

void print_date(Time now) { std::puts(format_time(now, kDayAndTime).c_str()); }

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
