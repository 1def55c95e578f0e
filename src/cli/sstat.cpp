// sstat: what the tasks of running steps use.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/step/allocation.hpp"
#include "cli/shared/client.hpp"
#include "cli/shared/job_names.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "common/names/step_names.hpp"
#include "cli/format/usage_fields.hpp"

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
  std::optional<std::string> format;  // none: kUsageLayout
  bool all_steps = false;
  bool by_node = false;  // a line for each node of a step
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

// What is asked for in several options is shown one behind the other.
void add_format(Options& o, std::string_view fields) {
  if (o.format) o.format->append(",").append(fields);
  else o.format = fields;
}

using Row = OptionRow<Options>;
constexpr Row kRows[] = {
    {"allsteps", 'a', Takes::kNothing,
     [](Options& o, const char*) {
       o.all_steps = true;
       return kGoOn;
     }},
    {"autocomplete", 0, Takes::kValue, no_effect<Options>},
    {"helpformat", 'e', Takes::kNothing, [](Options&, const char*) { return print_fields(); }},
    {"help", 'h', Takes::kNothing, [](Options&, const char*) { return print_and_end(kHelp); }},
    {"jobs", 'j', Takes::kValue,
     [](Options& o, const char* list) {
       for (std::string& job : split_list(list)) o.jobs.push_back(std::move(job));
       return kGoOn;
     }},
    {"pidformat", 'i', Takes::kNothing,
     [](Options& o, const char*) {
       add_format(o, kUsagePidLayout);
       o.by_node = true;
       return kGoOn;
     }},
    {"noheader", 'n', Takes::kNothing,
     [](Options& o, const char*) {
       o.header = false;
       return kGoOn;
     }},
    {"noconvert", 0, Takes::kNothing,
     [](Options& o, const char*) {
       o.convert = false;
       return kGoOn;
     }},
    {"fields", 'o', Takes::kValue,
     [](Options& o, const char* text) {
       add_format(o, text);
       return kGoOn;
     }},
    {"format", 'o', Takes::kValue, nullptr},
    {"parsable", 'p', Takes::kNothing,
     [](Options& o, const char*) {
       o.layout = Layout::kParsable;
       return kGoOn;
     }},
    {"parsable2", 'P', Takes::kNothing,
     [](Options& o, const char*) {
       o.layout = Layout::kParsable2;
       return kGoOn;
     }},
    {"usage", 0, Takes::kNothing, [](Options&, const char*) { return print_and_end(kUsage); }},
    {"verbose", 'v', Takes::kNothing,
     [](Options& o, const char*) {
       ++o.verbose;
       return kGoOn;
     }},
    {"version", 'V', Takes::kNothing,
     [](Options&, const char*) { return std::optional<int>(print_slurm_version()); }},
};

// A step that was asked for, or steps of a job.
struct Asked {
  NamedStep named;
  StepId id;  // once the job was found, and before it the number that its name begins with
  bool found = false;
};

// Nothing when a word names none, which was said.
std::optional<std::vector<Asked>> parse_jobs(const std::vector<std::string>& words) {
  std::vector<Asked> asked;
  for (const std::string& word : words) {
    const auto named = parse_named_step(word);
    const auto number = number_of_job(std::string_view(word).substr(0, word.find('.')));
    if (!named || !number) {
      const std::string why = number ? fmt::format("Bad step specified: {}", *number)
                                     : fmt::format("Bad job/step specified: {}", word);
      std::fprintf(stderr, "sstat: fatal: %s\n", why.c_str());
      return std::nullopt;
    }
    asked.push_back({*named, {*number, named->step.value_or(protocol::kAnyStep)}, false});
  }
  return asked;
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
void append_value(const Options& o, const Column& column, std::string_view value, bool last,
                  std::string& out) {
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
  for (const Column& column : columns) {  // names that are too long are cut without a mark
    const auto width = o.layout == Layout::kColumns ? static_cast<size_t>(std::abs(column.width))
                                                    : std::string_view::npos;
    append_value(o, column, column.field->name.substr(0, width), &column == &columns.back(), out);
  }
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

void say_asked(const std::vector<Asked>& asked) {
  debug("Jobs requested:\n");
  for (const auto& [named, id, found] : asked) {
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
      fail(id.step == protocol::kAnyStep
               ? fmt::format("No steps running for job {}", id.job)
               : fmt::format("StepId={} not found running.", name_of(id)));
      return;
    default:
      fail(fmt::format("problem getting step_layout for StepId={}: {}", name_of(id),
                       error_text(error)));
  }
}

void print_line(const Options& o, const std::vector<Column>& columns,
                const protocol::StepUsageRecord& record) {
  std::string line;
  for (const Column& column : columns) {
    append_value(o, column, column.field->render(record, o.convert), &column == &columns.back(),
                 line);
  }
  std::puts(line.c_str());
}

void print_step(const Options& o, const std::vector<Column>& columns,
                const protocol::StepUsageRecord& record) {
  for (const protocol::NodeUsage& node : record.nodes) {
    // the step's part there ended meanwhile
    if (node.code == ErrorCode::kOk || node.code == ErrorCode::kInvalidStepId) continue;
    fail(fmt::format("there was an error with the request to {} rc = {}", node.node,
                     error_text({node.code, {}})));
  }
  if (!o.by_node || record.step.layout == nullptr) return print_line(o, columns, record);
  for (const StepNode& part : record.step.layout->nodes) {
    protocol::StepUsageRecord one{record.step, {}};
    StepLayout layout = *record.step.layout;
    layout.node_list = part.name;
    one.step.layout = std::make_shared<const StepLayout>(std::move(layout));
    for (const protocol::NodeUsage& node : record.nodes) {
      if (node.node == part.name && node.code == ErrorCode::kOk) one.nodes.push_back(node);
    }
    if (!one.nodes.empty()) print_line(o, columns, one);
  }
}

// The jobs' own numbers, where they were named otherwise.
void find_jobs(Client& client, std::vector<Asked>& asked) {
  for (Asked& one : asked) {
    const Result<JobId> job = find_job(client, one.named.job);
    one.found = job.has_value();
    if (job) one.id.job = *job;
  }
}

}  // namespace

int sstat_main(int argc, char** argv) {
  Options o;
  if (const auto status =
          read_option_rows<Options>("sstat", kRows, argc, argv, o, Reading::kNoHint))
    return *status;
  for (int i = optind; i < argc; ++i) o.jobs.emplace_back(argv[i]);
  const auto columns = parse_format(o.format.value_or(std::string(kUsageLayout)));
  if (!columns) return 1;
  if (o.jobs.empty()) return fail("You didn't give me any jobs to stat.");
  auto asked = parse_jobs(o.jobs);
  if (!asked) return 1;
  Result<Client> client = Client::open();
  if (!client) return report("sstat", client.error());
  client->keep_asking();
  find_jobs(*client, *asked);
  if (o.verbose > 1) say_asked(*asked);
  std::string header;
  if (o.header) append_header(o, *columns, header);
  std::fputs(header.c_str(), stdout);
  for (const auto& [named, id, found] : *asked) {
    if (!found) {
      say_failed(id, {ErrorCode::kInvalidJobId, {}});
      continue;
    }
    if (o.verbose > 1) debug(fmt::format("requesting info for StepId={}", name_of(id)));
    const auto reply =
        client->call<protocol::QueryUsageReply>(protocol::QueryUsageRequest{id, o.all_steps});
    if (!reply) {
      say_failed(id, reply.error());
      continue;
    }
    for (const protocol::StepUsageRecord& record : reply->steps) print_step(o, *columns, record);
  }
  return 0;
}

}  // namespace sluice::cli
