// What was used so far, as far as it has not faded: durable, since no job tells it any more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/model/accounting.hpp"
#include "ctld/state/core/held.hpp"

namespace sluice::state {

struct TresSeconds {
  TresId id = 0;
  double seconds = 0;
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &TresSeconds::id);
    field(2, "seconds", &TresSeconds::seconds);
  }
};

struct Usage {
  uint32_t id = 0;                // of the association or QOS
  double raw = 0;                 // exact billing times seconds
  double wall = 0;                // seconds
  std::vector<TresSeconds> tres;  // by id
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &Usage::id);
    field(2, "raw", &Usage::raw);
    field(3, "wall", &Usage::wall);
    field(4, "tres", &Usage::tres);
  }
  // Seconds; 0: nothing.
  [[nodiscard]] double of(TresId tres_id) const;
};

// Of a record that is gone.
struct GoneUsageEntry {
  Usage usage;
  bool decays = true;  // false: of a QOS with NoDecay
  std::string parent;  // of an account: the one above it; empty: not known
};
using GoneUsages = std::map<std::string, GoneUsageEntry>;
// It goes on where a record of the name comes back.
struct GoneUsage {
  GoneUsages associations;  // by name_key()
  GoneUsages qos;           // in small letters
  [[nodiscard]] bool empty() const { return associations.empty() && qos.empty(); }
};

// So many seconds of what a job holds.
void add_run(Usage& usage, const JobCharge& charge, int64_t seconds);
// All that running jobs used and were not charged for; they are, then.
void add_running(Usage& usage, Held& held, int64_t until);
// What a part of it used.
void take_from(Usage& usage, const Usage& part);
// 0: it is forgotten.
void fade(Usage& usage, double factor);
// What has faded to less than a second is dropped.
void fade(GoneUsages& gone, double factor);

}  // namespace sluice::state
