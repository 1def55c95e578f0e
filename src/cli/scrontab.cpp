// scrontab: a user's table of jobs that are run again and again.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <getopt.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/options/batch_script.hpp"
#include "cli/shared/client.hpp"
#include "cli/format/crontab_text.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/format/shown_text.hpp"
#include "cli/step/submit_call.hpp"
#include "cli/options/submit_env.hpp"
#include "cli/shared/version.hpp"
#include "common/base/errno_text.hpp"
#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/os/wait_status.hpp"
#include "common/protocol/admin.hpp"
#include "common/names/errors.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kHelp =
    "Usage: scrontab [-u user] [file | -]\n"
    "       scrontab [-u user] -e | -l | -r\n"
    "  -e          edit the crontab\n"
    "  -l          show the crontab\n"
    "  -r          take the crontab and its jobs away\n"
    "  -u user     of this user (root only)\n"
    "  -v          say more\n"
    "  --help      show this help message\n"
    "  --usage     show a short list of the options\n";
constexpr const char* kUsage = "Usage: scrontab [-u user] [file | -] | -e | -l | -r\n";
constexpr const char* kSkeleton =
    "# min hour day-of-month month day-of-week command\n"
    "# A line #SCRON gives options of sbatch to the next entry:\n"
    "#SCRON -t 5\n"
    "#0 * * * * date\n";

struct Options {
  bool edit = false, list = false, remove = false;
  uint32_t verbose = 0;
  const passwd* user = nullptr;
  std::optional<std::string> file;
};

int fail(const std::string& text) {
  print_error("scrontab", text);
  return 1;
}

int refuse(const std::string& text) {
  std::fprintf(stderr, "scrontab: fatal: %s\n", text.c_str());
  return 1;
}

std::optional<int> read_options(int argc, char** argv, Options& o) {
  constexpr int kHelpKey = 0x100, kUsageKey = 0x101;
  const option longs[] = {{"help", no_argument, nullptr, kHelpKey},
                          {"usage", no_argument, nullptr, kUsageKey},
                          {"version", no_argument, nullptr, 'V'},
                          {nullptr, 0, nullptr, 0}};
  optind = 0;
  const char* name = nullptr;
  for (int key = 0; (key = getopt_long(argc, argv, "elru:vV", longs, nullptr)) != -1;) {
    switch (key) {
      case 'e': o.edit = true; break;
      case 'l': o.list = true; break;
      case 'r': o.remove = true; break;
      case 'u': name = optarg; break;
      case 'v': ++o.verbose; break;
      case 'V': return print_slurm_version();
      case kHelpKey: std::fputs(kHelp, stdout); return 0;
      case kUsageKey: std::fputs(kUsage, stdout); return 0;
      default: std::fputs("Try \"scrontab --help\" for more information\n", stderr); return 1;
    }
  }
  if (int{o.edit} + int{o.list} + int{o.remove} > 1)
    return refuse("Only one of -e, -l and -r is taken.");
  if (argc - optind > 1) return refuse("Only one file is taken.");
  if (optind < argc) o.file = argv[optind];
  if (o.file && (o.edit || o.list || o.remove))
    return refuse("A file is not taken with -e, -l or -r.");
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread
  o.user = name == nullptr ? getpwuid(getuid()) : getpwnam(name);
  // NOLINTEND(concurrency-mt-unsafe)
  if (o.user == nullptr)
    return refuse(
        fmt::format("user {} is not known", name == nullptr ? std::to_string(getuid()) : name));
  if (name != nullptr && getuid() != 0 && o.user->pw_uid != getuid())
    return refuse("Only root can use the -u option");
  if (!o.edit && !o.list && !o.remove && !o.file) o.file = "-";
  return std::nullopt;
}

// What the job of a line finds: little, as with every cron.
Environment line_environment(const CrontabLine& line, const passwd& user) {
  Environment e;
  e.set("HOME", user.pw_dir);
  e.set("LOGNAME", user.pw_name);
  e.set("USER", user.pw_name);
  e.set("SHELL", "/bin/sh");
  e.set("PATH", "/usr/local/bin:/usr/bin:/bin");
  for (const auto& [name, value] : line.variables) e.set(name, value);
  return e;
}

// The options of a #SCRON line; false when they are wrong (which was said).
bool read_options_line(uint32_t number, const std::string& text, OptionParser& parser) {
  const auto bad = [number](std::string_view what) {
    return fail(fmt::format("line {}: {}", number, what)), false;
  };
  const std::string at_its_place = std::string(number - 1, '\n') + "#SBATCH " + text + "\n";
  Submission tried;
  if (parser.read_script(at_its_place, "crontab") || parser.apply(tried))
    return bad("the options are not valid");
  // nobody is there who would
  if (tried.settings.wait_for_end) return bad("--wait is not for crontabs");
  if (!parser.passed_over().empty())
    return bad("--" + parser.passed_over().front() + " is not for crontabs");
  return true;
}

// One line as sbatch would send it; nothing when its options are wrong (which was said).
std::optional<protocol::CronEntry> make_entry(const CrontabLine& line, const Options& options,
                                              const ClusterConfig& config) {
  OptionParser parser(kSbatch, "scrontab");
  Submission submission;
  JobSpec& job = submission.job;
  job.name = line.command.substr(0, line.command.find_first_of(" \t"));
  for (const auto& [number, text] : line.options) {
    if (!read_options_line(number, text, parser)) return std::nullopt;
  }
  if (parser.apply(submission) || complete_request(submission, kSbatch)) {
    fail(fmt::format("line {}: the options before it are not valid", line.number));
    return std::nullopt;
  }
  Environment environment = line_environment(line, *options.user);
  char self[] = "scrontab";
  char* argv[] = {self, nullptr};
  if (job.work_dir.empty()) job.work_dir = options.user->pw_dir;
  fill_caller(submission, config, 1, argv);
  job.batch = true;
  if (complete_with_config(submission, config, "scrontab")) {
    fail(fmt::format("line {}: the options before it are not valid", line.number));
    return std::nullopt;
  }
  job.command = line.command;
  job.cron = line.times;
  job.cron_line = line.number;
  job.begin = kNoTime;
  environment.set("SLURM_SUBMIT_DIR", job.work_dir.view());
  protocol::CronEntry entry;
  entry.script = "#!/bin/sh\n# This job was submitted through scrontab\n" + line.command + "\n";
  entry.environment = environment.to_block();
  entry.spec = job;
  return entry;
}

// Puts the text in force; an exit status.
int install(Client& client, const Options& options, const std::string& text) {
  const auto lines = parse_crontab(text);
  if (!lines) return fail(lines.error().text);
  protocol::ReplaceCrontabRequest request;
  request.uid = options.user->pw_uid;
  request.gid = options.user->pw_gid;
  request.text = text.empty() || text.back() == '\n' ? text : text + "\n";
  for (const CrontabLine& line : *lines) {
    auto entry = make_entry(line, options, client.config());
    if (!entry) return 1;
    request.entries.push_back(std::move(*entry));
  }
  const auto reply = client.call<protocol::ReplaceCrontabReply>(request);
  if (!reply) return fail("The crontab cannot be installed: " + error_text(reply.error()));
  if (reply->failed_line != 0)
    return fail(fmt::format("line {}: {}", reply->failed_line, reply->error));
  for (size_t i = 0; options.verbose > 0 && i < reply->jobs.size(); ++i) {
    std::fprintf(stderr, "scrontab: line %u is job %u\n", (*lines)[i].number, reply->jobs[i]);
  }
  return 0;
}

std::optional<std::string> read_all(const std::string& name) {
  return name == "-" ? read_descriptor(STDIN_FILENO) : read_file(name);
}

Result<protocol::QueryCrontabReply> present(Client& client, const Options& options) {
  return client.call<protocol::QueryCrontabReply>(
      protocol::QueryCrontabRequest{options.user->pw_uid});
}

int list(Client& client, const Options& options) {
  const auto reply = present(client, options);
  if (!reply) return fail(error_text(reply.error()));
  if (!reply->present) {
    std::fprintf(stderr, "no crontab for %s\n", options.user->pw_name);
    return 1;
  }
  print_text(reply->text, "\n\t");  // root sees others' tables
  return 0;
}

int remove(Client& client, const Options& options) {
  protocol::ReplaceCrontabRequest request;
  request.uid = options.user->pw_uid;
  request.gid = options.user->pw_gid;
  const auto reply = client.call<protocol::ReplaceCrontabReply>(request);
  return reply ? 0 : fail(error_text(reply.error()));
}

// VISUAL, EDITOR or vi on the file.
bool run_editor(const std::string& path) {
  const char* editor = std::getenv("VISUAL");
  if (editor == nullptr || *editor == '\0') editor = std::getenv("EDITOR");
  if (editor == nullptr || *editor == '\0') editor = "vi";
  const std::string command = fmt::format("{} {}", editor, shell_quote(path));
  const pid_t pid = fork();
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  return pid > 0 && wait_for_child(pid).value_or(0) == 0;
}

bool ask_again() {
  std::fputs("The crontab is not installed. Edit it again? (y/n) ", stderr);
  int answer = std::getchar();
  for (int c = answer; c != '\n' && c != EOF;) c = std::getchar();
  return answer == 'y' || answer == 'Y';
}

int edit_file(Client& client, const Options& options, const std::string& path,
              const std::string& before) {
  while (true) {
    if (!run_editor(path)) return fail("the editor failed; the crontab is as it was");
    const auto text = read_file(path);
    if (!text) return fail("the edited file cannot be read");
    if (*text == before) {
      std::fputs("scrontab: no changes were made\n", stderr);
      return 0;
    }
    if (install(client, options, *text) == 0) return 0;
    if (!ask_again()) return 1;
  }
}

int edit(Client& client, const Options& options) {
  const auto reply = present(client, options);
  if (!reply) return fail(error_text(reply.error()));
  const std::string text = reply->present ? reply->text : kSkeleton;
  std::string path = "/tmp/scrontab-XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  const bool written =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  const int status =
      written ? edit_file(client, options, path, text) : fail(path + ": " + errno_text(errno));
  unlink(path.c_str());
  return status;
}

}  // namespace

int scrontab_main(int argc, char** argv) {
  Options options;
  if (const auto status = read_options(argc, argv, options)) return *status;
  Result<Client> client = Client::open();
  if (!client) return report("scrontab", client.error());
  client->keep_asking();
  if (!has_option(client->config().scron_parameters, "enable"))
    return refuse("scrontab is disabled on this cluster");
  if (options.list) return list(*client, options);
  if (options.remove) return remove(*client, options);
  if (options.edit) return edit(*client, options);
  const auto text = read_all(*options.file);
  if (!text) return refuse(fmt::format("{}: {}", *options.file, errno_text(errno)));
  return install(*client, options, *text);
}

}  // namespace sluice::cli
