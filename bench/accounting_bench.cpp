// accounting_bench [JOBS [DAYS [SLURMDBD.CONF]]]: what the accounting daemon's database takes and
// gives.
//
// JOBS jobs (1,000,000) in DAYS days (90) of a hundred users, each with one step, are taken in as a
// controller sends them: submitted, started and ended, in batches of 4000 records, each durable.
// Then the last day of one user is asked for, and one job by its number, and the usage of all days
// is summed up. The database is a file of SQLite, or the empty one of slurmdbd.conf's Storage*;
// `tests/system/databases.py sh -c 'accounting_bench 100000 1 $SLUICE_TEST_MARIADB'` starts servers
// (also SLUICE_TEST_POSTGRESQL).
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/text.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/instances.hpp"
#include "dbd/config/dbd_config.hpp"
#include "dbd/history/ingest.hpp"
#include "dbd/history/query.hpp"
#include "dbd/store/usage_store.hpp"

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace): a program's main file
using Clock = std::chrono::steady_clock;

constexpr size_t kBatch = 4000;
constexpr uint32_t kUsers = 100;
constexpr int64_t kDay = 86400;
constexpr int64_t kFirstSecond = 1'700'006'400;  // a midnight

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

JobHistory job_of(uint32_t number, uint32_t jobs, int64_t span) {
  JobHistory job;
  job.id = number + 1;
  job.uid = 1000 + number % kUsers;
  job.gid = 100;
  job.user = "user" + std::to_string(job.uid);
  job.group = "users";
  job.name = "simulation-" + std::to_string(number % 1000);
  job.account = "account" + std::to_string(number % 20);
  job.partition = "batch";
  job.qos = "normal";
  job.submit_line = "sbatch --nodes=2 --ntasks=64 --time=12:00:00 run.sh input-" + job.name;
  job.work_dir = "/home/" + job.user + "/project/runs/" + job.name;
  job.std_out = "slurm-%j.out";
  job.submit = job.eligible =
      from_seconds(kFirstSecond + static_cast<int64_t>(number) * span / jobs);
  job.time_limit = 720;
  job.requested_cpus = 64;
  job.requested_nodes = 2;
  job.requested_memory_mib = 128'000;
  job.requested_tres = {{"billing", 64}, {"cpu", 64}, {"mem", 128'000}, {"node", 2}};
  return job;
}

void start(JobHistory& job) {
  job.state = JobState::kRunning;
  job.start = job.submit + std::chrono::minutes(5);
  job.allocated_tres = job.requested_tres;
  job.nodes = "node[17-18]";
  job.node_count = 2;
  job.cpus = 64;
}

StepHistory step_of(const JobHistory& job) {
  StepHistory step;
  step.id = {job.id, kBatchStep};
  step.job_submit = job.submit;
  step.name = "batch";
  step.nodes = "node17";
  step.node_count = step.tasks = 1;
  step.cpus = 32;
  step.start = job.start;
  step.allocated_tres = {{"cpu", 32}, {"mem", 64'000}, {"node", 1}};
  return step;
}

class Sender {
 public:
  explicit Sender(dbd::Database& database) : database_(database) {
    request_.cluster = "bench";
    request_.stream = "stream";
  }
  void add(const HistoryRecord& record) {
    request_.records.push_back(wire::encode(record));
    if (request_.records.size() >= kBatch) send();
  }
  void send() {
    const auto stored = dbd::store_history(database_, request_, from_seconds(kFirstSecond));
    if (!stored) {
      std::fprintf(stderr, "%s\n", stored.error().text.c_str());
      std::exit(1);
    }
    request_.first = stored->last + 1;
    request_.records.clear();
  }

 private:
  dbd::Database& database_;
  protocol::StoreHistoryRequest request_;
};

void fill(dbd::Database& database, uint32_t jobs, int64_t span) {
  Sender sender(database);
  ClusterHistory cluster;
  cluster.time = from_seconds(kFirstSecond);
  cluster.tres = {{"billing", 64'000}, {"cpu", 64'000}, {"mem", 256'000'000}, {"node", 1000}};
  sender.add({.cluster = std::make_shared<const ClusterHistory>(cluster)});
  const auto begin = Clock::now();
  for (uint32_t number = 0; number < jobs; ++number) {
    JobHistory job = job_of(number, jobs, span);
    sender.add({.job = std::make_shared<const JobHistory>(job)});
    start(job);
    StepHistory step = step_of(job);
    sender.add({.job = std::make_shared<const JobHistory>(job)});
    sender.add({.step = std::make_shared<const StepHistory>(step)});
    job.state = JobState::kCompleted;
    job.end = step.end = job.start + std::chrono::hours(1);
    step.state = StepState::kCompleted;
    step.usage.tasks = 1;
    step.usage.memory.max = step.usage.memory.total = uint64_t{7} << 30;
    sender.add({.step = std::make_shared<const StepHistory>(step)});
    sender.add({.job = std::make_shared<const JobHistory>(job)});
    if ((number + 1) % (jobs / 10) == 0)
      std::printf("%u jobs: %.0f ends a second\n", number + 1, (number + 1) / seconds_since(begin));
  }
  sender.send();
  std::printf("in all %.0f job ends a second (each with 3 records of the job, 2 of a step)\n",
              jobs / seconds_since(begin));
}

void ask(const dbd::Database& database, const char* what,
         const protocol::QueryHistoryRequest& request) {
  for (int turn = 0; turn < 3; ++turn) {
    const auto begin = Clock::now();
    auto filter = history::Filter::make(request);
    dbd::HistoryQuery query(database, std::move(*filter));
    size_t jobs = 0;
    for (auto chunk = query.next(kNoTime); chunk && *chunk; chunk = query.next(kNoTime))
      jobs += (*chunk)->jobs.size();
    std::printf("%s: %zu jobs in %.1f ms\n", what, jobs, seconds_since(begin) * 1e3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const uint32_t jobs = argc > 1 ? to_number<uint32_t>(argv[1]).value_or(0) : 1'000'000;
  const uint32_t days = argc > 2 ? to_number<uint32_t>(argv[2]).value_or(0) : 90;
  if (jobs < 10 || days == 0)
    return std::fprintf(stderr, "usage: accounting_bench [JOBS [DAYS [SLURMDBD.CONF]]]\n"), 1;
  const std::filesystem::path folder = "accounting_bench.tmp";
  std::filesystem::create_directory(folder);
  {
    Result<dbd::Storage> storage =
        dbd::sqlite_file(std::filesystem::absolute(folder / "accounting.db"));
    if (argc > 3) {
      const auto config = dbd::load_dbd_config(argv[3]);
      if (!config) return std::fprintf(stderr, "%s\n", config.error().text.c_str()), 1;
      storage = dbd::storage_of(*config);
    }
    if (!storage) return std::fprintf(stderr, "%s\n", storage.error().text.c_str()), 1;
    auto database = dbd::Database::open(*storage);
    if (!database) return std::fprintf(stderr, "%s\n", database.error().text.c_str()), 1;
    const int64_t span = days * kDay;
    fill(**database, jobs, span);
    protocol::QueryHistoryRequest day;
    day.uids = {1042};
    day.from = from_seconds(kFirstSecond + span - kDay);
    ask(**database, "a user's last day", day);
    protocol::QueryHistoryRequest one;
    one.jobs = {{.job = jobs / 2}};
    ask(**database, "one job", one);
    const auto begin = Clock::now();
    const Status rolled = dbd::roll_up(**database, from_seconds(kFirstSecond + span));
    if (!rolled) return std::fprintf(stderr, "%s\n", rolled.error().text.c_str()), 1;
    std::printf("rollup of %u day(s): %.3f s\n", days, seconds_since(begin));
  }
  std::filesystem::remove_all(folder);
  return 0;
}
