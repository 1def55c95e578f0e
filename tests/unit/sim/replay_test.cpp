// What a trace says beside its jobs: reservations, what jobs depend on or follow, components.
#include "sim/report/text.hpp"
#include "sim/run/reservation_lines.hpp"
#include "unit/sim/machine.hpp"

namespace sluice::sim {
namespace {

using Starts = std::vector<int64_t>;

SimOptions with_reservations(const std::string& lines, const Trace& trace) {
  SimOptions options;
  auto read = parse_reservations(lines, "file", trace.begin);
  EXPECT_TRUE(read) << (read ? "" : read.error().text);
  if (read) options.reservations = std::move(*read);
  return options;
}

TEST(Replay, JobsGoRoundAReservation) {
  const Trace trace = trace_of({{0, 300, 4, 600}, {0, 300, 4, 1200}, {0, 100, 4, 600}});
  const SimOptions options = with_reservations(
      "# two nodes, of which one is kept\n"
      "scontrol create reservation ReservationName=r StartTime=now+10minutes Duration=10 "
      "Nodes=n1 Users=somebody  # for ten minutes\n",
      trace);
  const SimResult result = simulate(machine(2, 4), trace, options);
  EXPECT_TRUE(result.refused_reservations.empty());
  EXPECT_EQ(starts_of(result), (Starts{0, 0, 300}));
  const auto node_of = [&](uint32_t job) {
    for (const SimRun& run : result.runs) {
      if (run.job == job) return result.nodes[run.nodes.front().node].name;
    }
    return std::string();
  };
  EXPECT_EQ(node_of(1), "n2") << "it might last until the reservation has begun";
  EXPECT_EQ(csv_text(result), csv_text(simulate(machine(2, 4), trace, options)));
}

TEST(Replay, JobsOfAReservationWaitForIt) {
  Trace trace = trace_of({{0, 30, 4, 60}, {0, 60, 4, 60}, {0, 60, 4, 60}});
  trace.jobs[0].user = "ann";
  trace.jobs[0].reservation = "r";
  trace.jobs[2].reservation = "nosuch";
  const SimOptions options = with_reservations(
      "ReservationName=r StartTime=now+20minutes Duration=10 Nodes=n1 Users=ann\n"
      "ReservationName=m StartTime=now+1hour Duration=10 Nodes=n1 Users=ann Flags=DAILY\n",
      trace);
  const SimResult result = simulate(machine(1, 4), trace, options);
  EXPECT_EQ(starts_of(result), (Starts{1200, 0, 60}));
  EXPECT_EQ(result.jobs[0].state, JobState::kCompleted);
}

// The reservation comes again each day, and the job never fits.
TEST(Replay, EndsThoughAReservationNeverDoes) {
  const Trace trace = trace_of({{0, 10, 9}});
  const SimOptions options = with_reservations(
      "ReservationName=m StartTime=now Duration=10 Nodes=n1 Users=ann Flags=DAILY\n", trace);
  EXPECT_EQ(starts_of(simulate(machine(1, 4), trace, options)), Starts{-1});
}

TEST(Replay, ReservationsThatCannotBeAreTold) {
  const Trace trace = trace_of({{0, 10, 1}});
  const auto text_of = [&](const std::string& lines) {
    const auto read = parse_reservations(lines, "file", trace.begin);
    return read ? std::string() : read.error().text;
  };
  EXPECT_EQ(text_of("\nNodes=n1 Users=a Duration=5\n"), "file:2: A start time must be given.");
  EXPECT_EQ(text_of("what\n"), "file:1: \"what\" is no KEY=VALUE");
  const SimOptions options =
      with_reservations("ReservationName=r StartTime=now Duration=10 Nodes=n7 Users=ann\n", trace);
  const SimResult result = simulate(machine(1, 4), trace, options);
  ASSERT_EQ(result.refused_reservations.size(), 1U);
  EXPECT_EQ(result.refused_reservations[0].substr(0, 3), "r: ");
}

TEST(Replay, ReservationsOfAStateAreTakenOver) {
  Trace trace = trace_of({{0, 300, 4, 600}, {0, 30, 4, 60}});
  Reservation reservation;
  reservation.name = "r";
  reservation.start = trace.begin + std::chrono::minutes(5);
  reservation.end = trace.begin + std::chrono::minutes(15);
  reservation.users = "ann";
  reservation.uids = {77};
  TraceReservation known;
  known.reservation = std::make_shared<const Reservation>(reservation);
  known.nodes = {{41, "n1"}, {42, "gone"}};
  known.people = {"ann"};
  trace.reservations = {known};
  trace.jobs[1].user = "ann";
  trace.jobs[1].reservation = "r";
  EXPECT_EQ(starts_of(simulate(machine(1, 4), trace)), (Starts{900, 300}));
}

// The think time begins when the preceding job ends here, not where the trace was made.
TEST(Replay, AFollowerIsSubmittedAfterItsPrecedingJob) {
  Trace trace = trace_of({{0, 100, 4}, {0, 100, 4}, {50, 10, 1}, {1000, 10, 1}});
  trace.jobs[2].preceding = "2";
  trace.jobs[2].think_s = 30;
  trace.jobs[3].preceding = "3";
  const SimResult result = simulate(machine(1, 4), trace);
  ASSERT_EQ(result.jobs.size(), 4U);
  EXPECT_EQ(since(result, result.jobs[2].submit), 230);
  EXPECT_EQ(since(result, result.jobs[3].submit), 240);
  EXPECT_EQ(starts_of(result), (Starts{0, 100, 230, 240}));
}

TEST(Replay, WhoFollowsNobodyHereKeepsHisTime) {
  Trace trace = trace_of({{0, 10, 1}, {20, 10, 1}, {40, 10, 99}, {50, 10, 1}});
  trace.jobs[0].preceding = "2";  // later than itself
  trace.jobs[1].preceding = "77";
  trace.jobs[2].constraint = "nosuch";  // refused
  trace.jobs[3].preceding = "3";
  trace.jobs[3].think_s = 5;
  EXPECT_EQ(starts_of(simulate(machine(1, 4), trace)), (Starts{0, 20, -1, 45}));
}

TEST(Replay, DependenciesAreThoseOfTheTrace) {
  Trace trace = trace_of({{0, 100, 1}, {0, 50, 1}, {0, 10, 1}, {0, 10, 1}, {0, 10, 1}, {0, 10, 1}});
  trace.jobs[0].id = "700_1";
  trace.jobs[1].id = "700_2";
  trace.jobs[2].dependency = "afterok:700";
  trace.jobs[3].dependency = "afterany:700_2";
  trace.jobs[4].dependency = "after:700_2";
  trace.jobs[5].dependency = "afterok:12345";
  EXPECT_EQ(starts_of(simulate(machine(1, 8), trace)), (Starts{0, 0, 100, 50, 0, 0}))
      << "who is not known is over";
}

TEST(Replay, ADependencyThatNeverComesAboutEndsNothing) {
  Trace trace = trace_of({{0, 600, 1, 60}, {0, 10, 1}});
  trace.jobs[1].dependency = "afterok:1";
  EXPECT_EQ(starts_of(simulate(machine(1, 8), trace)), (Starts{0, -1}));
}

TEST(Replay, ComponentsStartAndEndTogether) {
  Trace trace = trace_of({{0, 100, 4, 600}, {10, 50, 2, 600}, {10, 50, 6, 600}, {20, 10, 1, 60}});
  trace.jobs[1].id = "2+0";
  trace.jobs[2].id = "2+1";
  join_components(trace);
  const SimResult result = simulate(machine(2, 4), trace);
  EXPECT_TRUE(result.refused.empty());
  EXPECT_EQ(starts_of(result), (Starts{0, 100, 100, 20}));
  EXPECT_EQ(since(result, result.jobs[2].end), 150);
  EXPECT_EQ(result.jobs[2].state, JobState::kCompleted);
  EXPECT_EQ(result.jobs[1].cpus, 2U);
  EXPECT_EQ(result.jobs[2].cpus, 6U);
  EXPECT_EQ(result.runs.size(), 4U);
  EXPECT_EQ(csv_text(result), csv_text(simulate(machine(2, 4), trace)));
}

}  // namespace
}  // namespace sluice::sim
