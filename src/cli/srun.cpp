// srun: runs tasks, in a job it is in or in one it gets for them.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/shared/allocation.hpp"
#include "cli/shared/client.hpp"
#include "cli/shared/multi_prog_file.hpp"
#include "cli/shared/option_parser.hpp"
#include "cli/shared/srun_broadcast.hpp"
#include "cli/shared/srun_script.hpp"
#include "cli/shared/step_checks.hpp"
#include "cli/shared/step_create.hpp"
#include "cli/shared/step_session.hpp"
#include "cli/shared/submit_call.hpp"
#include "cli/shared/submit_env.hpp"
#include "cli/shared/terminal.hpp"
#include "common/base/errno_text.hpp"
#include "common/base/host_name.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/tables/errors.hpp"
#include "common/tables/mpi_types.hpp"

namespace sluice::cli {
namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

int fail_with(const std::vector<std::string>& errors) {
  for (const std::string& error : errors)
    print_error("srun", error);
  return error_exit();
}

class Srun {
 public:
  Srun(Client& client, Submission& submission, std::vector<std::string> program)
      : client_(client),
        submission_(submission),
        program_(std::move(program)),
        watch_(client, io_),
        link_(io_) {}

  int run(int argc, char** argv) {
    const ClusterConfig& config = client_.config();
    fill_caller(submission_, config, argc, argv);
    if (const OptionResult there = resolve_outside(submission_, config); !there) {
      return report_problem("srun", there.error());
    }
    if (submission_.settings.test_only) return test();
    if (const auto status = prepare()) return *status;
    job_ = submission_.settings.job_id;
    own_ = job_ == 0;
    if (own_) {
      if (submission_.step.relative != UINT32_MAX) {
        say("srun", "fatal: --relative option invalid for job allocation request");
        return error_exit();
      }
      if (const auto status = get_job()) return *status;
    } else if (const auto status = check_against_environment()) {
      return *status;
    }
    const int status = run_step();
    if (own_) {
      end_allocation(client_, job_, wait_status_);  // first: a watch that breaks off cancels the job
    }
    return status;
  }

 private:
  int test() {
    protocol::SubmitJobRequest request;
    request.spec = submission_.job;
    request.test_only = true;
    return print_test("srun", submit_job(client_, request, kSrun));
  }

  // What can be found wrong before there is a job.
  std::optional<int> prepare() {
    StepSpec& step = submission_.step;
    JobSpec& job = submission_.job;
    if (const Status known = check_gres(job, client_.config().gres_types); !known) {
      return fail_with({std::string(error_sentence(known.error().code))});
    }
    if (step.pty) {
      if (const auto size = terminal_size()) {
        step.pty_rows = size->rows;
        step.pty_columns = size->columns;
      } else {
        print_error("srun", fmt::format("ioctl(TIOCGWINSZ): {}", errno_text(errno)));
        print_error("srun", "Not using a pseudo-terminal, disregarding --pty option");
        step.pty = false;
      }
    }
    if (step.interactive) {  // salloc's shell: one task beside whatever else runs in the job
      job.min_nodes = job.max_nodes = job.num_tasks = 1;
      job.ntasks_per_node = 0;
      step.overlap = OverlapKind::kOverlap;
      job.gres = job.tres_per_job = job.tres_per_socket = job.tres_per_task = {};  // all of the job's
    }
    if (const auto status = choose_mpi()) return *status;
    if (step.x11 != X11Nodes::kNone) {
      Result<X11Target> target = find_x11_target();
      if (!target) return fail_x11(target.error().text);
      x11_ = std::move(*target);
    }
    Result<Environment> chosen = exported_environment(submission_.settings, current_environment());
    if (!chosen) return fail_with({chosen.error().text});
    environment_ = std::move(*chosen);
    set_caller_variables(environment_);
    if (!submission_.settings.name_given) job.name = base_name(program_[0]);
    else environment_.set("SLURM_JOB_NAME", job.name.view());
    return std::nullopt;
  }

  static int fail_x11(const std::string& why) {
    print_error("srun", why);
    return 255;
  }

  // MpiDefault, where nothing else was asked for.
  std::optional<int> choose_mpi() {
    const std::string& standard = client_.config().mpi_default;
    if (!submission_.step.mpi.empty() || mpi_kind(standard) == MpiKind::kNone) return std::nullopt;
    if (!mpi_kind(standard)) return fail_with(unknown_mpi_errors(standard));
    submission_.step.mpi = standard;
    return std::nullopt;
  }

  std::optional<int> get_job() {
    Submission request = submission_;
    request.job.command = program_[0];
    request.job.std_in = request.job.std_out = request.job.std_err = SharedText();
    const Allocated allocated = allocate(client_, io_, watch_, request, kSrun);
    if (allocated.exit_status) return allocated.exit_status;
    job_ = allocated.job;
    const protocol::JobWatchUpdate& grant = allocated.grant;
    nodes_ = static_cast<uint32_t>(grant.nodes.size());
    if (!grant.nodes.empty()) first_node_ = grant.nodes[0].host;
    show_job(grant.allocation->node_list, nodes_, fold_counts(grant.cpus_per_node));
    set_allocation_variables(facts_of(allocated, request.job, client_.config()),
                             script_environment_);
    return std::nullopt;
  }

  std::optional<int> check_against_environment() {
    const char* id = std::getenv("SLURM_JOB_ID");
    const char* count = std::getenv("SLURM_JOB_NUM_NODES");
    const auto nodes = to_number<uint32_t>(count != nullptr ? count : "");
    if (id == nullptr || !nodes || id != std::to_string(job_)) return std::nullopt;
    if (submission_.job.begin != kNoTime) {
      print_error("srun", "--begin is ignored because nodes are already allocated.");
    }
    const char* list = std::getenv("SLURM_JOB_NODELIST");
    const auto faults = step_faults(submission_, *nodes, list != nullptr ? list : "");
    if (!faults.empty()) return fail_with(faults);
    const char* cpus = std::getenv("SLURM_JOB_CPUS_PER_NODE");
    show_job(list != nullptr ? list : "", *nodes, cpus != nullptr ? cpus : "");
    return std::nullopt;
  }

  void show_job(std::string_view list, uint32_t nodes, std::string_view cpus) const {
    if (submission_.settings.verbose == 0) return;
    say("srun", fmt::format("jobid {}: nodes({}):`{}', cpu counts: {}{}", job_, nodes, list, cpus,
                            cpus.find('(') == std::string_view::npos &&
                                    cpus.find(',') == std::string_view::npos
                                ? "(x1)"
                                : ""));
  }

  StepSpec step_spec() const {
    StepSpec step = make_step(submission_);
    step.name = submission_.settings.name_given || own_ ? submission_.job.name.str()
                                                        : base_name(program_[0]);
    step.uid = submission_.job.uid;
    step.gid = submission_.job.gid;
    step.request_id = new_request_id();
    const size_t skip = submission_.settings.multi_prog ? 1 : 0;
    for (size_t i = skip; i < program_.size(); ++i)
      step.arguments.emplace_back(program_[i]);
    const uint32_t tasks = std::max({step.num_tasks, own_ ? nodes_ : step.min_nodes, 1U});
    for (SharedText* stream : {&step.std_in, &step.std_out, &step.std_err}) {
      // a number that no task has is a file's name
      const auto task = to_number<uint32_t>(stream->view());
      if (task && *task >= tasks) *stream = fmt::format("./{}", stream->view());
    }
    if (own_) {  // the job was made to measure: the step has all of its nodes
      step.min_nodes = step.max_nodes = nodes_;
      step.relative = UINT32_MAX;
      if (step.distribution != "arbitrary") step.node_list = SharedText();
      step.excluded_nodes = step.constraint = SharedText();
    }
    return step;
  }

  int run_step() {
    const Result<IoEndpoint> endpoint = link_.listen(
        address_for_daemons(client_.config(), first_node_), client_.config().srun_port_range);
    if (!endpoint) return fail_with({endpoint.error().text});
    protocol::CreateStepRequest request;
    request.job = job_;
    request.spec = step_spec();
    request.spec.io = *endpoint;
    request.environment = environment_.to_block();
    if (!run_prolog()) return error_exit();
    StepRequestOptions options;
    options.immediate = submission_.settings.immediate_seconds.has_value();
    options.quiet = submission_.settings.quiet;
    options.interrupted = [this] {
      io_.restart();
      io_.poll();
      return interrupted_;
    };
    held_.async_wait([this](const auto& error, int) { interrupted_ = interrupted_ || !error; });
    ProgramBroadcast broadcast(client_, submission_);
    if (const auto status = broadcast.send(job_, request.spec)) return *status;
    const auto step = create_step(client_, request, options);
    broadcast.keep(step ? &step->layout : nullptr);
    if (!step) return error_exit();
    const int status = follow(*step, request.spec);
    run_epilog();
    return status;
  }

  int follow(const protocol::CreateStepReply& step, const StepSpec& spec) {
    SessionOptions options;
    if (const Status opened = open_streams(step, spec, options); !opened) {
      protocol::SignalRequest request;
      request.target = fmt::format("{}.{}", step.id.job, step.id.step);
      request.signal = SIGKILL;
      request.flags = protocol::kSignalCancel;
      (void)client_.call<protocol::CountReply>(request);
      return fail_with({opened.error().text});
    }
    const ClusterConfig& config = client_.config();
    const SubmitSettings& settings = submission_.settings;
    options.verbose = settings.verbose;
    options.quiet = settings.quiet;
    options.no_kill = spec.no_kill;
    options.disable_status = settings.disable_status;
    options.quit_on_interrupt = settings.quit_on_interrupt;
    options.kill_on_bad_exit =
        spec.kill_on_bad_exit == UINT32_MAX ? config.kill_on_bad_exit : spec.kill_on_bad_exit != 0;
    options.kill_on_oom = spec.oom_kill_step == Toggle::kDefault ? has_option(config.task_plugin_param, "OOMKillStep")
                                                                 : spec.oom_kill_step == Toggle::kYes;
    options.ignored_signals = settings.ignored_signals;
    options.x11 = x11_;
    options.wait_seconds = spec.wait_seconds != UINT32_MAX
                               ? spec.wait_seconds
                               : static_cast<uint32_t>(to_seconds(config.wait_time));
    options.pty = spec.pty;
    options.label = spec.label && !spec.pty;
    StepSession session(client_, io_, link_, options);
    watch_.handle([&](const auto& update) { session.job_updated(update); }, nullptr);
    const int status = session.run(step);
    watch_.handle(nullptr, nullptr);
    wait_status_ = session.wait_status();
    return status;
  }

  Status open_streams(const protocol::CreateStepReply& step,
                      const StepSpec& spec,
                      SessionOptions& options) const {
    const std::string host = short_host_name();
    PatternFields fields;
    fields.step = step.id;
    fields.job_name = spec.name;
    fields.user_name = submission_.job.user_name;
    fields.node_name = host;
    const bool append = spec.open_mode == OpenMode::kAppend ||
                        (spec.open_mode == OpenMode::kDefault && client_.config().job_file_append);
    const Result<int> out = open_output(spec.std_out, fields, append, STDOUT_FILENO, "stdout");
    if (!out) return tl::unexpected<Error>(out.error());
    // Without a name of its own, standard error goes where output goes when that is a file.
    const int fallback = spec.std_err.empty() && *out != STDOUT_FILENO ? *out : STDERR_FILENO;
    const Result<int> err = spec.std_err == spec.std_out
                                ? Result<int>(*out == STDOUT_FILENO ? STDERR_FILENO : *out)
                                : open_output(spec.std_err, fields, append, fallback, "stderr");
    if (!err) return tl::unexpected<Error>(err.error());
    const Result<int> in = open_input(spec.std_in, fields);
    if (!in) return tl::unexpected<Error>(in.error());
    options.input = *in;
    options.output = *out;
    options.error = *err;
    options.input_task = to_number<uint32_t>(spec.std_in.view());
    return {};
  }

  bool run_prolog() {
    const std::string program = !submission_.settings.prolog.empty() ? submission_.settings.prolog
                                                                     : client_.config().srun_prolog;
    if (program.empty() || program == "none") return true;
    const int status = run_srun_script(program, program_, script_variables());
    if (status == 0) return true;
    print_error("srun", fmt::format("srun prolog failed rc = {}. Aborting step.", status));
    return false;
  }
  void run_epilog() {
    const std::string program = !submission_.settings.epilog.empty() ? submission_.settings.epilog
                                                                     : client_.config().srun_epilog;
    if (!program.empty() && program != "none") {
      (void)run_srun_script(program, program_, script_variables());
    }
  }
  [[nodiscard]] Environment script_variables() const {
    Environment all = environment_;
    for (const std::string& entry : script_environment_.entries()) {
      const size_t equal = entry.find('=');
      all.set(entry.substr(0, equal), entry.substr(equal + 1));
    }
    return all;
  }

  Client& client_;
  Submission& submission_;
  std::vector<std::string> program_;
  boost::asio::io_context io_{1};
  // Between waiting for the job and following the step, a signal must not end us and leave the job.
  boost::asio::signal_set held_{io_, SIGINT, SIGTERM, SIGHUP};
  bool interrupted_ = false;
  JobWatch watch_;
  StepLink link_;
  Environment environment_;         // of the tasks
  Environment script_environment_;  // what SrunProlog and SrunEpilog find besides
  JobId job_ = kNoJob;
  bool own_ = false;
  uint32_t nodes_ = 0;
  std::string first_node_;
  int32_t wait_status_ = 0;
  std::optional<X11Target> x11_;
};

// --multi-prog: what the tasks run, and how many there are when no option says that.
std::optional<int> read_programs(const std::string& path, Submission& out) {
  const Result<std::string> text = read_multi_prog(path);
  if (!text) return fail_with({text.error().text});
  const MultiProgCheck check = check_multi_prog(*text, out.job.num_tasks, path);
  if (!check.faults.empty()) return fail_with(check.faults);
  if (check.tasks > 1) out.job.num_tasks = check.tasks;  // one is no wish: as many as nodes
  out.step.multi_prog = *text;
  return std::nullopt;
}

}  // namespace

int srun_main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  OptionParser parser(kSrun);
  if (const auto status = parser.read_arguments(argc, argv)) return *status;
  parser.read_environment();
  Submission submission;
  if (const auto status = parser.apply(submission)) return *status;
  if (submission.settings.verbose > 0) parser.print_defined();
  if (parser.operands().empty()) {
    say("srun", "fatal: No command given to execute.");
    return error_exit();
  }
  if (submission.settings.multi_prog) {
    if (const auto status = read_programs(parser.operands()[0], submission)) return *status;
  }
  if (const auto status = complete_request(submission, kSrun)) return *status;
  Result<Client> client = Client::open();
  if (!client) return report("srun", client.error());
  if (submission.settings.message_seconds != 0) {
    client->wait_for_answers(std::chrono::seconds(submission.settings.message_seconds));
  }
  return Srun(*client, submission, parser.operands()).run(argc, argv);
}

}  // namespace sluice::cli
