// `sluicedbd import SLURMDBD.CONF` and `sluicedbd copy SLURMDBD.CONF`: what another database has
// comes into the own one.
#pragma once

#include <string>

#include "dbd/config/dbd_config.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace sluice::dbd {

struct TakeOver {
  CLI::App* import = nullptr;  // of a slurmdbd's database
  CLI::App* copy = nullptr;    // of one of this daemon's own kind
  std::string source;          // the slurmdbd.conf that says where the other database is
  [[nodiscard]] bool is_asked() const;
};
void add_take_over(CLI::App& app, TakeOver& asked);

// Into the database of `config`, whose daemon is not to run; gives the exit status. Says on the
// standard output what was read, and on the standard error what is wrong.
[[nodiscard]] int run_take_over(const DbdConfig& config, const TakeOver& asked);

}  // namespace sluice::dbd
