// The files of proto/: what travels between the programs and what the journal holds.
#pragma once

#include <map>
#include <string>

namespace sluice {

// File name to content.
[[nodiscard]] std::map<std::string, std::string> schema_files();

}  // namespace sluice
