// Accounts, users, associations, QOS, TRES and wckeys of a slurmdbd's database. Ids stay as they
// are where they are free; what is there by name already keeps its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dbd/entities/entities.hpp"
#include "dbd/import/import.hpp"
#include "dbd/import/source.hpp"

namespace sluice::dbd {

// What texts of the source's tables mean.
struct SourceNames {
  std::map<uint32_t, std::string> tres;  // "cpu", "gres/gpu"
  std::map<uint32_t, std::string> qos;
  // by cluster, of associations: account and user
  std::map<std::string, std::map<uint32_t, std::pair<std::string, std::string>>> associations;
};

// Reads the entities of these clusters into `entities`.
void import_entities(Session& source, const std::vector<std::string>& clusters, Entities& entities,
                     ImportCounts& counts);
[[nodiscard]] SourceNames read_names(Session& source, const std::vector<std::string>& clusters);

// "1=2,2=200": numbers that mean "none" are left out.
[[nodiscard]] std::vector<std::pair<uint32_t, uint64_t>> parse_amounts(const std::string& text);

}  // namespace sluice::dbd
