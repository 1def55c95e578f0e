#include "cli/srun/parts.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/step/allocation.hpp"
#include "cli/format/environment.hpp"
#include "cli/options/find_in_path.hpp"
#include "cli/options/multi_prog_file.hpp"
#include "cli/step/step_create.hpp"
#include "cli/step/submit_call.hpp"
#include "cli/options/submit_env.hpp"
#include "common/os/host_name.hpp"
#include "common/base/index_set.hpp"
#include "common/base/text.hpp"

namespace sluice::cli::srun {
namespace {

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

// The sets of --het-group, one a part; what is malformed is refused when options are applied.
std::vector<IndexSet> het_groups_of(const std::vector<OptionParser>& lines) {
  std::vector<IndexSet> sets;
  for (const OptionParser& line : lines) {
    const auto text =
        line.argument("het-group") ? line.argument("het-group") : line.argument("pack-group");
    sets.push_back(IndexSet::parse(text.value_or("")).value_or(IndexSet()));
  }
  return sets;
}

// An earlier part without a program runs the next one's.
std::optional<int> share_programs(std::vector<OptionParser>& lines) {
  if (lines.back().operands().empty()) {
    Submission shown;  // an option may be all that was asked for: --mpi=list
    if (const auto status = OptionParser(lines.back()).apply(shown)) return status;
    say("srun", "fatal: No command given to execute.");
    return error_exit();
  }
  for (size_t i = lines.size() - 1; i-- > 0;) {
    if (lines[i].operands().empty()) lines[i].set_operands(lines[i + 1].operands());
  }
  return std::nullopt;
}

// SLURM_TEST_EXEC: a program that is not here, either, is not asked for on the nodes; else it is
// the one that was found.
std::optional<int> test_program(Part& part) {
  const char* set = std::getenv("SLURM_TEST_EXEC");
  if (set == nullptr || !flag_is_on(set) || part.submission.settings.multi_prog)
    return std::nullopt;
  const SharedText& folder = part.submission.job.work_dir;
  if (auto found =
          find_program(part.program[0], folder.empty() ? working_folder() : folder.str())) {
    part.program[0] = std::move(*found);
    return std::nullopt;
  }
  say("srun", "fatal: Can not execute " + part.program[0]);
  return error_exit();
}

// Beside others in one job: that the job has so many nodes is no wish to have them all, and of a
// range the least is enough.
void be_a_part(Submission& submission) {
  if (submission.settings.job_id == 0) return;
  JobSpec& job = submission.job;
  if (submission.settings.nodes_inherited) job.min_nodes = 0;
  job.max_nodes = job.min_nodes;
  if (job.num_tasks == 0)
    job.num_tasks = std::max(1U, job.min_nodes) * std::max(1U, job.ntasks_per_node);
}

// `beside_others`: in a job that is no heterogeneous one.
std::optional<int> read_part(const OptionParser& line, std::optional<uint32_t> group,
                             bool beside_others, Part& part) {
  OptionParser parser = line;
  parser.read_environment(group);
  if (const auto status = parser.apply(part.submission)) return status;
  // -B sets the threads, too
  const bool whole_form = parser.argument("extra-node-info").has_value();
  part.binds_cpus = !part.submission.step.cpu_bind.empty() ||
                    (part.submission.job.threads_per_core != 0 && !whole_form);
  const JobSpec& job = part.submission.job;
  if (part.submission.step.pty &&
      !(job.std_in.empty() && job.std_out.empty() && job.std_err.empty())) {
    return fail_with({"--error/--input/--output are incompatible with --pty"});
  }
  if (part.submission.settings.verbose > 0) parser.print_defined(part.submission);
  part.program = parser.operands();
  if (part.submission.settings.multi_prog) {
    if (const auto status = read_programs(part.program[0], part.submission)) return status;
  }
  if (beside_others) be_a_part(part.submission);
  if (const auto status = complete_request(part.submission, kSrun)) return status;
  return test_program(part);
}

}  // namespace

int fail_with(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) print_error("srun", error);
  return error_exit();
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::optional<int> read_parts(int argc, char** argv, std::vector<Part>& parts) {
  std::vector<OptionParser> lines;
  if (const auto status = read_components(kSrun, argc, argv, lines)) return status;
  if (const auto status = share_programs(lines)) return status;
  const HetSurroundings around =
      lines.front().argument("jobid") ? HetSurroundings() : het_surroundings();
  std::vector<PartPlace> places;
  if (around.components.empty()) {
    const bool inside = !lines.front().argument("jobid") && std::getenv("SLURM_JOB_ID") != nullptr;
    const std::vector<IndexSet> groups = het_groups_of(lines);
    const bool divided = inside && lines.size() > 1;  // the job's nodes among the parts
    if (std::string fault = inside && !divided ? fault_without_components(groups) : "";
        !fault.empty())
      return fail_with({fault});
    PartPlaces placed =
        place_parts(divided ? groups : std::vector<IndexSet>(lines.size()), lines.size());
    if (!placed.error.empty()) return fail_with({placed.error});
    places = std::move(placed.places);
  } else {
    PartPlaces placed = place_parts(het_groups_of(lines), around.components.size());
    if (!placed.error.empty()) return fail_with({placed.error});
    places = std::move(placed.places);
  }
  for (size_t i = 1; i < lines.size(); ++i) lines[i].inherit(lines[i - 1]);
  for (const PartPlace& place : places) {
    Part& part = parts.emplace_back();
    const bool inside = !around.components.empty();
    if (inside) part.surroundings = around.components[place.group];
    const auto group = inside ? std::optional(place.group) : std::nullopt;
    if (const auto status = read_part(lines[place.part], group, !inside && lines.size() > 1, part))
      return status;
  }
  return std::nullopt;
}

StepSpec step_spec(const Part& part, bool own) {
  const Submission& given = part.submission;
  StepSpec step = make_step(given);
  step.name = given.settings.name_given ? given.job.name.str() : base_name(part.program[0]);
  step.uid = given.job.uid;
  step.gid = given.job.gid;
  step.request_id = new_request_id();
  step.srun_host = short_host_name();
  step.srun_pid = static_cast<uint32_t>(getpid());
  const size_t skip = given.settings.multi_prog ? 1 : 0;
  for (size_t i = skip; i < part.program.size(); ++i) step.arguments.emplace_back(part.program[i]);
  const uint32_t tasks = std::max({step.num_tasks, own ? part.nodes : step.min_nodes, 1U});
  for (SharedText* stream : {&step.std_in, &step.std_out, &step.std_err}) {
    // a number that no task has is a file's name
    const auto task = to_number<uint32_t>(stream->view());
    if (task && *task >= tasks) *stream = fmt::format("./{}", stream->view());
  }
  step.own_job = own;
  if (own) {  // the job was made to measure: the step has all of its nodes
    step.min_nodes = step.max_nodes = part.nodes;
    step.relative = UINT32_MAX;
    if (step.distribution != "arbitrary") step.node_list = SharedText();
    step.excluded_nodes = step.constraint = SharedText();
  }
  return step;
}

}  // namespace sluice::cli::srun
