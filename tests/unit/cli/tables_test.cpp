// The field tables against the list of Slurm's fields, and whole tables as Slurm prints them.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/format/table_printer.hpp"
#include "common/base/text.hpp"
#include "common/format/gathered_tasks.hpp"
#include "cli/format/job_fields.hpp"
#include "cli/format/sinfo_fields.hpp"
#include "common/model/job_update.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/node_query.hpp"
#include "common/submit/update_keys.hpp"
#include "unit/cli/canned_jobs.hpp"

namespace sluice::cli {
namespace {

RenderContext context() {
  RenderContext made;
  made.now = test::capture_time();
  return made;
}

// tests/data/format-fields.tsv: command, letter, name, heading, in the newest version, tier.
template <class Row>
void expect_fields(const std::string& command, std::span<const FieldRow<Row>> fields,
                   bool headings) {
  std::ifstream file("tests/data/format-fields.tsv");
  std::string line;
  size_t seen = 0;
  while (std::getline(file, line)) {
    const auto cells = split(line, '\t');
    if (cells[0] != command || cells[4] != "y" || cells[2] == "All") continue;
    ++seen;
    const auto* by_name = find_field(fields, std::string_view(cells[2]));
    ASSERT_NE(by_name, nullptr) << cells[2];
    if (headings) { EXPECT_EQ(by_name->heading, cells[3]) << cells[2]; }
    const bool alias = cells[2] == "Shared" || cells[2] == "Share" || cells[2] == "GresUsed" ||
                       cells[2] == "tres-per-node";
    if (cells[1] == "-" || alias) continue;
    const auto* by_letter = find_field(fields, cells[1][1]);
    ASSERT_NE(by_letter, nullptr) << cells[1];
    EXPECT_TRUE(iequals(by_letter->name, cells[2])) << cells[1];
  }
  EXPECT_GT(seen, 40U);
}

TEST(Fields, SqueueHasThemAll) { expect_fields("squeue", job_fields(), true); }
TEST(Fields, SinfoHasThemAll) { expect_fields("sinfo", sinfo_fields(), false); }

std::string print(const std::vector<protocol::JobRecord>& records, TableFormat format) {
  std::vector<JobView> rows;
  for (const auto& record : records) rows.push_back({&record, kNoTask, {}});
  Table<JobView> table("squeue", "job", job_fields(), std::move(format));
  char unknown = '\0';
  sort_rows(rows, *parse_sort("P,t,-p", job_fields(), &unknown), context());
  std::string out;
  table.append_header(out);
  for (const auto& row : rows) table.append_row(row, context(), out);
  return out;
}

TEST(Squeue, TheUsualColumnsAsCaptured) {
  const std::vector<protocol::JobRecord> records = {
      test::running_task(19, 12, "2026-11-21T02:48:28"),
      test::running_task(16, 9, "2026-11-21T02:48:27"), test::held_job(), test::waiting_job(),
      test::waiting_tasks()};
  EXPECT_EQ(
      print(records, parse_letter_format("%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R")),
      "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
      "       2_[13-20%4]     debug     wrap     root PD       0:00      1 (JobArrayTaskLimit)\n"
      "                23     debug     wrap     root PD       0:00      4 (Resources)\n"
      "                 4     debug     wrap     root PD       0:00      1 (JobHeldUser)\n"
      "              2_12     debug     wrap     root  R       1:00      1 node1\n"
      "               2_9     debug     wrap     root  R       1:01      1 node1\n");
}

// Task `task` of the array of waiting_tasks(), waiting with a record of its own.
protocol::JobRecord split_task(JobId id, uint32_t task, JobReason reason) {
  auto record = test::running_task(id, task, "2026-11-21T02:48:28");
  record.job.state = JobState::kPending;
  record.job.allocation = nullptr;
  record.job.start = record.job.end = kNoTime;
  record.soft.reason = reason;
  return record;
}

std::string print_gathered(const std::vector<protocol::JobRecord>& records) {
  std::vector<JobView> rows;
  for (const auto& record : records) rows.push_back({&record, kNoTask, {}});
  const auto gathered = gather_waiting_tasks(rows);
  Table<JobView> table("squeue", "job", job_fields(), parse_letter_format("%i %K %A %r %R"));
  std::string out;
  for (const auto& row : rows) table.append_row(row, context(), out);
  return out;
}

TEST(Squeue, WaitingTasksWithRecordsOfTheirOwnAreInTheLineOfTheArray) {
  std::vector<protocol::JobRecord> records = {split_task(30, 11, JobReason::kJobHeldUser),
                                              test::waiting_tasks(),
                                              split_task(31, 21, JobReason::kJobHeldUser),
                                              split_task(32, 22, JobReason::kJobArrayTaskLimit),
                                              test::running_task(19, 12, "2026-11-21T02:48:28")};
  EXPECT_EQ(
      print_gathered(records),
      "2_[11,13-22] 11,13-22 2 JobArrayTaskLimit,JobHeldUser (JobArrayTaskLimit,JobHeldUser)\n"
      "2_12 12 19 None node1\n");
}

TEST(Squeue, OfAnotherNameOrPartitionATaskKeepsItsLine) {
  std::vector<protocol::JobRecord> records = {test::waiting_tasks(),
                                              split_task(30, 11, JobReason::kPriority),
                                              split_task(31, 12, JobReason::kPriority)};
  JobSpec renamed = test::array_spec();
  renamed.name = "other";
  records[1].job.spec = std::make_shared<const JobSpec>(renamed);
  JobSpec moved = test::array_spec();
  moved.partitions = "spot";
  records[2].job.spec = std::make_shared<const JobSpec>(moved);
  EXPECT_EQ(print_gathered(records),
            "2_[13-20%4] 13-20%4 2 JobArrayTaskLimit (JobArrayTaskLimit)\n"
            "2_11 11 30 Priority (Priority)\n2_12 12 31 Priority (Priority)\n");
}

TEST(Squeue, WithoutARecordForSeveralTasksNothingIsGathered) {
  EXPECT_EQ(print_gathered({split_task(30, 11, JobReason::kPriority),
                            split_task(31, 12, JobReason::kPriority)}),
            "2_11 11 30 Priority (Priority)\n2_12 12 31 Priority (Priority)\n");
}

TEST(Squeue, EveryLetterAsCaptured) {
  const std::string letters =
      "%a|%b|%c|%d|%e|%f|%g|%h|%i|%j|%k|%l|%m|%n|%o|%p|%q|%r|%t|%u|%v|%w|%x|"
      "%y|%z|%A|%B|%C|%D|%E|%F|%G|%H|%I|%J|%K|%L|%M|%N|%O|%P|%Q|%R|%S|%T|%U|"
      "%V|%W|%X|%Y|%Z";
  const std::string out =
      print({test::running_task(19, 12, "2026-11-21T02:48:28")}, parse_letter_format(letters));
  EXPECT_NE(out.find("physics|N/A|1|0|2026-11-21T03:18:28|(null)|root|NO|2_12|wrap|(null)|30:00|64M"
                     "||(null)|0.00000189547427|high|None|R|root|(null)|(null)||0|*:*:*|19|node1|1"
                     "|1|(null)|2|0|*|*|*|12|29:00|1:00|node1|0|debug|8141|node1"
                     "|2026-11-21T02:48:28|RUNNING|0|2026-11-21T02:38:25|(null)|N/A|(null)"
                     "|/srv/demo\n"),
            std::string::npos)
      << out;
}

// A name and its letter are one field; those without a letter say what the job has.
TEST(Squeue, EveryNameThatHasALetterSaysTheSame) {
  size_t seen = 0;
  for (const auto& field : job_fields()) {
    if (field.letter == '\0' || field.name.empty()) continue;
    ++seen;
    const std::vector<protocol::JobRecord> records = {
        test::running_task(19, 12, "2026-11-21T02:48:28"), test::held_job()};
    EXPECT_EQ(print(records, parse_name_format(std::string(field.name) + ":|")),
              print(records, parse_letter_format(std::string("%") + field.letter + "|")))
        << field.name;
  }
  EXPECT_GT(seen, 40U);
}

TEST(Squeue, NamesWithoutALetter) {
  protocol::JobRecord record = test::running_task(19, 12, "2026-11-21T02:48:28");
  JobSpec spec = *record.job.spec;
  spec.admin_comment = "seen";
  spec.burst_buffer = "bb";
  spec.cluster_constraint = "near";
  spec.container = "/box";
  spec.cpus_per_task = 3;
  spec.cpus_per_gpu = "4";
  spec.memory_kind = MemoryKind::kPerGpu;
  spec.memory_mib = 70;
  spec.max_cpus = 12;
  spec.max_nodes = 6;
  spec.ntasks_per_core = 1;
  spec.ntasks_per_node = 2;
  spec.ntasks_per_socket = 7;
  spec.network = "net";
  spec.prefer = "big";
  spec.profile = "task";
  spec.reboot = true;
  spec.switches = "5@10:00";
  spec.requeue = Toggle::kNo;
  record.job.spec = std::make_shared<const JobSpec>(spec);
  record.job.restart_count = 8;
  record.job.exit_status = 3 << 8;
  record.job.derived_exit_status = 5 << 8;
  const std::pair<const char*, const char*> wanted[] = {{"AccrueTime", "2026-11-21T02:38:25"},
                                                        {"admin_comment", "seen"},
                                                        {"AllocNodes", "localhost"},
                                                        {"AllocSID", "1497"},
                                                        {"BatchFlag", "1"},
                                                        {"BurstBuffer", "bb"},
                                                        {"ClusterFeature", "near"},
                                                        {"Container", "/box"},
                                                        {"cpus-per-task", "3"},
                                                        {"cpus-per-tres", "gres/gpu:4"},
                                                        {"CPUsPerTask", "3"},
                                                        {"CronJob", "No"},
                                                        {"Deadline", "N/A"},
                                                        {"DerivedEC", "5:0"},
                                                        {"EligibleTime", "2026-11-21T02:48:27"},
                                                        {"exit_code", "3:0"},
                                                        {"LastSchedEval", "2026-11-21T02:48:28"},
                                                        {"MaxCPUs", "12"},
                                                        {"MaxNodes", "6"},
                                                        {"mem-per-tres", "gres/gpu:70"},
                                                        {"Network", "net"},
                                                        {"NTPerCore", "1"},
                                                        {"NTPerNode", "2"},
                                                        {"NTPerSocket", "7"},
                                                        {"PendingTime", "603"},
                                                        {"Prefer", "big"},
                                                        {"Profile", "task"},
                                                        {"Reboot", "1"},
                                                        {"ReqSwitch", "5"},
                                                        {"Requeue", "0"},
                                                        {"RestartCnt", "8"},
                                                        {"StdOut", "/dev/null"},
                                                        {"Tres", "cpu=1,mem=64M,node=1,billing=1"}};
  for (const auto& [name, value] : wanted) {
    const std::string printed = print({record}, parse_name_format(std::string(name) + ":|"));
    EXPECT_EQ(printed.substr(printed.find('\n') + 1), std::string(value) + "|\n") << name;
  }
}

TEST(TableFormat, Letters) {
  const TableFormat format = parse_letter_format("x %i y %.3j|%5t|%");
  EXPECT_EQ(format.prefix, "x ");
  ASSERT_EQ(format.columns.size(), 3U);
  EXPECT_EQ(format.columns[0].suffix, " y ");
  EXPECT_FALSE(format.columns[0].has_width);
  EXPECT_TRUE(format.columns[1].right);
  EXPECT_EQ(format.columns[1].width, 3U);
  EXPECT_EQ(format.columns[2].suffix, "|");
  EXPECT_FALSE(format.ends_early);
  EXPECT_TRUE(parse_letter_format("%i%.5").ends_early) << "which is told";
}

TEST(TableFormat, WhatIsNoField) {
  const TableFormat format = parse_letter_format("%%%i%%%0j|%.8?x");
  EXPECT_EQ(format.prefix, "");
  ASSERT_EQ(format.columns.size(), 3U);
  EXPECT_EQ(format.columns[0].letter, 'i');
  EXPECT_EQ(format.columns[0].suffix, "");
  EXPECT_FALSE(format.columns[1].has_width) << "0 is as wide as the value";
  EXPECT_EQ(format.columns[2].text, "%.8?");
}

TEST(TableFormat, Names) {
  const TableFormat format = parse_name_format("JobID,Name:.5,State:|,User:7;,");
  ASSERT_EQ(format.columns.size(), 4U);
  EXPECT_EQ(format.columns[0].width, 20U);
  EXPECT_TRUE(format.columns[1].right);
  EXPECT_FALSE(format.columns[2].has_width);
  EXPECT_EQ(format.columns[2].suffix, "|");
  EXPECT_EQ(format.columns[3].suffix, ";");
}

// The sign was the beginning of the suffix.
TEST(TableFormat, WidthsWithASign) {
  const TableFormat format = parse_name_format("JobID:-5x,Name:+5x,State:.-5,User:-0x,Account:-x");
  std::string out;
  for (const Column& column : format.columns) append_cell(column, "abcdefg", out);
  EXPECT_EQ(out, "abcdefg xabcdexabcdefg abcdefgxabcdefg-x");
}

TEST(TableFormat, CellsAreCutAndPadded) {
  std::string out;
  append_cell({'\0', "", true, 4, true, "|"}, "ab", out);
  append_cell({'\0', "", true, 4, false, "|"}, "abcdef", out);
  append_cell({'\0', "", false, 0, false, ""}, "natural", out);
  EXPECT_EQ(out, "  ab|abcd|natural");
}

TEST(TableFormat, WhatACellTooNarrowLeaves) {
  const auto cell = [](size_t width, bool right, Cut cut, std::string_view value) {
    Column column{'\0', "", true, width, right, "|"};
    column.cut = cut;
    std::string out;
    append_cell(column, value, out);
    return out;
  };
  EXPECT_EQ(cell(9, true, Cut::kNoSpanOnTheRight, "10-00:00:00"), "10-00:00:00|");
  EXPECT_EQ(cell(9, false, Cut::kNoSpanOnTheRight, "10-00:00:00"), "10-00:00:|");
  EXPECT_EQ(cell(4, true, Cut::kNoSpanOnTheRight, "UNLIMITED"), "UNLI|");
  EXPECT_EQ(cell(5, false, Cut::kBeforeMark, "debug*"), "debu*|");
  EXPECT_EQ(cell(1, true, Cut::kBeforeMark, "debug*"), "*|");
  EXPECT_EQ(cell(3, true, Cut::kBeforeMark, "short"), "sho|");
}

protocol::NodeRecord node(const std::string& name, NodeBaseState base, NodeFlags flags,
                          std::vector<std::string> partitions) {
  protocol::NodeRecord record;
  NodeConfig config;
  config.cpus = 8;
  record.node.name = name;
  record.node.config = std::make_shared<const NodeConfig>(config);
  record.shown_base = base;
  record.shown_flags = flags;
  record.used_cpus = base == NodeBaseState::kAllocated ? 8 : 0;
  record.partitions = std::move(partitions);
  return record;
}

TEST(Sinfo, TheUsualColumnsAsCaptured) {
  std::vector<protocol::PartitionRecord> partitions(2);
  partitions[0].config.name = "debug";
  partitions[0].config.is_default = true;
  partitions[0].config.max_time = 1440;
  partitions[1].config.name = "spot";
  const std::vector<protocol::NodeRecord> nodes = {
      node("node1", NodeBaseState::kAllocated, 0, {"debug"}),
      node("node2", NodeBaseState::kIdle, kNodePlanned, {"debug"}),
      node("node3", NodeBaseState::kIdle, kNodePlanned, {"debug", "spot"}),
      node("node4", NodeBaseState::kIdle, kNodePlanned, {"debug", "spot"})};
  Table<SinfoRow> table("sinfo", "node", sinfo_fields(),
                        parse_letter_format("%9P %.5a %.10l %.6D %.6t %N"));
  SinfoGrouping grouping;
  for (size_t i = 0; i < table.size(); ++i) grouping.fields.push_back(&table.field(i));
  std::vector<const protocol::NodeRecord*> wanted;
  for (const auto& one : nodes) wanted.push_back(&one);
  auto rows = group_nodes({&partitions[0], &partitions[1]}, wanted, grouping, context());
  const auto fields = sinfo_sort_fields();
  char unknown = '\0';
  sort_rows(rows, *parse_sort<SinfoRow>("#,-t", fields, &unknown), context());
  std::string out;
  table.append_header(out);
  for (const auto& row : rows) table.append_row(row, context(), out);
  EXPECT_EQ(out,
            "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
            "debug*       up 1-00:00:00      3   plnd node[2-4]\n"
            "debug*       up 1-00:00:00      1  alloc node1\n"
            "spot         up   infinite      2   plnd node[3-4]\n");
}

// Each had a line.
TEST(Sinfo, NodesOfDifferentPortsAreAlike) {
  protocol::PartitionRecord partition;
  partition.config.name = "a";
  auto one = node("n1", NodeBaseState::kIdle, 0, {"a"}),
       two = node("n2", NodeBaseState::kIdle, 0, {"a"});
  const auto with_port = [](const std::shared_ptr<const NodeConfig>& config, uint16_t port) {
    auto out = std::make_shared<NodeConfig>(config != nullptr ? *config : NodeConfig());
    out->port = port;
    return out;
  };
  one.node.config = with_port(one.node.config, 1);
  two.node.config = with_port(two.node.config, 2);
  SinfoGrouping grouping;
  grouping.fields.push_back(find_field(sinfo_fields(), std::string_view("Port")));
  const auto rows = group_nodes({&partition}, {&one, &two}, grouping, context());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].nodes.size(), 2U);
}

TEST(Sinfo, WithoutAPartitionFieldANodeCountsOnce) {
  std::vector<protocol::PartitionRecord> partitions(2);
  partitions[0].config.name = "a";
  partitions[1].config.name = "b";
  const auto shared = node("n1", NodeBaseState::kIdle, 0, {"a", "b"});
  SinfoGrouping grouping;
  grouping.fields.push_back(find_field(sinfo_fields(), 't'));
  const auto rows = group_nodes({&partitions[0], &partitions[1]}, {&shared}, grouping, context());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].nodes.size(), 1U);
}

// %a says "up" of both: one line, on which the node must not count twice.
TEST(Sinfo, ANodeOfTwoPartitionsCountsOnceOnALine) {
  std::vector<protocol::PartitionRecord> partitions(2);
  partitions[0].config.name = "a";
  partitions[1].config.name = "b";
  const auto shared = node("n1", NodeBaseState::kIdle, 0, {"a", "b"});
  const auto other = node("n2", NodeBaseState::kIdle, 0, {"b"});
  SinfoGrouping grouping;
  grouping.fields.push_back(find_field(sinfo_fields(), 'a'));
  const auto rows =
      group_nodes({&partitions[0], &partitions[1]}, {&shared, &other}, grouping, context());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].nodes, (std::vector<const protocol::NodeRecord*>{&shared, &other}));
}

TEST(Sinfo, AnEmptyPartitionHasALineWhereItIsNamed) {
  std::vector<protocol::PartitionRecord> partitions(1);
  partitions[0].config.name = "a";
  const auto lines = [&](char letter) {
    SinfoGrouping grouping;
    grouping.fields.push_back(find_field(sinfo_fields(), letter));
    return group_nodes({&partitions[0]}, {}, grouping, context()).size();
  };
  EXPECT_EQ(lines('P'), 1U);
  EXPECT_EQ(lines('R'), 1U);
  EXPECT_EQ(lines('a'), 0U);
  EXPECT_EQ(lines('l'), 0U);
}

TEST(UpdateKeys, AreFoundByClearBeginnings) {
  ASSERT_NE(find_job_update_key("timel"), nullptr);
  EXPECT_EQ(find_job_update_key("timel")->name, "TimeLimit");
  EXPECT_EQ(find_job_update_key("Min"), nullptr);
  EXPECT_EQ(find_job_update_key("foo"), nullptr);
  EXPECT_EQ(find_node_update_key("STATE")->name, "State");
}

TEST(UpdateKeys, NumbersThatAreTooLarge) {
  const UpdateBase base{test::capture_time(), 30};
  JobUpdate update;
  ASSERT_TRUE(find_job_update_key("DelayBoot")->set("100000000", base, update));
  EXPECT_EQ(update.delay_boot_seconds, UINT32_MAX);
  EXPECT_FALSE(find_job_update_key("Nice")->set("-2147483648", base, update));
  EXPECT_FALSE(find_job_update_key("MinMemoryCPU")->set("4611686018427387904", base, update));
}

// The bug: it was not said which value was meant.
TEST(UpdateKeys, ErrorsNameKeyAndValue) {
  const auto said = [](const char* name, const char* value) {
    const auto* key = find_job_update_key(name);
    JobUpdate update;
    const Status status = key->set(value, {.now = test::capture_time(), .key = key->name}, update);
    return status ? std::string() : status.error().text;
  };
  EXPECT_EQ(said("NumTasks", "foo"), "Invalid NumTasks value: foo");
  EXPECT_EQ(said("ReqProcs", "2-6"), "Invalid NumTasks value: 2-6");
  EXPECT_EQ(said("mincpus", "x"), "Invalid MinCPUsNode value: x");
  EXPECT_EQ(said("wait-for-switch", "x"), "Invalid wait-for-switch value: x");
  EXPECT_EQ(said("MinMemoryCPU", "foo"), "Invalid MinMemoryCPU value: foo");
  EXPECT_EQ(said("MinTmpDiskNode", "foo"), "Invalid MinTmpDiskNode value: foo");
  EXPECT_EQ(said("Requeue", "foo"), "Invalid Requeue value: foo");
  EXPECT_EQ(said("Priority", "foo"), "Invalid Priority value: foo");
  EXPECT_EQ(said("Shared", "foo"), "Invalid OverSubscribe value: foo");
  EXPECT_EQ(said("MailType", "foo"), "Invalid MailType: foo");
  EXPECT_EQ(said("Switches", "foo"), "Invalid Switches value: foo");
  for (const char* none : {"0", "0-2"})
    EXPECT_EQ(said("NumCPUs", none), "Invalid NumCPUs value: " + std::string(none));
  for (const std::string key : {"Nice", "SiteFactor"}) {
    EXPECT_EQ(said(key.c_str(), "foo"), "Invalid " + key + " value: foo");
    for (const char* far : {"2147483646", "-2147483646", "99999999999"}) {
      EXPECT_EQ(said(key.c_str(), far),
                key + " value out of range (+/- 2147483645). Value ignored");
    }
    for (const char* good : {"2147483645", "-2147483645", "+7", ""})
      EXPECT_EQ(said(key.c_str(), good), "");
  }
  EXPECT_EQ(said("NumNodes", "foo"), "Invalid numeric value \"foo\" for requested node count.");
  for (const char* span : {"TimeLimit", "TimeMin", "DelayBoot"}) {  // as Slurm has it
    EXPECT_EQ(said(span, "foo"), "Invalid " + std::string(span) + " value");
  }
}

// The bugs: ReqProcs was the number of CPUs, and one number of nodes was the most as well.
TEST(UpdateKeys, TasksAndNodes) {
  const UpdateBase base{test::capture_time(), 30};
  JobUpdate update;
  ASSERT_TRUE(find_job_update_key("ReqProcs")->set("6", base, update));
  EXPECT_EQ(update.num_tasks, 6U);
  EXPECT_FALSE(update.min_cpus);
  ASSERT_TRUE(find_job_update_key("NumNodes")->set("1", base, update));
  EXPECT_EQ(update.min_nodes, 1U);
  EXPECT_FALSE(update.max_nodes);
  ASSERT_TRUE(find_job_update_key("ReqNodes")->set("2-3", base, update));
  EXPECT_EQ(update.min_nodes, 2U);
  EXPECT_EQ(update.max_nodes, 3U);
}

TEST(UpdateKeys, ALimitMayBeRelative) {
  JobUpdate update;
  const UpdateBase base{test::capture_time(), 30};
  const auto* key = find_job_update_key("TimeLimit");
  ASSERT_TRUE(key->set("+10", base, update));
  EXPECT_EQ(update.time_limit, 40U);
  ASSERT_TRUE(key->set("-5", base, update));
  EXPECT_EQ(update.time_limit, 25U);
  EXPECT_FALSE(key->set("foo", base, update));
  EXPECT_FALSE(key->set("+UNLIMITED", base, update));
  // the bug: it was no limit at all
  ASSERT_TRUE(is_relative_limit(*key, "-1", base));
  ASSERT_TRUE(key->set("-1", base, update));
  EXPECT_EQ(update.time_limit, 29U);
  ASSERT_TRUE(key->set("-30", base, update));
  EXPECT_EQ(update.time_limit, 0U);
  EXPECT_EQ(key->set("-31", base, update).error().text,
            "TimeLimit decrement larger than current time limit (31 > 30)");
  // the bug: it was refused
  JobUpdate unlimited;
  for (const char* value : {"+5", "-5"})
    ASSERT_TRUE(key->set(value, {test::capture_time(), kInfiniteMinutes}, unlimited));
  EXPECT_FALSE(unlimited.time_limit);
  const UpdateBase by_operator{test::capture_time(), 30, true};
  ASSERT_TRUE(is_relative_limit(*key, "-1", by_operator));
  ASSERT_TRUE(key->set("-1", by_operator, update));
  EXPECT_EQ(update.time_limit, 29U);
}

TEST(UpdateKeys, GenericResourcesAreSaidAsWhenSubmitted) {
  const UpdateBase base{test::capture_time(), 30};
  JobUpdate update;
  ASSERT_TRUE(find_job_update_key("TresPerJob")->set("gpu:2", base, update));
  ASSERT_TRUE(find_job_update_key("TresPerSocket")->set("gres/gpu:1", base, update));
  ASSERT_TRUE(find_job_update_key("Gres")->set("fan", base, update));
  ASSERT_TRUE(find_job_update_key("TresPerTask")->set("cpu=3,gres/gpu=1", base, update));
  EXPECT_EQ(update.tres_per_job, "gres/gpu:2");
  EXPECT_EQ(update.tres_per_socket, "gres/gpu:1");
  EXPECT_EQ(update.gres, "gres/fan:1");
  EXPECT_EQ(update.tres_per_task, "gres/gpu:1");
  JobUpdate licenses;
  ASSERT_TRUE(find_job_update_key("TresPerTask")->set("license/matlab=2,cpu=3", base, licenses));
  EXPECT_EQ(licenses.tres_per_task, "license/matlab=2");
  EXPECT_EQ(update.cpus_per_task, 3U);
  JobUpdate cpus;
  ASSERT_TRUE(find_job_update_key("TresPerTask")->set("cpu:2", base, cpus));
  EXPECT_EQ(cpus.cpus_per_task, 2U);
  EXPECT_EQ(cpus.tres_per_task, "") << "what was asked for before is gone";
  EXPECT_FALSE(find_job_update_key("TresPerTask")->set("cpu=x", base, cpus));
}

}  // namespace
}  // namespace sluice::cli
