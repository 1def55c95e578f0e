// A load to be simulated: jobs with what they ask for and how long they run, whatever file or model
// they come from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/job_spec.hpp"

namespace sluice {
struct Reservation;
}

namespace sluice::sim {

struct TraceJob {
  std::string id;        // as its source calls it
  int64_t submit_s = 0;  // since the trace's beginning
  int64_t run_s = 0;
  int64_t limit_s = 0;  // what it asks for; 0: not told
  uint32_t cpus = 1;
  uint32_t nodes = 0;  // so many at least; 0: any number
  MemoryKind memory_kind = MemoryKind::kDefault;
  uint64_t memory_mib = 0;
  std::string user;
  std::string account;
  std::string partition;
  std::string constraint;
  std::string gres;  // of the whole job: "gpu:2"
  // all that it asks for, where its source knows it; null: what stands above
  std::shared_ptr<const JobSpec> spec;
  bool ends_at_limit = false;  // its run time is not known: it runs to its time limit
  std::string reservation;     // names, of which those are looked at that are there
  std::string dependency;      // as --dependency takes it, with the trace's ids
  // the job whose end it is submitted so long after, whatever `submit_s` says; empty: none
  std::string preceding;
  int64_t think_s = 0;
  // of the first component of a heterogeneous job: how many they are, the others follow it; else 0
  uint32_t components = 0;
};

// One that a controller knows.
struct TraceReservation {
  std::shared_ptr<const Reservation> reservation;
  std::map<uint32_t, std::string> nodes;  // names of its NodeIds
  std::vector<std::string> people;        // users in its list, by name
};

struct Trace {
  std::string name;
  Time begin = from_seconds(978'307'200);  // where it does not say: Monday, 2001-01-01, UTC
  std::vector<TraceJob> jobs;              // in the order of submission
  uint64_t passed_over = 0;  // records of which nothing can be simulated: no size, never run
  std::vector<TraceReservation> reservations = {};
};

// Finds heterogeneous jobs: 12+0 and what follows it as 12+1, 12+2 and so on. A component without
// those before it is passed over. After sort_by_submission().
void join_components(Trace& trace);

// Stable, so that jobs of one second keep their order; the first is submitted at 0 then.
void sort_by_submission(Trace& trace);

// What jobs use in all, where none runs longer than its limit: CPU seconds.
[[nodiscard]] double work_of(const Trace& trace);
// work_of() as a share of what so many CPUs give between the first submission and the last.
[[nodiscard]] double offered_load(const Trace& trace, uint64_t cpus);
// Stretches or squeezes the times between submissions until offered_load() is `load`.
void scale_to_load(Trace& trace, double load, uint64_t cpus);

enum class RequestedTime {
  kTrace,   // as the trace has it; where it has none, the run time
  kExact,   // the run time
  kFactor,  // the run time times a number between 1 and 5, seeded
};
void set_requested_times(Trace& trace, RequestedTime how, uint64_t seed);
// Limits are whole minutes, one at least.
[[nodiscard]] Minutes limit_minutes(const TraceJob& job);

}  // namespace sluice::sim
