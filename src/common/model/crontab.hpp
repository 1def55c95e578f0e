// A user's crontab (scrontab): its text, and the job of each line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/describe.hpp"
#include "common/base/ids.hpp"

namespace sluice {

struct Crontab {
  uint32_t uid = 0;
  std::string text;
  std::vector<JobId> jobs;  // in the order of the lines
  template <class V>
  static void describe(V&& field) {
    field(1, "uid", &Crontab::uid);
    field(2, "text", &Crontab::text);
    field(3, "jobs", &Crontab::jobs);
  }
};
using Crontabs = std::map<uint32_t, Crontab>;

}  // namespace sluice
