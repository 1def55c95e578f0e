// The keys of `scontrol update`: one row a key, which says what part of a JobUpdate or NodeUpdate
// its value sets. Keys may be shortened as long as they stay clear.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/model/job_update.hpp"
#include "common/model/node.hpp"

namespace sluice {

// What a relative value ("TimeLimit=+10") refers to, and the clock for "now+1hour".
struct UpdateBase {
  Time now = kNoTime;
  Minutes time_limit = 0;     // in force; of use when is_relative_limit() said so
  bool relative = false;      // written with += or -=, whose sign the value begins with
  std::string_view key = {};  // the key's own name, for errors
};

template <class Update>
struct UpdateKey {
  std::string_view name;
  // Null: the key is known and has no effect here. Errors carry the text to show.
  Status (*set)(std::string_view value, const UpdateBase& base, Update& update);
  // of a key without effect: what it belongs to, or where it is of use
  std::string_view subject = {};
};
using JobUpdateKey = UpdateKey<JobUpdate>;
using NodeUpdateKey = UpdateKey<NodeUpdate>;

[[nodiscard]] std::span<const JobUpdateKey> job_update_keys();
[[nodiscard]] std::span<const NodeUpdateKey> node_update_keys();

// Null when it is none, or several.
[[nodiscard]] const JobUpdateKey* find_job_update_key(std::string_view given);
[[nodiscard]] const NodeUpdateKey* find_node_update_key(std::string_view given);

// Whether the value adds to the limit in force, so that it has to be asked for first.
[[nodiscard]] bool is_relative_limit(const JobUpdateKey& key, std::string_view value,
                                     const UpdateBase& base);

}  // namespace sluice
