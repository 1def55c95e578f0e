// sluice_schema DIR: writes the .proto files that describe what travels and what is journaled.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "ctld/tools/schema_files.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: sluice_schema DIR\n");
    return EXIT_FAILURE;
  }
  const std::filesystem::path folder = argv[1];
  for (const auto& [name, text] : sluice::schema_files()) {
    std::ofstream out(folder / name);
    out << text;
    out.close();
    if (!out) {
      fmt::print(stderr, "sluice_schema: cannot write {}\n", (folder / name).string());
      return EXIT_FAILURE;
    }
  }
  return EXIT_SUCCESS;
}
