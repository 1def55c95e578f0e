#include "stepd/mpi/pmi_spawn.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice::stepd {

using protocol::MpiCommand;
using protocol::MpiPair;
using protocol::MpiSpawnRequest;

namespace {

constexpr uint32_t kMaxTasks = 1U << 20;

using Fields = std::map<std::string, std::string_view, std::less<>>;

std::string_view value_of(const Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? std::string_view() : found->second;
}

// A count that the fields themselves bear out: no more than there are. An absent one is 0.
std::optional<size_t> count_of(const Fields& fields, std::string_view key) {
  const std::string_view text = value_of(fields, key);
  if (text.empty()) return 0;
  const auto count = to_number<size_t>(text);
  if (!count || *count > fields.size()) return std::nullopt;
  return *count;
}

// What of a command's info says where it runs; the rest is advice that an implementation may pass
// over.
void take_info(std::string_view key, std::string_view value, MpiCommand& command) {
  if (key == "wdir") command.work_dir = value;
  if (key == "host") {
    command.hosts = value;
    std::ranges::replace(command.hosts, ' ', ',');
  }
}

bool is_whole(const MpiCommand& command) {
  return !command.words.empty() && !command.words.front().empty() && command.tasks > 0 &&
         command.tasks <= kMaxTasks;
}

}  // namespace

PmiSpawnReader::State PmiSpawnReader::add(const PmiMessage& message) {
  Fields fields;
  for (const auto& [key, value] : message.fields) {
    fields.emplace(key, value);
    bytes_ += key.size() + value.size();
  }
  const auto arguments = count_of(fields, "argcnt");
  const auto pairs = count_of(fields, "preput_num");
  const auto infos = count_of(fields, "info_num");
  const auto all = to_number<size_t>(value_of(fields, "totspawns"));
  const auto place = to_number<size_t>(value_of(fields, "spawnssofar"));
  MpiCommand& command = request_.commands.emplace_back();
  command.tasks = to_number<uint32_t>(value_of(fields, "nprocs")).value_or(0);
  command.words.emplace_back(value_of(fields, "execname"));
  for (size_t i = 1; i <= arguments.value_or(0); ++i)
    command.words.emplace_back(value_of(fields, fmt::format("arg{}", i)));
  for (size_t i = 0; i < infos.value_or(0); ++i)
    take_info(value_of(fields, fmt::format("info_key_{}", i)),
              value_of(fields, fmt::format("info_val_{}", i)), command);
  for (size_t i = 0; i < pairs.value_or(0) && request_.commands.size() == 1; ++i) {
    // each command repeats them
    request_.pairs.push_back({std::string(value_of(fields, fmt::format("preput_key_{}", i))),
                              std::string(value_of(fields, fmt::format("preput_val_{}", i)))});
  }
  const bool good = arguments && pairs && infos && all && place &&
                    *place == request_.commands.size() && *place <= *all && is_whole(command) &&
                    bytes_ <= kMaxPmiBytes;
  bad_ = bad_ || !good;
  if (bad_) request_ = {};
  if (all && place && *place < *all) return State::kMore;
  if (!bad_) return State::kWhole;
  static_cast<void>(take());
  return State::kBad;
}

MpiSpawnRequest PmiSpawnReader::take() {
  bytes_ = 0;
  bad_ = false;
  return std::exchange(request_, {});
}

// Fields come in their order: those of the spawn, then those of each command, which "subcmd"
// begins.
std::optional<MpiSpawnRequest> read_pmi2_spawn(const PmiMessage& message) {
  MpiSpawnRequest request;
  std::string key;  // of a pair or an info, whose value follows
  for (const auto& [name, value] : message.fields) {
    MpiCommand* command = request.commands.empty() ? nullptr : &request.commands.back();
    if (name == "subcmd") {
      request.commands.emplace_back().words.push_back(value);
    } else if (name.starts_with("ppkey") ||
               (name.starts_with("infokey") && name != "infokeycount")) {
      key = value;
    } else if (name.starts_with("ppval")) {
      request.pairs.push_back({key, value});
    } else if (command == nullptr) {
      continue;
    } else if (name == "maxprocs") {
      command->tasks = to_number<uint32_t>(value).value_or(0);
    } else if (name.starts_with("argv")) {
      command->words.push_back(value);
    } else if (name.starts_with("infoval")) {
      take_info(key, value, *command);
    }
  }
  const auto wanted = to_number<size_t>(message.get("ncmds"));
  const bool good = wanted && !request.commands.empty() && *wanted == request.commands.size() &&
                    std::ranges::all_of(request.commands, is_whole);
  if (!good) return std::nullopt;
  return request;
}

uint32_t tasks_of(const MpiSpawnRequest& request) {
  uint64_t tasks = 0;
  for (const MpiCommand& command : request.commands) tasks += command.tasks;
  return tasks <= kMaxTasks ? static_cast<uint32_t>(tasks) : 0;
}

uint32_t command_of(const std::vector<uint32_t>& tasks, uint32_t rank) {
  uint32_t command = 0;
  for (; command < tasks.size() && rank >= tasks[command]; ++command) rank -= tasks[command];
  return command < tasks.size() ? command : 0;
}

}  // namespace sluice::stepd
