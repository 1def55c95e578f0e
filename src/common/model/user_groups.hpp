// The groups of a user who has jobs, as the system named them last: AllowGroups is asked again when
// a job starts.
#pragma once

#include <cstdint>
#include <map>

#include "common/base/shared_text.hpp"

namespace sluice {

struct UserGroups {
  uint32_t uid = 0;
  SharedText groups;  // names, with commas between them
  template <class V>
  static void describe(V&& field) {
    field(1, "uid", &UserGroups::uid);
    field(2, "groups", &UserGroups::groups);
  }
};

using GroupsByUser = std::map<uint32_t, SharedText>;

}  // namespace sluice
