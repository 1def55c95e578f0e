// Configuration files as they travel: a controller with SlurmctldParameters=enable_configless sends
// them to nodes and commands that have none of their own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice {

struct ConfigFile {
  std::string name;  // without a folder: "slurm.conf", "gres.conf"
  std::string text;
  bool operator==(const ConfigFile&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &ConfigFile::name);
    field(2, "text", &ConfigFile::text);
  }
};

inline constexpr std::string_view kMainConfigFile = "slurm.conf";
inline constexpr size_t kMostConfigFiles = 64;
inline constexpr size_t kMostConfigFileBytes = 16U << 20;
inline constexpr size_t kMostConfigBytes = 48U << 20;  // all files together; fits into one message

// Letters, digits, `_`, `-` and dots, with ".conf" at the end and no dot at the beginning: such a
// name leads out of no folder.
[[nodiscard]] bool is_config_file_name(std::string_view name);

// Whether files may be sent, or written where they arrive: slurm.conf among them, plain names, none
// twice, bounds kept. Errors: kInvalidConfig naming the file.
[[nodiscard]] Status check_config_files(const std::vector<ConfigFile>& files);

// The text of the file with this name; nullptr when there is none.
[[nodiscard]] const std::string* find_config_file(const std::vector<ConfigFile>& files,
                                                  std::string_view name);

}  // namespace sluice
