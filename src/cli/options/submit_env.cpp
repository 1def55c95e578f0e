#include "cli/options/submit_env.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/format/environment.hpp"
#include "cli/options/option_parser.hpp"
#include "common/base/errno_text.hpp"
#include "common/os/host_name.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/environment/memory_bind.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice::cli {
namespace {

constexpr uint32_t kMostRepetitions = 1U << 16;  // of one host in a file

// The items of an --export list: commas inside quotes separate nothing. Quotes belong to the value,
// but for those around a whole item.
std::vector<std::string> export_items(std::string_view list) {
  std::vector<std::string> items(1);
  bool in_single = false, in_double = false;  // Slurm looks at each kind by itself
  for (const char c : list) {
    in_single = in_single != (c == '\'');
    in_double = in_double != (c == '"');
    if (c == ',' && !in_single && !in_double) items.emplace_back();
    else items.back() += c;
  }
  for (std::string& item : items) {
    const bool quoted = item.size() > 1 && (item.front() == '\'' || item.front() == '"');
    if (quoted && item.back() == item.front()) item = item.substr(1, item.size() - 2);
  }
  return items;
}

std::string_view name_of(const std::string& entry) {
  return std::string_view(entry).substr(0, entry.find('='));
}

void copy_matching(const Environment& from, std::string_view prefix, Environment& to) {
  for (const std::string& entry : from.entries()) {
    if (entry.starts_with(prefix)) to.set(name_of(entry), from.get(name_of(entry)));
  }
}

Result<std::string> read_descriptor(int fd) {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(errno_text(errno));
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

Result<Environment> environment_file(const std::string& name) {
  const auto number = to_number<int>(name);
  const int fd = number ? *number : ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure("Could not open user environment file " + name);
  Result<std::string> text = read_descriptor(fd);
  if (!number) ::close(fd);
  if (!text) return failure("Could not read user environment file " + name);
  text->push_back('\0');
  return Environment::from_block(*text);
}

// The names of one entry of a host file: `n3`, `n[1-2]`, and `n3*2`, which is n3 twice.
std::vector<std::string> hosts_of_entry(const std::string& entry) {
  const size_t star = entry.find('*');
  const uint32_t times =
      star == std::string::npos ? 1 : to_number<uint32_t>(entry.substr(star + 1)).value_or(1);
  const std::string text = entry.substr(0, star);
  const auto names = expand_hosts(text).value_or(std::vector<std::string>{text});
  std::vector<std::string> all;
  for (uint32_t i = 0; i < std::min(times, kMostRepetitions); ++i)
    all.insert(all.end(), names.begin(), names.end());
  return all;
}

// Host names of a file in their order: blanks or commas between them, # begins a remark.
Result<std::vector<std::string>> hosts_of_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return failure(
        fmt::format("slurm_allocate_resources error opening file {}, {}", path, errno_text(errno)));
  }
  std::vector<std::string> hosts;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line.erase(std::min(line.find('#'), line.size()));
    if (line.empty()) continue;
    if (std::isalnum(static_cast<unsigned char>(line[0])) == 0) {
      return failure(fmt::format("Invalid hostfile {} contents on line {}", path, number));
    }
    std::replace(line.begin(), line.end(), '\t', ' ');
    for (const std::string& part : split_list(line, ' ')) {
      for (const std::string& entry : split_hosts(part)) {
        const std::vector<std::string> names = hosts_of_entry(entry);
        hosts.insert(hosts.end(), names.begin(), names.end());
      }
    }
  }
  if (hosts.empty()) return failure("Hostlist is empty!");
  return hosts;
}

OptionResult refuse(std::vector<std::string> errors, int status) {
  return tl::unexpected<OptionProblem>(OptionProblem{std::move(errors), status, {}});
}

// SLURM_HOSTFILE: task after task goes to the next of its hosts, whatever --distribution says.
OptionResult follow_host_file(const std::string& path, Submission& submission) {
  JobSpec& job = submission.job;
  const std::string what = "Failure getting NodeNames from hostfile";
  auto hosts = hosts_of_file(path);
  if (!hosts) return refuse({hosts.error().text, what}, 1);
  // those of the job around us say nothing
  const uint32_t nodes = submission.settings.nodes_inherited ? 0 : job.min_nodes;
  const uint32_t wanted = job.num_tasks != 0 ? job.num_tasks : nodes;
  if (hosts->size() < wanted) return refuse({"Too few NodeNames in Slurm Hostfile", what}, 1);
  if (wanted != 0) hosts->resize(wanted);
  job.num_tasks = static_cast<uint32_t>(hosts->size());
  job.required_nodes = join(*hosts, ",");
  job.distribution = "arbitrary";
  return {};
}

std::string limits_to_propagate(const ClusterConfig& config) {
  std::vector<std::string> names;
  if (!config.propagate_resource_limits_except.empty()) {
    if (iequals(config.propagate_resource_limits_except[0], "ALL")) return "NONE";
    for (const std::string_view name : kLimitNames) {
      bool except = false;
      for (const std::string& other : config.propagate_resource_limits_except) {
        except = except || rlimit_number(other) == rlimit_number(name);
      }
      if (!except) names.emplace_back(name);
    }
    return names.empty() ? "NONE" : join(names, ",");
  }
  if (config.propagate_resource_limits.empty()) return "ALL";
  return join(config.propagate_resource_limits, ",");
}

// --uid and --gid of root. The group stays root's own unless it is given.
OptionResult set_identity(const SubmitSettings& settings, JobSpec& job) {
  if (!settings.user.empty()) {
    const auto uid = user_id(settings.user);
    if (!uid) return refuse({"Invalid --uid specification"}, 255);
    job.uid = *uid;
    if (const passwd* user = getpwuid(*uid)) job.user_name = user->pw_name;
  }
  if (!settings.group.empty()) {
    const auto number = to_number<gid_t>(settings.group);
    const group* found = number ? getgrgid(*number) : getgrnam(settings.group.c_str());
    if (found == nullptr) return refuse({"Invalid --gid specification"}, 255);
    job.gid = found->gr_gid;
    job.group_name = found->gr_name;
  }
  return {};
}

}  // namespace

Environment current_environment() {
  std::string block;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    block.append(*entry);
    block.push_back('\0');
  }
  return Environment::from_block(block);
}

Result<Environment> exported_environment(const SubmitSettings& settings,
                                         const Environment& caller) {
  if (!settings.export_file.empty()) {
    Result<Environment> out = environment_file(settings.export_file);
    if (out) copy_matching(caller, "SLURM_", *out);
    return out;
  }
  if (!settings.export_given || iequals(settings.export_list, "ALL")) return caller;
  Environment out;
  copy_matching(caller, "SLURM_", out);
  if (iequals(settings.export_list, "NONE") || iequals(settings.export_list, "NIL")) return out;
  for (const std::string& item : export_items(settings.export_list)) {
    if (iequals(item, "ALL")) {
      for (const std::string& entry : caller.entries()) {
        out.set_default(name_of(entry), caller.get(name_of(entry)));
      }
    } else if (const size_t equal = item.find('='); equal != std::string::npos) {
      out.set(item.substr(0, equal), item.substr(equal + 1));
    } else if (caller.has(item)) {
      out.set(item, caller.get(item));
    }
  }
  return out;
}

void fill_caller(Submission& submission, const ClusterConfig& config, int argc, char** argv) {
  JobSpec& job = submission.job;
  job.uid = getuid();
  job.gid = getgid();
  if (const passwd* user = getpwuid(job.uid)) job.user_name = user->pw_name;
  if (const group* found = getgrgid(job.gid)) job.group_name = found->gr_name;
  job.submit_host = short_host_name();
  job.submit_sid = static_cast<uint32_t>(getsid(0));
  std::string line;
  for (int i = 0; i < argc; ++i) {
    if (i != 0) line += ' ';
    line += argv[i];
  }
  job.submit_line = line;
  if (job.work_dir.empty()) job.work_dir = working_folder();
  const mode_t mask = ::umask(0);
  ::umask(mask);
  job.umask = mask;
  if (const char* given = std::getenv("SLURM_UMASK")) {
    char* end = nullptr;
    const unsigned long number = std::strtoul(given, &end, 8);
    const bool is_mask = *given >= '0' && *given <= '7' && *end == '\0' && number <= 0777;
    if (is_mask) job.umask = static_cast<uint32_t>(number);  // else nothing would be masked
  }
  job.limits = collect_limits(submission.settings.propagate
                                  ? std::string_view(*submission.settings.propagate)
                                  : limits_to_propagate(config));
  job.request_id = new_request_id();
  const SubmitSettings& settings = submission.settings;
  const std::vector<std::string> exported = export_items(settings.export_list);
  bool whole = !settings.export_given;  // NIL is whole in that nothing comes to what is exported
  for (const std::string& item : exported)
    whole = whole || iequals(item, "ALL") || iequals(item, "NIL");
  if (!whole) job.get_user_env = true;
}

void set_caller_variables(Environment& out) {
  if (const std::string folder = working_folder(); !folder.empty())
    out.set("SLURM_SUBMIT_DIR", folder);
  out.set("SLURM_SUBMIT_HOST", short_host_name());
  errno = 0;
  out.set("SLURM_PRIO_PROCESS", std::to_string(getpriority(PRIO_PROCESS, 0)));
}

// NAME:HOST:PORT:VERSION:SELECT. Nothing here speaks Slurm's protocol: the version is that of
// the 22.05 commands, whose variables these are, and 109 stands for select/cons_tres, which is how
// CPUs and memory are given out here.
void set_cluster_variable(const ClusterConfig& config, Environment& out) {
  const std::string first =
      config.controllers.empty() ? std::string() : config.controllers.front().address;
  out.set("SLURM_WORKING_CLUSTER",
          fmt::format("{}:{}:{}:9728:109", config.cluster_name,
                      config.slurmctld_addr.empty() ? first : config.slurmctld_addr,
                      config.slurmctld_port));
}

OptionResult read_host_file(Submission& submission) {
  const SubmitSettings& settings = submission.settings;
  JobSpec& job = submission.job;
  if (!settings.excluded_file.empty()) {
    const auto excluded = hosts_of_file(settings.excluded_file);
    if (!excluded) return refuse({excluded.error().text}, 1);
    job.excluded_nodes = join(*excluded, ",");
  }
  if (settings.node_file.empty()) {
    const char* path = std::getenv("SLURM_HOSTFILE");
    const bool there = path != nullptr && *path != '\0';
    return there && job.required_nodes.empty() ? follow_host_file(path, submission)
                                               : OptionResult{};
  }
  const auto hosts = hosts_of_file(settings.node_file);
  if (!hosts && settings.node_file_option) {
    return refuse({hosts.error().text, "Invalid --nodefile node file"}, 255);
  }
  if (!hosts) return refuse({hosts.error().text}, 1);
  job.required_nodes = join(*hosts, ",");
  return {};
}

OptionResult resolve_outside(Submission& submission) {
  JobSpec& job = submission.job;
  const SubmitSettings& settings = submission.settings;
  if (!settings.burst_buffer_file.empty()) {
    std::ifstream file(settings.burst_buffer_file);
    if (!file) return refuse({"Invalid --bbf specification"}, 1);
    job.burst_buffer = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return set_identity(settings, job);
}

std::vector<uint64_t> collect_limits(std::string_view names) {
  std::vector<uint64_t> limits;
  bool all = false;
  std::vector<int> wanted;
  for (const std::string& name : split_list(names)) {
    if (iequals(name, "NONE")) return {};
    if (iequals(name, "ALL")) all = true;
    if (const auto number = rlimit_number(name)) wanted.push_back(*number);
  }
  for (const std::string_view name : kLimitNames) {
    const int number = rlimit_number(name).value_or(0);
    bool want = all;
    for (const int other : wanted) want = want || other == number;
    rlimit limit{};
    if (!want || getrlimit(static_cast<__rlimit_resource_t>(number), &limit) != 0) continue;
    const auto place = static_cast<size_t>(number) * 2;
    while (limits.size() < place + 2) {
      limits.push_back(1);
      limits.push_back(0);
    }
    limits[place] = limit.rlim_cur;
    limits[place + 1] = limit.rlim_max;
  }
  return limits;
}

std::string working_folder() {
  char buffer[4096];
  return getcwd(buffer, sizeof buffer) != nullptr ? buffer : "";
}

bool has_working_folder(std::string_view command) {
  if (!working_folder().empty()) return true;
  print_error(command, fmt::format("getcwd failed: {}", errno_text(errno)));
  return false;
}

uint64_t new_request_id() {
  uint64_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number || number == 0) {}
  return number;
}

void set_request_variables(const StepSpec& step, Environment& environment) {
  constexpr std::string_view kX11Names[] = {"", "all", "batch", "first", "last"};
  if (step.x11 != X11Nodes::kNone)
    environment.set("SLUICE_X11", kX11Names[static_cast<size_t>(step.x11)]);
  if (!step.mem_bind.empty())
    set_memory_bind_request(parse_memory_bind(step.mem_bind), environment);
}

}  // namespace sluice::cli
