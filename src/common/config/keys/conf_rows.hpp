// How the rows of the tables of keys begin.
#pragma once

#include <string_view>

#include "common/config/keys/conf_keys.hpp"

namespace sluice::tables {

// key("SlurmdPort", ConfKind::kNumber, "6818") of slurm.conf, key<MpiConfig>(…) of another file.
template <class Target = ClusterConfig>
constexpr ConfKey<Target> key(std::string_view name, ConfKind kind,
                              std::string_view fallback = {}) {
  return ConfKey<Target>{.name = name, .kind = kind, .fallback = fallback};
}

}  // namespace sluice::tables
