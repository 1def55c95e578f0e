// How many groups and frames a second the journal makes durable.
//
//   journal_bench DIR [SECONDS]
//
// Each line: groups in flight, frames a group, then durable groups and frames a second. A frame is
// as large as a submission's (300 bytes) and brings an environment of its own (2 KiB).
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include <fmt/format.h>

#include "ctld/journal/blob_key.hpp"
#include "ctld/journal/group_commit.hpp"
#include "ctld/journal/sqlite_store.hpp"

namespace {

using namespace sluice;           // NOLINT(google-build-using-namespace)
using namespace sluice::journal;  // NOLINT(google-build-using-namespace)

FrameGroup make_group(Sequence& sequence, size_t frames) {
  FrameGroup group;
  for (size_t i = 0; i < frames; ++i) {
    group.frames.push_back({++sequence, 0, Time{}, std::string(300, 'f')});
    std::string environment = fmt::format("SLURM_SUBMIT={}", sequence);
    environment.resize(2048, 'e');
    std::string key = blob_key(environment);
    group.blobs.push_back({std::move(key), std::move(environment)});
  }
  return group;
}

void measure(JournalStore& store, Sequence& sequence, size_t in_flight, size_t frames,
             std::chrono::seconds length) {
  std::mutex mutex;
  std::condition_variable changed;
  size_t flying = 0;
  size_t groups = 0;
  const auto start = std::chrono::steady_clock::now();
  GroupCommit journal(store);
  while (std::chrono::steady_clock::now() - start < length) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return flying < in_flight; });
      ++flying;
    }
    journal.submit(make_group(sequence, frames), [&](const Result<Sequence>& done) {
      if (!done) std::exit(EXIT_FAILURE);
      const std::lock_guard lock(mutex);
      --flying;
      ++groups;
      changed.notify_one();
    });
  }
  journal.stop();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const double rate = static_cast<double>(groups) / took.count();
  fmt::print("{:>10} {:>13} {:>12.0f} {:>12.0f}\n", in_flight, frames, rate,
             rate * static_cast<double>(frames));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: journal_bench DIR [SECONDS]\n");
    return EXIT_FAILURE;
  }
  const std::chrono::seconds length(argc > 2 ? std::atoi(argv[2]) : 3);
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(argv[1]);
  if (!store) {
    fmt::print(stderr, "{}\n", store.error().text);
    return EXIT_FAILURE;
  }
  Sequence sequence = (*store)->last_sequence().value();
  fmt::print("{:>10} {:>13} {:>12} {:>12}\n", "in flight", "frames/group", "groups/s", "frames/s");
  for (const auto& [in_flight, frames] :
       {std::pair<size_t, size_t>{1, 1}, {16, 1}, {256, 1}, {4, 64}}) {
    measure(**store, sequence, in_flight, frames, length);
  }
  return EXIT_SUCCESS;
}
