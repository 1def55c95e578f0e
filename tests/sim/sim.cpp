// The simulation of the core: many seeds, each a cluster's life with faults; every event and fault
// must be reached, and planted faults must be seen.
//
//   sim [--seeds N] [--events N] [--first SEED] [--jobs N]      a failing seed is printed with the
//                                                               arguments that repeat it
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "world.hpp"

namespace sluice::sim {
namespace {

struct Arguments {
  uint64_t seeds = 700, events = 10'000, first = 1, jobs = 2;
};

struct Totals {
  std::mutex mutex;
  uint64_t events = 0, done = 0, failed = 0;
  std::map<std::string, uint64_t> event_counts;
  std::map<Fault, uint64_t> fault_counts;
};

void add(Totals& totals, uint64_t seed, const Outcome& outcome, const Arguments& arguments) {
  const std::lock_guard lock(totals.mutex);
  totals.events += outcome.events;
  for (const auto& [name, number] : outcome.event_counts) totals.event_counts[name] += number;
  for (const auto& [fault, number] : outcome.fault_counts) totals.fault_counts[fault] += number;
  if (++totals.done % 100 == 0) {
    std::printf("%llu seeds\n", static_cast<unsigned long long>(totals.done));
    std::fflush(stdout);
  }
  if (outcome.problems.empty()) return;
  ++totals.failed;
  std::printf(
      "seed %llu failed after %llu events (repeat: sim --first %llu --seeds 1 --events %llu)\n",
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(outcome.events),
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(arguments.events));
  for (const std::string& problem : outcome.problems) std::printf("  %s\n", problem.c_str());
}

void run_seeds(Totals& totals, std::atomic<uint64_t>& next, const Arguments& arguments) {
  for (uint64_t seed = next++; seed < arguments.first + arguments.seeds; seed = next++) {
    const WorldOptions options{
        .seed = seed, .events = arguments.events, .real_scheduler = seed % 4 == 0};
    add(totals, seed, World(options).run(), arguments);
    if (totals.failed >= 5) return;
  }
}

template <size_t I = 0, class Visit>
void for_each_event_name(Visit&& visit) {
  if constexpr (I < std::variant_size_v<state::AnyEvent>) {
    visit(std::variant_alternative_t<I, state::AnyEvent>::kName);
    for_each_event_name<I + 1>(visit);
  }
}

// What was never reached, as a number of complaints.
int missing(const Totals& totals, bool print) {
  int count = 0;
  for_each_event_name([&](const char* name) {
    const auto at = totals.event_counts.find(name);
    const uint64_t number = at == totals.event_counts.end() ? 0 : at->second;
    if (print) std::printf("  %-22s %llu\n", name, static_cast<unsigned long long>(number));
    if (number == 0) std::printf("never reached: event %s\n", name), ++count;
  });
  for (size_t i = 0; i < static_cast<size_t>(Fault::kCount); ++i) {
    const auto fault = static_cast<Fault>(i);
    const auto at = totals.fault_counts.find(fault);
    const uint64_t number = at == totals.fault_counts.end() ? 0 : at->second;
    if (print)
      std::printf("  %-22s %llu\n", fault_name(fault), static_cast<unsigned long long>(number));
    if (number == 0) std::printf("never reached: fault %s\n", fault_name(fault)), ++count;
  }
  return count;
}

// How many planted faults went unseen.
int unseen_plants(uint64_t events) {
  int count = 0;
  for (auto plant = Plant::kTwoJobsOnCores; plant < Plant::kCount;
       plant = static_cast<Plant>(static_cast<int>(plant) + 1)) {
    const std::string complaint = complaint_about(plant);
    bool seen = false;
    // seeds whose scheduler is the real one, which grants what is asked for
    for (uint64_t seed = 4; seed < 160 && !seen; seed += 4) {
      const Outcome outcome =
          World({.seed = seed, .events = events, .real_scheduler = true, .plant = plant}).run();
      seen = std::ranges::any_of(outcome.problems, [&](const std::string& problem) {
        return problem.find(complaint) != std::string::npos;
      });
    }
    if (!seen) std::printf("a planted fault was not seen: \"%s\"\n", complaint.c_str()), ++count;
  }
  return count;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  arguments.jobs = std::max(1U, std::thread::hardware_concurrency());
  for (int i = 1; i + 1 < argc; i += 2) {
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seeds") == 0) arguments.seeds = value;
    else if (std::strcmp(argv[i], "--events") == 0) arguments.events = value;
    else if (std::strcmp(argv[i], "--first") == 0) arguments.first = value;
    else if (std::strcmp(argv[i], "--jobs") == 0) arguments.jobs = value;
    else std::printf("unknown option %s\n", argv[i]), std::exit(2);
  }
  return arguments;
}

int run(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const auto start = std::chrono::steady_clock::now();
  Totals totals;
  std::atomic<uint64_t> next = arguments.first;
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < arguments.jobs; ++i) {
    threads.emplace_back([&] { run_seeds(totals, next, arguments); });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu seeds, %llu events in %.1f s\n", static_cast<unsigned long long>(totals.done),
              static_cast<unsigned long long>(totals.events), seconds);
  if (totals.failed > 0) return 1;
  if (arguments.seeds < 20) return 0;  // a look at single seeds
  const int unseen = unseen_plants(std::min<uint64_t>(arguments.events, 4000));
  return missing(totals, true) == 0 && unseen == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sluice::sim

int main(int argc, char** argv) { return sluice::sim::run(argc, argv); }
