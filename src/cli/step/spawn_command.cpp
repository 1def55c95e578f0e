#include "cli/step/spawn_command.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/contains.hpp"
#include "common/step/mpi_spawned.hpp"
#include "common/submit/submit_options.hpp"

namespace sluice::cli {
namespace {

using protocol::MpiCommand;
using protocol::MpiSpawnRequest;

// As a --multi-prog file wants it: between quotes blanks stay, and "%t" is not the task's number.
std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

bool has_word(const MpiSpawnRequest& request, auto matches) {
  return std::ranges::any_of(request.commands, [&](const MpiCommand& command) {
    return std::ranges::any_of(command.words, matches);
  });
}

}  // namespace

bool needs_programs_file(const MpiSpawnRequest& request) {
  // a colon alone divides srun's command line
  return request.commands.size() > 1 ||
         has_word(request, [](const std::string& word) { return word == ":"; });
}

Result<std::string> programs_file(const MpiSpawnRequest& request) {
  if (has_word(request,
               [](const std::string& word) { return word.find('\n') != std::string::npos; })) {
    return failure("an argument of a program to be spawned beside others has more than one line");
  }
  std::string out;
  uint32_t first = 0;
  for (const MpiCommand& command : request.commands) {
    const uint32_t next = first + command.tasks;
    out += command.tasks == 1 ? std::to_string(first) : fmt::format("{}-{}", first, next - 1);
    for (const std::string& word : command.words) out += " " + quoted(word);
    out += '\n';
    first = next;
  }
  return out;
}

std::vector<std::string> spawn_words(const MpiSpawnRequest& request, const SpawnPlace& place,
                                     const std::string& file) {
  uint32_t tasks = 0;
  std::string work_dir;
  std::string hosts;
  for (const MpiCommand& command : request.commands) {
    // a step has one folder, and its nodes for all
    tasks += command.tasks;
    if (work_dir.empty()) work_dir = command.work_dir;
    if (!command.hosts.empty()) hosts += (hosts.empty() ? "" : ",") + command.hosts;
  }
  if (work_dir.empty()) work_dir = place.work_dir;
  std::vector<std::string> words = {"srun",
                                    fmt::format("--jobid={}", place.job),
                                    fmt::format("--ntasks={}", tasks),
                                    "--mpi=pmi2",
                                    "--exact",
                                    "--input=none"};
  if (!work_dir.empty()) words.push_back("--chdir=" + work_dir);
  if (!hosts.empty()) words.push_back("--nodelist=" + hosts);
  if (place.kill_on_bad_exit) words.emplace_back("--kill-on-bad-exit=1");
  if (needs_programs_file(request)) {
    words.insert(words.end(), {"--multi-prog", "--", file});
  } else {
    words.emplace_back("--");
    const std::vector<std::string>& program = request.commands.front().words;
    words.insert(words.end(), program.begin(), program.end());
  }
  return words;
}

Result<Environment> spawn_environment(const MpiSpawnRequest& request, const SpawnPlace& place,
                                      const Environment& own) {
  Environment out = own;
  for (const SubmitOption& option : submit_options()) {
    if (contains({"clusters", "export", "export-file", "msg-timeout"}, option.name)) continue;
    for (const std::string& name : option_variables(option, kSrun)) out.unset(name);
  }
  protocol::MpiSpawned spawned{place.step, {}, request.pairs};
  for (const MpiCommand& command : request.commands) spawned.tasks.push_back(command.tasks);
  const std::string text = mpi_spawned_text(spawned);
  if (text.size() > kMaxMpiSpawnedText)
    return failure("what spawned tasks are to be told is too long");
  out.set(kMpiSpawnedVariable, text);
  return out;
}

}  // namespace sluice::cli
