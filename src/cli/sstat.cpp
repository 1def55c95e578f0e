// sstat: what the tasks of running steps use.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/shared/allocation.hpp"
#include "cli/shared/client.hpp"
#include "cli/shared/option_parser.hpp"
#include "cli/shared/option_rows.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"
#include "common/tables/errors.hpp"
#include "common/tables/step_names.hpp"
#include "common/tables/usage_fields.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kUsage =
    "Usage: sstat [options] -j <job(.stepid)>\n"
    "\tUse --help for help\n";
constexpr const char* kHelp =
    "sstat [<OPTION>] -j <job(.stepid)>\n"
    "    Valid <OPTION> values are:\n"
    "      -a, --allsteps    all running steps of the jobs that are given without a step\n"
    "      -e, --helpformat  the names of the fields that --format takes\n"
    "      -h, --help        show this help message\n"
    "      -i, --pidformat   the processes of each step: JobID,Nodelist,Pids\n"
    "      -j, --jobs        jobs and steps, 12 or 12.0, separated by commas. A job stands for the\n"
    "                        lowest of its numbered steps; 12.batch and 12.extern name the others\n"
    "      -n, --noheader    no heading lines\n"
    "          --noconvert   sizes in bytes, not in the unit that fits\n"
    "      -o, --format      the fields to show: name[%[-]width], separated by commas\n"
    "      -p, --parsable    fields separated by |, with one at the end of a line\n"
    "      -P, --parsable2   the same without the last\n"
    "          --usage       show in brief how to call it\n"
    "      -v, --verbose     say more\n"
    "      -V, --version     print the version and end\n";

constexpr int kMostWidth = 1 << 20;  // of a column

enum class Layout { kColumns, kParsable, kParsable2 };
struct Column {
  const UsageField* field = nullptr;
  int width = 0;
};
struct Options {
  std::vector<std::string> jobs;
  std::string format{kUsageLayout};
  bool all_steps = false;
  bool header = true;
  bool convert = true;
  uint32_t verbose = 0;
  Layout layout = Layout::kColumns;
};

int fail(const std::string& text) {
  print_error("sstat", text);
  return 1;
}

std::optional<int> print_fields() {
  constexpr size_t kInLine = 4;
  const auto fields = usage_fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    std::printf("%-19s%s", std::string(fields[i].name).c_str(),
                i % kInLine == kInLine - 1 || i + 1 == fields.size() ? "\n" : " ");
  }
  return 0;
}

using Row = OptionRow<Options>;
constexpr Row kRows[] = {
    {"allsteps", 'a', Takes::kNothing, [](Options& o, const char*) { o.all_steps = true; return kGoOn; }},
    {"autocomplete", 0, Takes::kValue, no_effect<Options>},
    {"helpformat", 'e', Takes::kNothing, [](Options&, const char*) { return print_fields(); }},
    {"help", 'h', Takes::kNothing, [](Options&, const char*) { return print_and_end(kHelp); }},
    {"jobs", 'j', Takes::kValue,
     [](Options& o, const char* list) {
       for (std::string& job : split_list(list)) o.jobs.push_back(std::move(job));
       return kGoOn;
     }},
    {"pidformat", 'i', Takes::kNothing,
     [](Options& o, const char*) { o.format = kUsagePidLayout; return kGoOn; }},
    {"noheader", 'n', Takes::kNothing, [](Options& o, const char*) { o.header = false; return kGoOn; }},
    {"noconvert", 0, Takes::kNothing, [](Options& o, const char*) { o.convert = false; return kGoOn; }},
    {"fields", 'o', Takes::kValue, [](Options& o, const char* text) { o.format = text; return kGoOn; }},
    {"format", 'o', Takes::kValue, nullptr},
    {"parsable", 'p', Takes::kNothing,
     [](Options& o, const char*) { o.layout = Layout::kParsable; return kGoOn; }},
    {"parsable2", 'P', Takes::kNothing,
     [](Options& o, const char*) { o.layout = Layout::kParsable2; return kGoOn; }},
    {"usage", 0, Takes::kNothing, [](Options&, const char*) { return print_and_end(kUsage); }},
    {"verbose", 'v', Takes::kNothing, [](Options& o, const char*) { ++o.verbose; return kGoOn; }},
    {"version", 'V', Takes::kNothing,
     [](Options&, const char*) { return std::optional<int>(print_slurm_version()); }},
};

std::optional<StepNumber> parse_step(std::string_view text) {
  for (const StepNumber named : {kBatchStep, kExternStep, kInteractiveStep}) {
    if (text == step_number_text(named)) return named;
  }
  return to_number<StepNumber>(text);
}

// "12", "12.0", "12.batch"; what a job of several components is followed by is passed over.
std::optional<StepId> parse_job(std::string_view text) {
  const size_t dot = std::min(text.find('.'), text.size());
  const std::string_view name = text.substr(0, dot);
  const auto job = to_number<JobId>(name.substr(0, name.find('+')));
  const auto step = dot == text.size() ? std::optional(protocol::kAnyStep) : parse_step(text.substr(dot + 1));
  if (!job || !step) return std::nullopt;
  return StepId{*job, *step};
}

// Nothing when a field is not known, which was said.
std::optional<std::vector<Column>> parse_format(const std::string& format) {
  std::vector<Column> columns;
  for (const std::string& item : split_list(format)) {
    const size_t percent = std::min(item.find('%'), item.size());
    const std::string name = item.substr(0, percent);
    Column column{find_usage_field(name), 0};
    if (column.field == nullptr) {
      fail(fmt::format("Invalid field requested: \"{}\"", name));
      return std::nullopt;
    }
    column.width = column.field->width;
    if (percent < item.size()) {
      const auto width = to_number<int>(std::string_view(item).substr(percent + 1));
      if (width && *width != 0) column.width = std::clamp(*width, -kMostWidth, kMostWidth);
    }
    columns.push_back(column);
  }
  return columns;
}

// Values that are too long end with a "+".
void append_value(const Options& o, const Column& column, std::string_view value, bool last, std::string& out) {
  if (o.layout != Layout::kColumns) {
    out += value;
    if (!last || o.layout == Layout::kParsable) out += '|';
    return;
  }
  const auto width = static_cast<size_t>(std::abs(column.width));
  std::string text(value);
  if (text.size() > width) text = text.substr(0, width - 1) + "+";
  const std::string padding(width - text.size(), ' ');
  out.append(column.width < 0 ? text + padding : padding + text).append(" ");
}

void append_header(const Options& o, const std::vector<Column>& columns, std::string& out) {
  for (const Column& column : columns) append_value(o, column, column.field->name, &column == &columns.back(), out);
  out += '\n';
  if (o.layout != Layout::kColumns) return;
  for (const Column& column : columns)
    out.append(static_cast<size_t>(std::abs(column.width)), '-').append(" ");
  out += '\n';
}

std::string name_of(const StepId& id) {
  return id.step == protocol::kAnyStep ? std::to_string(id.job) : step_id_text(id);
}

// -vv
void debug(std::string_view text) { say("sstat", fmt::format("debug:  {}", text)); }

void say_asked(const std::vector<StepId>& ids) {
  debug("Jobs requested:\n");
  for (const StepId& id : ids) {
    debug(id.step == protocol::kAnyStep ? fmt::format("\t: All steps for job {}\n", id.job)
                                        : fmt::format("\t: StepId={}\n", name_of(id)));
  }
}

void say_failed(const StepId& id, const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidJobId:
      fail(fmt::format("couldn't get steps for job {}", id.job));
      return;
    case ErrorCode::kInvalidStepId:
      fail(id.step == protocol::kAnyStep ? fmt::format("no steps running for job {}", id.job)
                                         : fmt::format("StepId={} not found running.", name_of(id)));
      return;
    default:
      fail(fmt::format("problem getting step_layout for StepId={}: {}", name_of(id), error_text(error)));
  }
}

void print_step(const Options& o, const std::vector<Column>& columns, const protocol::StepUsageRecord& record) {
  for (const protocol::NodeUsage& node : record.nodes) {
    // the step's part there ended meanwhile
    if (node.code == ErrorCode::kOk || node.code == ErrorCode::kInvalidStepId) continue;
    fail(fmt::format("there was an error with the request to {} rc = {}", node.node, error_text({node.code, {}})));
  }
  std::string line;
  for (const Column& column : columns) {
    append_value(o, column, column.field->render(record, o.convert), &column == &columns.back(), line);
  }
  std::puts(line.c_str());
}

}  // namespace

int sstat_main(int argc, char** argv) {
  Options o;
  if (const auto status = read_option_rows<Options>("sstat", kRows, argc, argv, o)) return *status;
  for (int i = optind; i < argc; ++i) o.jobs.emplace_back(argv[i]);
  const auto columns = parse_format(o.format);
  if (!columns) return 1;
  if (o.jobs.empty()) return fail("You didn't give me any jobs to stat.");
  std::vector<StepId> ids;
  for (const std::string& job : o.jobs) {
    const auto id = parse_job(job);
    if (!id) {
      std::fprintf(stderr, "sstat: fatal: Bad job/step specified: %s\n", job.c_str());
      return 1;
    }
    ids.push_back(*id);
  }
  Result<Client> client = Client::open();
  if (!client) return report("sstat", client.error());
  if (o.verbose > 1) say_asked(ids);
  std::string header;
  if (o.header) append_header(o, *columns, header);
  std::fputs(header.c_str(), stdout);
  for (const StepId& id : ids) {
    if (o.verbose > 1) debug(fmt::format("requesting info for StepId={}", name_of(id)));
    const auto reply = client->call<protocol::QueryUsageReply>(protocol::QueryUsageRequest{id, o.all_steps});
    if (!reply) {
      say_failed(id, reply.error());
      continue;
    }
    for (const protocol::StepUsageRecord& record : reply->steps) print_step(o, *columns, record);
  }
  return 0;
}

}  // namespace sluice::cli
