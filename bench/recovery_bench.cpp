// How long a restart takes with a queue of JOBS pending jobs: taking a checkpoint, loading it, and
// replaying the submissions instead.
//
//   recovery_bench DIR [JOBS]
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "ctld/journal/blob_key.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/journal/recovery.hpp"
#include "ctld/journal/sqlite_store.hpp"
#include "ctld/state/apply.hpp"

namespace {

using namespace sluice;           // NOLINT(google-build-using-namespace)
using namespace sluice::journal;  // NOLINT(google-build-using-namespace)

template <class F>
auto timed(const char* what, F&& work) {
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{:<34} {:>8.3f} s\n", what, took.count());
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().text);
    std::exit(EXIT_FAILURE);
  }
  return result;
}

state::Events submission(JobId id) {
  auto spec = std::make_shared<JobSpec>();
  spec->uid = 1000;
  spec->name = "sweep";
  spec->batch = true;
  spec->work_dir = "/home/user/project";
  spec->submit_line = "sbatch --time=10 job.sh";
  spec->environment_blob = blob_key(fmt::format("{}", id));
  Job job;
  job.id = id;
  job.spec = std::move(spec);
  job.submit = from_seconds(1'800'000'000);
  job.partition = "main";
  return {state::JobSubmitted{std::move(job)}};
}

Status fill(SqliteStore& store, state::ClusterState& state, uint32_t jobs) {
  for (JobId id = 1; id <= jobs;) {
    FrameGroup group;
    for (int i = 0; i < 1000 && id <= jobs; ++i, ++id) {
      const state::Events events = submission(id);
      group.frames.push_back(encode_frame(id, from_seconds(1'800'000'000), events));
      for (const state::Event& event : events) state::apply(state, event);
    }
    const Result<Sequence> done = store.append(group);
    if (!done) return tl::unexpected(done.error());
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: recovery_bench DIR [JOBS]\n");
    return EXIT_FAILURE;
  }
  const uint32_t jobs = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 100'000;
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(argv[1]);
  if (!store || (*store)->last_sequence().value() != 0) {
    fmt::print(stderr, "{}\n", store ? "the folder must be empty" : store.error().text);
    return EXIT_FAILURE;
  }
  state::ClusterState state;
  timed("submit and journal", [&] { return fill(**store, state, jobs); });
  timed("recover by replay", [&] { return recover(**store); });
  const auto checkpoint = timed("encode a checkpoint", [&]() -> Result<Checkpoint> {
    return make_checkpoint(state, jobs, from_seconds(1'800'000'000));
  });
  fmt::print("{:<34} {:>8} bytes a job\n", "", checkpoint->bytes.size() / jobs);
  timed("write it", [&] { return (*store)->checkpoint(*checkpoint); });
  timed("recover by checkpoint", [&] { return recover(**store); });
  return EXIT_SUCCESS;
}
