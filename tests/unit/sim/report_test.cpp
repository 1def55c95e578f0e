#include "sim/report/chart.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/text.hpp"
#include "unit/sim/machine.hpp"

namespace sluice::sim {
namespace {

TEST(Figures, PercentilesAreOfTheValues) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const Spread spread = spread_of(values);
  EXPECT_EQ(spread.count, 100U);
  EXPECT_EQ(spread.mean, 50.5);
  EXPECT_EQ(spread.median, 50);
  EXPECT_EQ(spread.p95, 95);
  EXPECT_EQ(spread.p99, 99);
  EXPECT_EQ(spread.most, 100);
  EXPECT_EQ(spread_of({7}).p99, 7);
  EXPECT_EQ(spread_of({}).count, 0U);
}

TEST(Figures, WaitSlowdownAndUtilisation) {
  Trace trace = trace_of({{0, 100, 4, 600}, {0, 5, 4, 60}, {0, 95, 1, 120}});
  trace.jobs[1].user = "ann";
  const SimResult result = simulate(machine(1, 4), trace);
  const Figures figures = make_figures(result);
  EXPECT_EQ(figures.jobs, 3U);
  EXPECT_EQ(figures.ended, 3U);
  EXPECT_DOUBLE_EQ(figures.wait.mean, (0 + 100 + 105) / 3.0);
  // 5 s count as 10
  EXPECT_DOUBLE_EQ(figures.slowdown.mean, (1 + 105 / 10.0 + 200 / 95.0) / 3);
  EXPECT_DOUBLE_EQ(figures.work, 400 + 20 + 95);
  EXPECT_DOUBLE_EQ(figures.utilisation, 515 / (4.0 * 200));
  EXPECT_EQ(figures.forecast_error.count, 2U);
  EXPECT_EQ(figures.forecast_early.most, 660 - 105);
  EXPECT_EQ(figures.forecast_late, 0U);
  ASSERT_EQ(figures.by_size.size(), 2U);
  EXPECT_EQ(figures.by_size[0].name, "1");
  EXPECT_EQ(figures.by_size[1].name, "4-7");
  EXPECT_EQ(figures.by_size[1].jobs, 2U);
  ASSERT_EQ(figures.by_user.size(), 2U);
  EXPECT_EQ(figures.by_user[0].name, "unknown");
  EXPECT_EQ(figures.by_user[1].name, "ann");
}

TEST(Chart, AveragesOverPartsOfTheTime) {
  const Trace trace = trace_of({{0, 100, 2}, {0, 100, 4}, {0, 200, 4}});
  const SimResult result = simulate(machine(2, 4), trace);
  const Occupation seen = occupation_of(result, 4, 10);
  ASSERT_EQ(seen.rows, 2U);
  // until 100 the first two run, then the third
  EXPECT_DOUBLE_EQ(seen.used[0], 6.0 / 8);
  EXPECT_DOUBLE_EQ(seen.used[3], 4.0 / 8);
  EXPECT_DOUBLE_EQ(seen.waiting[0], 1);
  EXPECT_DOUBLE_EQ(seen.waiting[3], 0);
  EXPECT_DOUBLE_EQ(seen.cell(0, 0) + seen.cell(1, 0), 1.5);
  SvgCanvas canvas(kChartWidth, kChartHeight);
  draw_chart(result, canvas);
  const std::string svg = canvas.finished();
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("2 nodes, from n1 down to n2"), std::string::npos);
}

TEST(Csv, HasALineForEachJob) {
  Trace trace = trace_of({{0, 100, 4, 600}, {10, 5, 99}});
  trace.jobs[1].user = "a,\"b\"";
  trace.jobs[1].constraint = "nosuch";
  EXPECT_EQ(csv_text(simulate(machine(1, 4), trace)),
            "trace_job,job,user,partition,state,submit,start,end,wait,run,limit,cpus,nodes,runs,"
            "forecast,forecast_error,slowdown\n"
            "1,1,,,COMPLETED,0,0,100,0,100,600,4,1,1,,,1.0000\n"
            "2,,\"a,\"\"b\"\"\",,REFUSED,10,,,,,,99,0,0,,,\n");
}

TEST(Text, TwoStandSideBySide) {
  const Trace trace = trace_of({{0, 100, 4}, {0, 50, 4}});
  SimOptions options;
  options.name = "a.conf";
  const SimResult one = simulate(machine(1, 4), trace, options);
  options.name = "b.conf";
  const SimResult two = simulate(machine(2, 4), trace, options);
  const std::string text = report_text({"t", 0, "run times", 0.5}, {&one, &two}, {});
  EXPECT_NE(text.find("(1) a.conf  (2) b.conf"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  longest                      00:01:40    00:00:00\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("CPU time, all"), std::string::npos);
}

}  // namespace
}  // namespace sluice::sim
