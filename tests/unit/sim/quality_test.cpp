// The simulator, with the real scheduler in it, against a reference of EASY and of conservative
// backfill: mean bounded slowdown and utilisation differ by less than 1 %.
#include <gtest/gtest.h>

#include "sim/report/figures.hpp"
#include "sim/trace/lublin.hpp"
#include "unit/sim/machine.hpp"
#include "unit/sim/reference.hpp"

namespace sluice::sim {
namespace {

constexpr uint32_t kNodes = 32, kJobs = 300;

Trace load_of(double load, RequestedTime how, uint64_t seed) {
  Trace trace = lublin_load(kJobs, kNodes, seed);
  set_requested_times(trace, how, seed);
  scale_to_load(trace, load, kNodes);
  return trace;
}

struct Quality {
  double slowdown = 0, utilisation = 0;
};

Quality of_reference(const Trace& trace, size_t most_planned) {
  std::vector<ReferenceJob> jobs;
  for (const TraceJob& job : trace.jobs)
    jobs.push_back({job.submit_s, job.run_s, int64_t{limit_minutes(job)} * 60, job.cpus});
  Quality made;
  int64_t end = 0;
  double work = 0;
  jobs = Reference(jobs, kNodes, most_planned).run();
  for (const ReferenceJob& job : jobs) {
    const auto run = static_cast<double>(job.run);
    const auto response = static_cast<double>(job.start + job.run - job.submit);
    made.slowdown += std::max(1.0, response / std::max(run, 10.0)) / kJobs;
    end = std::max(end, job.start + job.run);
    work += run * job.nodes;
  }
  made.utilisation = work / (static_cast<double>(end) * kNodes);
  return made;
}

Quality of_simulator(const Trace& trace, uint32_t most_planned) {
  SimOptions options;
  options.budget = [&](const ClusterConfig& config, bool all) {
    sched::WorkBudget budget = engine::budget_of_pass(config, all);
    budget.most_planned = most_planned;
    return budget;
  };
  const SimResult result = simulate(machine(kNodes, 1), trace, std::move(options));
  const Figures figures = make_figures(result);
  EXPECT_EQ(figures.ended, kJobs);
  EXPECT_EQ(figures.slowdown.count, kJobs);
  return {figures.slowdown.mean, figures.utilisation};
}

void compare(uint32_t most_planned) {
  for (const double load : {0.70, 0.85, 0.95}) {
    for (const RequestedTime how : {RequestedTime::kExact, RequestedTime::kFactor}) {
      const Trace trace = load_of(load, how, 11);
      const Quality wanted = of_reference(trace, most_planned);
      const Quality got = of_simulator(trace, most_planned);
      SCOPED_TRACE(testing::Message()
                   << "load " << load << (how == RequestedTime::kExact ? ", exact" : ", factor"));
      EXPECT_NEAR(got.slowdown, wanted.slowdown, wanted.slowdown / 100);
      EXPECT_NEAR(got.utilisation, wanted.utilisation, wanted.utilisation / 100);
      EXPECT_GT(wanted.slowdown, 1) << "somebody has to wait, or nothing is compared";
    }
  }
}

TEST(Quality, ConservativeBackfillIsTheReferences) { compare(UINT32_MAX); }
TEST(Quality, EasyBackfillIsTheReferences) { compare(1); }

}  // namespace
}  // namespace sluice::sim
