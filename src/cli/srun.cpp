// srun: runs tasks, in a job it is in or in one it gets for them.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/step/allocation.hpp"
#include "cli/shared/client.hpp"
#include "cli/step/defined_options.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/step/srun_broadcast.hpp"
#include "cli/step/srun_script.hpp"
#include "cli/options/step_checks.hpp"
#include "cli/step/step_create.hpp"
#include "cli/step/step_session.hpp"
#include "cli/step/submit_call.hpp"
#include "cli/options/submit_env.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/srun/parts.hpp"
#include "cli/srun/session_options.hpp"
#include "cli/srun/spawned.hpp"
#include "common/base/errno_text.hpp"
#include "common/os/host_name.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/step_part.hpp"
#include "common/base/text.hpp"
#include "common/os/wait_status.hpp"
#include "common/step/mpi_spawned.hpp"
#include "common/names/errors.hpp"
#include "common/syntax/mpi_types.hpp"
#include "common/names/step_names.hpp"

namespace sluice::cli {
namespace {

using srun::fail_with;
using srun::Part;

constexpr uint32_t kUsualDebug = 3;  // of SRUN_DEBUG: Slurm's number of the level "info"

class Srun {
 public:
  Srun(Client& client, std::vector<Part>& parts, std::optional<srun::Spawned> spawned)
      : client_(client),
        parts_(parts),
        submission_(parts.front().submission),
        watch_(client, io_),
        link_(io_),
        spawned_(std::move(spawned)) {}

  int run(int argc, char** argv) {
    const ClusterConfig& config = client_.config();
    for (Part& part : parts_) {
      if (part.binds_cpus && config.task_plugin.empty())
        say("srun", "cluster configuration lacks support for cpu binding");
      fill_caller(part.submission, config, argc, argv);
      say_propagated("srun", part.submission);
      if (const auto status = complete_with_config(part.submission, config, "srun")) return *status;
    }
    say_plugins("srun", submission_.settings.verbose, config);
    if (std::ranges::any_of(parts_,
                            [](const Part& part) { return part.submission.settings.test_only; }))
      return test();
    if (submission_.settings.no_allocate) return run_outside();
    own_ = submission_.settings.job_id == 0;
    for (Part& part : parts_) {
      if (const auto status = prepare(part)) return *status;
      part.job = part.submission.settings.job_id;
    }
    if (own_) {
      if (submission_.step.relative != UINT32_MAX) {
        say("srun", "fatal: --relative option invalid for job allocation request");
        return error_exit();
      }
      if (const auto status = get_job()) return *status;
    }
    for (const Part& part : parts_) {
      if (own_) break;
      if (const auto status = check_against_environment(part)) return *status;
    }
    const int status = run_step();
    if (own_) {
      // first: a watch that breaks off cancels the job
      const JobId job = parts_.front().job;
      if (!cancelled_ || !cancel(client_, std::to_string(job)))
        end_allocation(client_, job, wait_status_);
    }
    return status;
  }

 private:
  int test() {
    protocol::SubmitJobRequest request;
    request.spec = submission_.job;
    for (size_t i = 1; i < parts_.size(); ++i)
      request.components.push_back(parts_[i].submission.job);
    request.test_only = true;
    return print_test("srun", submit_job(client_, request, kSrun));
  }

  // -Z: on the nodes named, without a job.
  int run_outside() {
    Part& part = parts_.front();
    if (parts_.size() > 1 || submission_.settings.broadcast) {
      return fail_with({"--no-allocate is for one step, and without --bcast"});
    }
    own_ = true;
    if (const auto status = prepare(part)) return *status;
    if (!submission_.settings.quiet) say("srun", "do not allocate resources");
    const auto names = expand_hosts(submission_.job.required_nodes.view());
    const size_t held = names ? names->size() : 0;
    const uint32_t wanted =
        submission_.job.min_nodes != 0 ? submission_.job.min_nodes : static_cast<uint32_t>(held);
    if (held == 0 || wanted > held) {
      return fail_with({fmt::format("Only allocated {} nodes asked for {}", held, wanted),
                        "Job creation failure."});
    }
    for (const NodeConfig& node : client_.nodes()) {
      if (node.name == names->front()) first_node_ = node.address;
    }
    part.nodes = wanted;
    const Result<IoEndpoint> endpoint = listen_for_daemons(link_, client_.config(), first_node_);
    if (!endpoint) return fail_with({endpoint.error().text});
    protocol::LaunchOutsideRequest request;
    request.id = outside_step_id();
    request.node_list = fold_hosts({names->begin(), names->begin() + wanted});
    request.job = submission_.job;
    request.spec = srun::step_spec(part, own_);
    request.spec.io = *endpoint;
    request.environment = part.environment.to_block();
    if (!run_prolog()) return error_exit();
    const auto made = client_.call<protocol::CreateStepReply>(request);
    if (!made) return report_launch_failure(request, made.error());
    tell_of_step(*made);
    const int status = follow({*made}, request.spec, {}, true);
    run_epilog();
    return status;
  }

  static StepId outside_step_id() {
    const uint64_t random = new_request_id();
    const auto high = static_cast<uint32_t>(random >> 32), low = static_cast<uint32_t>(random);
    return {kFirstOutsideJob + high % (kLastOutsideJob - kFirstOutsideJob + 1),
            low % kFirstStepPart};
  }

  // As when an agent refuses it.
  static int report_launch_failure(const protocol::LaunchOutsideRequest& request,
                                   const Error& error) {
    constexpr uint32_t kNoAddress = 1012;
    const std::string why = error.code == ErrorCode::kInvalidNodeName
                                ? error_number_text(kNoAddress)
                                : error_text(error);
    print_error("srun", fmt::format("Task launch for StepId={}.{} failed on node {}: {}",
                                    request.id.job, request.id.step, request.node_list, why));
    print_error("srun", fmt::format("Application launch failed: {}", why));
    say("srun", "Job step aborted");
    return shell_code(launch_failure_status(why));
  }

  // What can be found wrong before there is a job.
  std::optional<int> prepare(Part& part) {
    StepSpec& step = part.submission.step;
    JobSpec& job = part.submission.job;
    // complete_with_config() has refused other types than the cluster's
    if (!check_gres(job, client_.config().gres_types)) {
      // of the job's or step's own, says Slurm
      const JobId id = part.submission.settings.job_id;
      const std::string what = own_ ? "Unable to allocate resources"
                                    : fmt::format("Unable to create step for job {}", id);
      return fail_with({fmt::format("{}: {}", what, error_sentence(ErrorCode::kInvalidTres))});
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
      // all of the job's
      job.gres = job.tres_per_job = job.tres_per_socket = job.tres_per_task = {};
    }
    if (const auto status = choose_mpi(step)) return *status;
    if (step.x11 != X11Nodes::kNone) {
      Result<X11Target> target = find_x11_target();
      if (!target) return fail_x11(target.error().text);
      x11_ = std::move(*target);
    }
    const SubmitSettings& settings = part.submission.settings;
    Environment caller = current_environment();  // --export chooses of this, too
    caller.set("SRUN_DEBUG",
               std::to_string(kUsualDebug + settings.verbose - (settings.quiet ? 1 : 0)));
    Result<Environment> chosen = exported_environment(settings, caller);
    if (!chosen) return fail_with({chosen.error().text});
    part.environment = std::move(*chosen);
    set_caller_variables(part.environment);
    set_cluster_variable(client_.config(), part.environment);
    if (spawned_) part.environment.set(kMpiSpawnedVariable, spawned_->text);
    if (own_ && parts_.size() > 1)
      part.environment.set("SLURM_HET_SIZE", std::to_string(parts_.size()));
    // within a job SLURM_JOB_NAME is that job's
    if (settings.name_given) part.environment.set("SLURM_JOB_NAME", job.name.view());
    else if (!own_ || job.name.empty()) job.name = srun::base_name(part.program[0]);
    return std::nullopt;
  }

  static int fail_x11(const std::string& why) {
    print_error("srun", why);
    return 255;
  }

  // MpiDefault, where nothing else was asked for.
  std::optional<int> choose_mpi(StepSpec& step) const {
    const std::string& standard = client_.config().mpi_default;
    if (!step.mpi.empty() || mpi_kind(standard) == MpiKind::kNone) return std::nullopt;
    if (!mpi_kind(standard)) return fail_with(unknown_mpi_errors(standard));
    step.mpi = standard;
    return std::nullopt;
  }

  std::optional<int> get_job() {
    std::vector<JobSpec> specs;
    for (const Part& part : parts_) {
      JobSpec& spec = specs.emplace_back(part.submission.job);
      spec.command = part.program[0];
      spec.std_in = spec.std_out = spec.std_err = SharedText();
    }
    Submission request = submission_;
    request.job = specs.front();
    const Allocated allocated = allocate(client_, io_, watch_, request, kSrun,
                                         std::vector<JobSpec>(specs.begin() + 1, specs.end()));
    if (allocated.exit_status) return allocated.exit_status;
    const protocol::JobWatchUpdate& grant = allocated.grant;
    if (!grant.nodes.empty()) first_node_ = grant.nodes[0].host;
    parts_.front().job = allocated.job;
    parts_.front().nodes = static_cast<uint32_t>(grant.nodes.size());
    show_job(allocated.job, grant.allocation->node_list, parts_.front().nodes,
             fold_counts(grant.cpus_per_node));
    for (size_t i = 1; i < std::min(parts_.size(), grant.components.size()); ++i) {
      const HetComponent& component = grant.components[i];
      parts_[i].job = component.job;
      parts_[i].nodes = static_cast<uint32_t>(component.nodes.size());
      show_job(component.job, component.node_list, parts_[i].nodes, fold_counts(component.cpus));
    }
    set_allocation_variables(facts_of(allocated, request.job, client_.config()),
                             script_environment_);
    return std::nullopt;
  }

  std::optional<int> check_against_environment(const Part& part) const {
    const HetSurroundings::Component& component = part.surroundings;
    if (component.job == part.job) {
      const auto faults = step_faults(part.submission, component.nodes, component.node_list);
      if (!faults.empty()) return fail_with(faults);
      show_job(part.job, component.node_list, component.nodes, component.cpus);
      return std::nullopt;
    }
    const char* id = std::getenv("SLURM_JOB_ID");
    const char* count = std::getenv("SLURM_JOB_NUM_NODES");
    const auto nodes = to_number<uint32_t>(count != nullptr ? count : "");
    if (id == nullptr || !nodes || id != std::to_string(part.job)) return std::nullopt;
    if (submission_.job.begin != kNoTime) {
      print_error("srun", "--begin is ignored because nodes are already allocated.");
    }
    const char* list = std::getenv("SLURM_JOB_NODELIST");
    const auto faults = step_faults(part.submission, *nodes, list != nullptr ? list : "");
    if (!faults.empty()) return fail_with(faults);
    const char* cpus = std::getenv("SLURM_JOB_CPUS_PER_NODE");
    show_job(part.job, list != nullptr ? list : "", *nodes, cpus != nullptr ? cpus : "");
    return std::nullopt;
  }

  void show_job(JobId job, std::string_view list, uint32_t nodes, std::string_view cpus) const {
    if (submission_.settings.verbose == 0) return;
    say("srun", fmt::format("jobid {}: nodes({}):`{}', cpu counts: {}{}", job, nodes, list, cpus,
                            cpus.find('(') == std::string_view::npos &&
                                    cpus.find(',') == std::string_view::npos
                                ? "(x1)"
                                : ""));
  }

  int run_step() {
    const Result<IoEndpoint> endpoint = listen_for_daemons(link_, client_.config(), first_node_);
    if (!endpoint) return fail_with({endpoint.error().text});
    std::vector<protocol::CreateStepRequest> requests;
    for (const Part& part : parts_) {
      protocol::CreateStepRequest& request = requests.emplace_back();
      request.job = part.job;
      request.spec = srun::step_spec(part, own_);
      request.spec.io = *endpoint;
      request.spec.waits_for_srun = !prolog().empty() || submission_.settings.debugger_test;
      request.environment = part.environment.to_block();
      tell_of_request(request);
    }
    say_debug("srun", submission_.settings.verbose,
              fmt::format("initialized stdio listening socket, port {}", endpoint->port));
    StepRequestOptions options;
    options.immediate = submission_.settings.immediate_seconds.has_value();
    options.quiet = submission_.settings.quiet;
    options.or_overlap = spawned_.has_value();
    options.interrupted = [this] {
      io_.restart();
      io_.poll();
      return interrupted_;
    };
    for (const int number : {SIGQUIT, SIGUSR1, SIGUSR2}) held_.add(number);
    held_.async_wait(
        [this](const auto& error, int number) { interrupted_ = error ? interrupted_ : number; });
    // what becomes of the job meanwhile is for the step's session
    std::vector<protocol::JobWatchUpdate> early;
    watch_.handle([&early](const auto& update) { early.push_back(update); }, nullptr);
    std::deque<ProgramBroadcast> broadcasts;
    const std::optional<int> not_sent = send_programs(requests, broadcasts);
    const auto made = not_sent ? Result<std::vector<protocol::CreateStepReply>>()
                               : create_steps(client_, requests, options);
    const bool starts = made && made->size() == broadcasts.size();
    for (size_t i = 0; i < broadcasts.size(); ++i)
      broadcasts[i].keep(starts ? &(*made)[i].layout : nullptr);
    if (not_sent) return *not_sent;
    if (!made) return error_exit();
    tell_of_step(made->front());
    const bool prepared = run_prolog() && options.interrupted() == 0;
    const int status = follow(*made, requests.front().spec, early, prepared);
    run_epilog();
    return status;
  }

  void tell_of_request(const protocol::CreateStepRequest& request) const {
    constexpr uint32_t kNotGiven = 65534;  // as Slurm shows it
    const StepSpec& step = request.spec;
    const uint32_t verbose = submission_.settings.verbose;
    const uint32_t tasks = std::max(1U, step.num_tasks);
    say_debug("srun", verbose,
              fmt::format("requesting job {}, user {}, nodes {} including ({})", request.job,
                          step.uid, std::max(1U, step.min_nodes),
                          step.node_list.empty() ? "(null)" : step.node_list.view()));
    say_debug("srun", verbose,
              fmt::format("cpus {}, tasks {}, name {}, relative {}",
                          tasks * std::max(1U, step.cpus_per_task), tasks, step.name.view(),
                          step.relative == UINT32_MAX ? kNotGiven : step.relative));
  }

  // --bcast, of each part. An exit status when one cannot be sent.
  std::optional<int> send_programs(std::vector<protocol::CreateStepRequest>& requests,
                                   std::deque<ProgramBroadcast>& sent) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      sent.emplace_back(client_, parts_[i].submission);
      if (const auto status = sent.back().send(requests[i].job, requests[i].spec)) return status;
    }
    return std::nullopt;
  }

  int follow(const std::vector<protocol::CreateStepReply>& made, const StepSpec& spec,
             const std::vector<protocol::JobWatchUpdate>& early, bool prepared) {
    SessionOptions options = srun::session_options(spec, submission_.settings, client_.config());
    if (const Status opened =
            srun::open_streams(made.front(), spec, submission_, client_.config(), options);
        !opened) {
      cancel_steps(client_, made);
      return fail_with({opened.error().text});
    }
    options.gives_up = !prepared;
    for (size_t i = 0; i < made.size(); ++i)
      options.programs[step_id_text(made[i].id)] = parts_[i].program[0];
    options.x11 = x11_;
    if (spawned_) options.spawn_report = spawned_->report;
    StepSession session(client_, io_, link_, options);
    watch_.handle([&](const auto& update) { session.job_updated(update); }, nullptr);
    boost::asio::post(io_, [&] {
      for (const protocol::JobWatchUpdate& update : early) session.job_updated(update);
    });
    const int status = session.run(made);
    watch_.handle(nullptr, nullptr);
    wait_status_ = session.wait_status();
    cancelled_ = session.is_cancelled();
    return status;
  }

  // For SrunProlog and SrunEpilog.
  void tell_of_step(const protocol::CreateStepReply& step) {
    std::vector<uint32_t> tasks;
    for (const StepNode& node : step.layout.nodes)
      tasks.push_back(static_cast<uint32_t>(node.tasks.size()));
    for (const char* name : {"SLURM_STEP_ID", "SLURM_STEPID"})
      script_environment_.set(name, std::to_string(number_of_step(step.id.step)));
    for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS"}) {
      script_environment_.set(name, std::to_string(step.layout.num_tasks));
    }
    script_environment_.set("SLURM_NNODES", std::to_string(tasks.size()));
    script_environment_.set("SLURM_NODELIST", step.layout.node_list);
    script_environment_.set("SLURM_TASKS_PER_NODE", fold_counts(tasks));
  }

  // --prolog or SrunProlog; empty: there is none.
  [[nodiscard]] std::string prolog() const {
    const std::string& own = submission_.settings.prolog;
    const std::string program = own.empty() ? client_.config().srun_prolog : own;
    return program == "none" ? std::string() : program;
  }
  bool run_prolog() {
    const std::string program = prolog();
    if (program.empty()) return true;
    const int status =
        run_srun_script(program, parts_.front().program, script_variables("prolog_srun"));
    if (status == 0) return true;
    print_error("srun", fmt::format("srun prolog failed rc = {}. Aborting step.", status));
    return false;
  }
  void run_epilog() {
    const std::string program = !submission_.settings.epilog.empty() ? submission_.settings.epilog
                                                                     : client_.config().srun_epilog;
    if (!program.empty() && program != "none") {
      const int status =
          run_srun_script(program, parts_.front().program, script_variables("epilog_srun"));
      if (status != 0) print_error("srun", fmt::format("srun epilog failed status={}", status));
    }
  }
  [[nodiscard]] Environment script_variables(std::string_view context) const {
    Environment all = parts_.front().environment;
    for (const std::string& entry : script_environment_.entries()) {
      const size_t equal = entry.find('=');
      all.set(entry.substr(0, equal), entry.substr(equal + 1));
    }
    const JobSpec& job = submission_.job;
    all.set("SLURM_MPI_TYPE", submission_.step.mpi.empty() ? "none" : submission_.step.mpi.view());
    all.set("SLURM_JOB_UID", std::to_string(job.uid));
    all.set("SLURM_JOB_USER", job.user_name.view());
    all.set("SLURM_UMASK", fmt::format("{:04o}", job.umask));
    set_limit_variables(job.limits, all);
    all.set("SLURM_SCRIPT_CONTEXT", context);
    return all;
  }

  Client& client_;
  std::vector<Part>& parts_;
  Submission& submission_;  // of the first part: what is about the step as a whole
  boost::asio::io_context io_{1};
  // Between waiting for the job and following the step, a signal must not end us and leave the job.
  boost::asio::signal_set held_{io_, SIGINT, SIGTERM, SIGHUP};
  int interrupted_ = 0;  // by this signal
  JobWatch watch_;
  StepLink link_;
  Environment script_environment_;  // what SrunProlog and SrunEpilog find besides
  bool own_ = false;
  std::string first_node_;
  int32_t wait_status_ = 1 << 8;  // until there was a step
  bool cancelled_ = false;        // by Ctrl-C
  std::optional<X11Target> x11_;
  std::optional<srun::Spawned> spawned_;
};

}  // namespace

int srun_main(int argc, char** argv) {
  if (!has_working_folder("srun")) return 255;
  signal(SIGPIPE, SIG_IGN);
  std::optional<srun::Spawned> spawned = srun::take_spawned();
  std::vector<srun::Part> parts;
  if (const auto status = srun::read_parts(argc, argv, parts)) return *status;
  Result<Client> client = Client::open();
  if (!client) return report("srun", client.error());
  if (const uint32_t seconds = parts.front().submission.settings.message_seconds; seconds != 0) {
    client->wait_for_answers(std::chrono::seconds(seconds));
  }
  return Srun(*client, parts, std::move(spawned)).run(argc, argv);
}

}  // namespace sluice::cli
