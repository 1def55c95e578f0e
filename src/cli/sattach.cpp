// sattach: joins the input and output of a running step.
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/step/allocation.hpp"
#include "cli/shared/client.hpp"
#include "cli/shared/job_names.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/step/step_create.hpp"
#include "cli/step/step_link.hpp"
#include "cli/step/step_session.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kUsage = "Usage: sattach [options] <jobid.stepid>\n";
constexpr const char* kHelp =
    "Usage: sattach [options] <jobid.stepid>\n"
    "      --input-filter=taskid  give input to this task only\n"
    "      --output-filter=taskid show what this task writes to stdout only\n"
    "      --error-filter=taskid  show what this task writes to stderr only\n"
    "  -l, --label        the task's number before each line\n"
    "      --layout       show where the tasks run, and leave\n"
    "  -Q, --quiet        say nothing but errors\n"
    "  -v, --verbose      say more (-vv: still more)\n"
    "  -V, --version      show the version\n"
    "\nHelp options:\n"
    "  -h, --help         show this help message\n"
    "  -u, --usage        show how to call it\n";

struct Attach {
  std::string job;  // as it was named
  StepId id;
  bool layout = false;
  SessionOptions session;
};

// The task that an option is for; an exit status when its value is no number.
std::optional<int> take_task(std::string_view option, const char* value,
                             std::optional<uint32_t>& task) {
  task = to_number<uint32_t>(value);
  if (task) return kGoOn;
  print_error("sattach", fmt::format("Invalid numeric value \"{}\" for {}.", value, option));
  return error_exit();
}

using O = Attach;
using V = const char*;
constexpr OptionRow<O> kOptions[] = {
    {"autocomplete", 0, Takes::kValue, no_effect<O>},
    {"debugger-test", 0, Takes::kNothing, no_effect<O>},
    {"error-filter", 0, Takes::kValue,
     [](O& o, V v) { return take_task("error-filter", v, o.session.only_err); }},
    {"help", 'h', Takes::kNothing, [](O&, V) { return print_and_end(kHelp); }},
    {"input-filter", 0, Takes::kValue,
     [](O& o, V v) { return take_task("input-filter", v, o.session.only_in); }},
    {"label", 'l', Takes::kNothing, [](O& o, V) { return o.session.label = true, kGoOn; }},
    {"layout", 0, Takes::kNothing, [](O& o, V) { return o.layout = true, kGoOn; }},
    {"output-filter", 0, Takes::kValue,
     [](O& o, V v) { return take_task("output-filter", v, o.session.only_out); }},
    {"pty", 0, Takes::kNothing, [](O& o, V) { return o.session.pty = true, kGoOn; }},
    {"quiet", 'Q', Takes::kNothing, [](O& o, V) { return o.session.quiet = true, kGoOn; }},
    {"usage", 'u', Takes::kNothing, [](O&, V) { return print_and_end(kUsage); }},
    {"verbose", 'v', Takes::kNothing, [](O& o, V) { return ++o.session.verbose, kGoOn; }},
    {"version", 'V', Takes::kNothing, [](O&, V) { return std::optional(print_slurm_version()); }},
};

std::optional<int> read_options(int argc, char** argv, Attach& out) {
  std::string name = "sattach";  // getopt's messages begin with it
  std::vector<char*> words(argv, argv + argc);
  words[0] = name.data();
  words.push_back(nullptr);
  if (const auto status =
          read_option_rows<O>("sattach", kOptions, argc, words.data(), out, Reading::kOperandsEnd))
    return status;
  const bool one = optind + 1 == argc;
  const std::string word = one ? words[static_cast<size_t>(optind)] : "";
  const auto named = parse_named_step(word);
  if (!named) {
    print_bad_step("sattach", word);
    return error_exit();
  }
  if (named->step) {
    out.job = named->job;
    out.id.step = *named->step;
    return std::nullopt;
  }
  print_error("sattach",
              one ? "Failed to parse stepid from command line options" : "too many parameters");
  std::fputs(kUsage, stdout);
  return error_exit();
}

int report_step(const Error& error) {
  // Slurm does not tell a step that is not there, or another's, from such a job
  const bool no_step =
      error.code == ErrorCode::kInvalidStepId || error.code == ErrorCode::kAccessDenied;
  const std::string why =
      no_step ? std::string(error_sentence(ErrorCode::kInvalidJobId)) : error_text(error);
  print_error("sattach", fmt::format("Could not get job step info: {}", why));
  return error_exit();
}

int print_layout(const StepLayout& layout) {
  std::printf("Job step layout:\n");
  std::printf("\t%u tasks, %zu nodes (%s)\n\n", layout.num_tasks, layout.nodes.size(),
              layout.node_list.c_str());
  for (size_t i = 0; i < layout.nodes.size(); ++i) {
    const StepNode& node = layout.nodes[i];
    std::printf("\tNode %zu (%s), %zu task(s): ", i, node.name.c_str(), node.tasks.size());
    for (const uint32_t task : node.tasks) std::printf("%u ", task);
    std::printf("\n");
  }
  return 0;
}

// A step in several components of a heterogeneous job is one in each of them; any of them names the
// whole.
Result<std::vector<StepId>> parts_of_step(Client& client, StepId id) {
  protocol::DescribeStepRequest request;
  request.id = id;
  const auto reply = client.call<protocol::DescribeStepReply>(request);
  if (!reply) return tl::unexpected(reply.error());
  if (reply->step.world == nullptr) return std::vector{id};
  std::vector<StepId> parts;
  for (const JobId job : reply->step.world->jobs) parts.push_back({job, id.step});
  return parts;
}

int attach(Client& client, Attach& what) {
  boost::asio::io_context io{1};
  StepLink link(io);
  const Result<IoEndpoint> endpoint = listen_for_daemons(link, client.config(), "");
  if (!endpoint) {
    print_error("sattach", endpoint.error().text);
    return error_exit();
  }
  protocol::AttachStepRequest request;
  request.id = what.id;
  request.io = *endpoint;
  request.with_stdin = true;
  std::vector<protocol::CreateStepReply> parts;
  const auto ids = parts_of_step(client, what.id);
  if (!ids) return report_step(ids.error());
  for (const StepId id : *ids) {
    request.id = id;
    const auto reply = client.call<protocol::DescribeStepReply>(request);
    if (!reply) return report_step(reply.error());
    parts.push_back({id, *reply->step.layout, {}});
  }
  what.session.command = "sattach";
  what.session.attached = true;
  return StepSession(client, io, link, what.session).run(parts);
}

}  // namespace

int sattach_main(int argc, char** argv) {
  Attach what;
  if (const auto status = read_options(argc, argv, what)) return *status;
  Result<Client> client = Client::open();
  if (!client) return report("sattach", client.error());
  client->keep_asking();
  const Result<JobId> job = find_job(*client, what.job);
  if (!job) return report_step(job.error());
  what.id.job = *job;
  if (!what.layout) return attach(*client, what);
  protocol::DescribeStepRequest request;
  request.id = what.id;
  const auto reply = client->call<protocol::DescribeStepReply>(request);
  if (!reply) return report_step(reply.error());
  return print_layout(*reply->step.layout);
}

}  // namespace sluice::cli
