// --json and --yaml of canned records against what Slurm printed: every path in its order with the
// types of its values (tests/golden/json, made by distill.py there), and the values that a record's
// words and lists stand for.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "cli/format/statistics_text.hpp"
#include "cli/format/structured_output.hpp"
#include "cli/format/structured_text.hpp"
#include "common/base/text.hpp"
#include "cli/format/job_json.hpp"
#include "cli/format/node_show.hpp"
#include "common/format/partition_show.hpp"
#include "common/format/reservation_keys.hpp"
#include "common/protocol/job_query.hpp"
#include "cli/format/sinfo_fields.hpp"
#include "cli/format/step_fields.hpp"
#include "unit/cli/canned_cluster.hpp"

namespace sluice::cli {
namespace {

using Types = std::set<std::string>;
using Line = std::pair<std::string, Types>;  // a path and the types of its values

// As distill.py has it.
struct Shape {
  Types types;
  std::vector<std::pair<std::string, Shape>> parts;

  Shape& part(const std::string& name) {
    for (auto& [known, shape] : parts) {
      if (known == name) return shape;
    }
    return parts.emplace_back(name, Shape{}).second;
  }
};

bool is_optional(const Json& value) {
  return value.is_object() && value.size() == 3 && value.contains("set") &&
         value.contains("infinite") && value.contains("number");
}

std::string type_of(const Json& value) {
  if (is_optional(value)) return "optional " + type_of(value["number"]);
  if (value.is_object()) return "object";
  if (value.is_array()) return "list";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  if (value.is_number_float()) return "float";
  return value.is_null() ? "null" : "integer";
}

bool is_word(const Json& value) {
  return value.is_string() && std::regex_match(value.get<std::string>(), std::regex("[A-Z_]+"));
}

void add(const Json& value, Shape& shape, bool in_list = false) {
  const std::string type = type_of(value);
  shape.types.insert(in_list && is_word(value) ? "WORD" : type);
  if (type == "object") {
    for (const auto& [key, item] : value.items()) add(item, shape.part("." + key));
  } else if (type == "list") {
    for (const Json& item : value) add(item, shape.part("[]"), true);
  }
}

void put_lines(const Shape& shape, const std::string& path, std::vector<Line>& out) {
  if (!path.empty()) out.emplace_back(path.substr(1), shape.types);
  for (const auto& [name, part] : shape.parts) put_lines(part, path + name, out);
}

std::vector<Line> printed(const Json& document) {
  Shape shape;
  add(document, shape);
  std::vector<Line> out;
  put_lines(shape, {}, out);
  return out;
}

std::vector<std::string> golden_lines(const std::string& name) {
  std::ifstream file("tests/golden/json/" + name + ".txt");
  EXPECT_TRUE(file.is_open()) << name;
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) out.push_back(line);
  return out;
}

std::vector<Line> recorded(const std::string& name) {
  std::vector<Line> out;
  for (const std::string& line : golden_lines(name)) {
    const size_t tab = line.find('\t');
    const auto types = split(line.substr(tab + 1), '|');
    out.emplace_back(line.substr(0, tab), Types(types.begin(), types.end()));
  }
  return out;
}

// What is in lists that were empty whenever Slurm was asked: nothing is known of it.
const std::set<std::string> kNotRecorded = {"jobs[].mail_type[]"};

void expect_recorded(const std::string& name, const Json& document) {
  const std::vector<Line> expected = recorded(name);
  std::vector<Line> got = printed(document);
  std::erase_if(got, [](const Line& line) { return kNotRecorded.contains(line.first); });
  const std::map<std::string, Types> types(expected.begin(), expected.end());
  const std::map<std::string, Types> ours(got.begin(), got.end());
  for (const auto& [path, of_path] : expected)
    EXPECT_TRUE(ours.contains(path)) << name << " lacks " << path;
  for (const auto& [path, of_path] : got) {
    const auto known = types.find(path);
    if (known == types.end()) {
      ADD_FAILURE() << name << " has no " << path;
      continue;
    }
    for (const std::string& type : of_path)
      EXPECT_TRUE(known->second.contains(type)) << name << ": " << path << " " << type;
  }
  // there, the three standard files of a job come in another order
  if (name.find("v0.0.42") != std::string::npos) return;
  std::vector<std::string> order, own_order;
  for (const auto& [path, of_path] : expected) order.push_back(path);
  for (const auto& [path, of_path] : got) own_order.push_back(path);
  EXPECT_EQ(own_order, order) << name;
}

NodeShapes shapes() { return node_shapes({*test::node1().node.config}); }

Json job_json(const protocol::JobRecord& record) {
  return job_to_json({&record, kNoTask, {}}, test::capture_context(), shapes());
}

Json jobs() {
  auto whole = test::waiting_job();
  JobSpec mailed = *whole.job.spec;
  mailed.mail_type = "END,FAIL";
  whole.job.spec = std::make_shared<const JobSpec>(mailed);
  return Json::array({job_json(test::held_job()), job_json(test::job_with_a_step()),
                      job_json(test::waiting_tasks()), job_json(whole),
                      job_json(test::finished_job())});
}

Json document(const std::string& key, Json records, unsigned parser,
              std::vector<std::string> warnings = {}) {
  StructuredDocument made;
  made.key = key;
  made.records = std::move(records);
  if (key == "jobs") made.further["last_backfill"] = json_time(test::capture_time());
  if (key != "sinfo" && key != "statistics")
    made.further["last_update"] = json_time(test::capture_time());
  made.command_line = {"squeue", "--json"};
  made.warnings = std::move(warnings);
  return make_document({StructuredForm::kJson, parser}, std::move(made));
}

std::string versioned(const std::string& command, unsigned parser) {
  return command + "-v0.0." + std::to_string(parser) + ".json";
}

TEST(JsonShape, Jobs) {
  for (const unsigned parser : {42U, 43U, 44U})
    expect_recorded(versioned("squeue", parser), document("jobs", jobs(), parser));
  expect_recorded("scontrol-job-v0.0.44.json", document("jobs", jobs(), 44));
}

TEST(JsonShape, Sinfo) {
  const auto partition = test::debug_partition();
  const auto node = test::node1();
  const Json rows = Json::array(
      {sinfo_row_to_json({&partition, 0, {&node}, 0}, "cpu=32", test::capture_context())});
  for (const unsigned parser : {42U, 43U, 44U})
    expect_recorded(versioned("sinfo", parser), document("sinfo", rows, parser));
}

TEST(JsonShape, Statistics) {
  for (const unsigned parser : {42U, 43U, 44U}) {
    expect_recorded(versioned("sdiag", parser),
                    document("statistics", statistics_json(test::statistics()), parser));
  }
}

TEST(JsonShape, NodesPartitionsAndReservations) {
  const Json nodes = Json::array({node_to_json(test::node1(), test::capture_context())});
  expect_recorded("scontrol-node-v0.0.44.json", document("nodes", nodes, 44));
  const Json partitions = Json::array({partition_to_json(test::debug_partition(), "cpu=32")});
  expect_recorded("scontrol-partition-v0.0.44.json", document("partitions", partitions, 44));
  const Json reservations = Json::array({reservation_to_json(test::maintenance())});
  expect_recorded("scontrol-reservation-v0.0.44.json", document("reservations", reservations, 44));
}

TEST(JsonShape, Steps) {
  const auto record = test::job_with_a_step();
  std::vector<std::string> warnings;
  Json steps = Json::array();
  for (const auto& step : record.job.steps) {
    steps.push_back(step_to_json({&record, step.get()}, test::capture_context(), warnings));
  }
  expect_recorded("scontrol-step-v0.0.44.json", document("steps", steps, 44, warnings));
}

TEST(JsonShape, YamlHasATagForEachKeyAndValue) {
  std::set<std::string> known;
  for (const std::string& line : golden_lines("squeue-v0.0.44.yaml")) known.insert(line);
  const std::regex form("^ *(- )?(!!str \\w+: )?!!\\w+");
  std::set<std::string> ours;
  for (const std::string& line : split(to_yaml_text(document("jobs", jobs(), 44)), '\n')) {
    std::smatch found;
    if (std::regex_search(line, found, form)) ours.insert(found.str());
  }
  EXPECT_EQ(ours, known);
}

TEST(JobJson, ResourcesSayWhatStepsUseAndAllCores) {
  const Json made = job_json(test::job_with_a_step())["job_resources"];
  EXPECT_EQ(made["nodes"]["select_type"].dump(), R"(["ONE_ROW"])");
  const Json& node = made["nodes"]["allocation"][0];
  EXPECT_EQ(node["cpus"].dump(), R"({"count":4,"used":4})");
  EXPECT_EQ(node["memory"].dump(), R"({"used":400,"allocated":400})");
  ASSERT_EQ(node["sockets"].size(), 2U);
  for (size_t socket = 0; socket < 2; ++socket) {
    const Json& cores = node["sockets"][socket]["cores"];
    EXPECT_EQ(node["sockets"][socket]["index"], socket);
    ASSERT_EQ(cores.size(), 4U);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(cores[i],
                (Json{{"index", i}, {"status", {socket == 0 ? "UNALLOCATED" : "ALLOCATED"}}}));
    }
  }
  auto idle = test::job_with_a_step();
  idle.job.steps.pop_back();
  EXPECT_EQ(job_json(idle)["job_resources"]["nodes"]["allocation"][0]["cpus"].dump(),
            R"({"count":4,"used":0})")
      << "a batch script is not counted";
}

TEST(JobJson, ANodeOfNoKnownShapeIsOneSocket) {
  const auto record = test::job_with_a_step();
  const Json made =
      job_to_json({&record, kNoTask, {}}, test::capture_context(), {})["job_resources"];
  const Json& sockets = made["nodes"]["allocation"][0]["sockets"];
  ASSERT_EQ(sockets.size(), 1U);
  EXPECT_EQ(sockets[0]["cores"].size(), 4U);
}

TEST(JobJson, FlagsAsCaptured) {
  EXPECT_EQ(job_json(test::job_with_a_step())["flags"],
            (Json{"EXACT_TASK_COUNT_REQUESTED", "EXACT_CPU_COUNT_REQUESTED", "ACCRUE_COUNT_CLEARED",
                  "JOB_WAS_RUNNING", "EXACT_MEMORY_REQUESTED", "USING_DEFAULT_PARTITION",
                  "USING_DEFAULT_QOS", "USING_DEFAULT_WCKEY", "PARTITION_ASSIGNED"}));
  auto over = test::job_with_a_step();
  over.job.state = JobState::kCompleted;
  const Json flags = job_json(over)["flags"];
  EXPECT_EQ(std::count(flags.begin(), flags.end(), "JOB_WAS_RUNNING"), 0) << "of running jobs only";
}

TEST(JobJson, FlagsOfWishes) {
  auto record = test::held_job();
  JobSpec spec = *record.job.spec;
  spec.kill_on_invalid_dependency = Toggle::kYes;
  spec.gres_flags = "disable-binding";
  spec.spread = spec.use_min_nodes = true;
  spec.cron = "@daily";
  record.job.spec = std::make_shared<const JobSpec>(spec);
  record.job.het = std::make_shared<const HetInfo>(HetInfo{4, 0, 2});
  const Json flags = job_json(record)["flags"];
  for (const char* name : {"KILL_INVALID_DEPENDENCY", "GRES_BINDING_DISABLED", "SPREAD_JOB",
                           "PREFER_MINIMUM_NODE_COUNT", "CRON_JOB", "HETEROGENEOUS_JOB"}) {
    EXPECT_EQ(std::count(flags.begin(), flags.end(), name), 1) << name;
  }
  const Json others = job_json(test::held_job())["flags"];
  EXPECT_EQ(std::count(others.begin(), others.end(), "CRON_JOB"), 0);
}

TEST(JobJson, CancelledBeforeItsStartItHasNoTasks) {
  auto record = test::waiting_job();
  EXPECT_EQ(job_json(record)["tasks"], json_number(4));
  record.job.state = JobState::kCancelled;
  EXPECT_EQ(job_json(record)["tasks"], json_unset());
}

TEST(JobJson, TheUsualOutputFileIsNamed) {
  EXPECT_EQ(job_json(test::finished_job())["standard_output"], "slurm-%j.out");
  EXPECT_EQ(job_json(test::held_job())["standard_output"], "/dev/null");
}

TEST(JobJson, CpusOfATaskAreAmongWhatItHas) {
  EXPECT_EQ(job_json(test::job_with_a_step())["tres_per_task"], "cpu=2");
  EXPECT_EQ(job_json(test::held_job())["tres_per_task"], "");
}

TEST(StepJson, AsCaptured) {
  const auto record = test::job_with_a_step();
  std::vector<std::string> warnings;
  const auto json_of = [&](size_t step) {
    return step_to_json({&record, record.job.steps[step].get()}, test::capture_context(), warnings);
  };
  const Json batch = json_of(0);
  const Json srun = json_of(1);
  EXPECT_EQ(batch["array"].dump(), R"({"job_id":0,"task_id":4294967294})");
  EXPECT_EQ(warnings, std::vector<std::string>(2, "Dumping (0xfffffffe) as place holder for null"));
  EXPECT_EQ(batch["cpu"]["frequency"]["min"], json_number(0));
  EXPECT_EQ(srun["cpu"]["frequency"]["min"], json_unset());
  EXPECT_EQ(batch["srun"].dump(), R"({"host":"","pid":0})");
  EXPECT_EQ(srun["srun"].dump(), R"({"host":"vm","pid":4006})");
  EXPECT_EQ(batch["task"]["distribution"], "Unknown");
  EXPECT_EQ(srun["task"]["distribution"], "Block");
  const auto task = test::running_task(16, 9, "2026-11-21T02:48:27");
  warnings.clear();
  const auto step = test::batch_step(16, "node1", "2026-11-21T02:48:27");
  EXPECT_EQ(step_to_json({&task, step.get()}, test::capture_context(), warnings)["array"].dump(),
            R"({"job_id":2,"task_id":9})");
  EXPECT_TRUE(warnings.empty());
}

}  // namespace
}  // namespace sluice::cli
