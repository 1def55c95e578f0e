#include "common/syntax/mpi_types.hpp"

#include <fmt/format.h>

namespace sluice {
namespace {

enum class Listed : uint8_t { kType, kVersion, kNot };

struct MpiType {
  std::string_view name;
  MpiKind kind;
  Listed listed;
};

constexpr MpiType kMpiTypes[] = {
    {"none", MpiKind::kNone, Listed::kType},       {"openmpi", MpiKind::kNone, Listed::kNot},
    {"pmi2", MpiKind::kPmi2, Listed::kType},       {"pmix", MpiKind::kPmix, Listed::kType},
    {"pmix_v4", MpiKind::kPmix, Listed::kVersion},
};

}  // namespace

std::optional<MpiKind> mpi_kind(std::string_view name) {
  if (name.empty()) return MpiKind::kNone;
  for (const MpiType& type : kMpiTypes) {
    if (type.name == name) return type.kind;
  }
  return std::nullopt;
}

std::string mpi_list() {
  std::string types = "MPI plugin types are...\n";
  std::string versions;
  for (const MpiType& type : kMpiTypes) {
    if (type.listed == Listed::kType) types += fmt::format("\t{}\n", type.name);
    if (type.listed == Listed::kVersion) {
      versions += fmt::format("{}{}", versions.empty() ? "" : ",", type.name);
    }
  }
  if (versions.empty()) return types;
  return types + fmt::format("specific pmix plugin versions available: {}\n", versions);
}

std::vector<std::string> unknown_mpi_errors(std::string_view name) {
  return {
      fmt::format("Couldn't find the specified plugin name for mpi/{} looking at all files", name),
      fmt::format("cannot find mpi plugin for mpi/{}", name),
      fmt::format("MPI: Cannot create context for mpi/{}", name), "MPI: Unable to load any plugin",
      fmt::format("Invalid MPI type '{}', --mpi=list for acceptable types", name)};
}

}  // namespace sluice
