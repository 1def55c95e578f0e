// `sluicedbd import SLURMDBD.CONF`.
#pragma once

#include <string>

#include "dbd/config/dbd_config.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace sluice::dbd {

// `source`: the slurmdbd.conf that says where the other database is.
CLI::App* add_import(CLI::App& app, std::string& source);

// Into the database of `config`, whose daemon is not to run; gives the exit status. Says on the
// standard output what was read, and on the standard error what is wrong.
[[nodiscard]] int run_import(const DbdConfig& config, const std::string& source);

}  // namespace sluice::dbd
