#include "stepd/mpi/pmi_node.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice::stepd {

using protocol::MpiMessageKind;
using protocol::PublishedName;

namespace {

constexpr std::string_view kMaxSpaceName = "64";
constexpr std::string_view kMaxKey = "64";
constexpr std::string_view kMappingKey = "PMI_process_mapping";
constexpr std::string_view kGood = "0";
constexpr std::string_view kBad = "-1";
constexpr std::string_view kBadTwo = "14";  // PMI2_FAIL is -1 on the clients' side only: any but 0

// Of a spawn; a client takes it that there was no error where there are none, and has room for a
// line of 1024 bytes.
constexpr uint32_t kMaxErrorCodes = 400;

constexpr PmiVersion kOne = PmiVersion::kOne;
constexpr PmiVersion kTwo = PmiVersion::kTwo;

// PMI-1's answers to what this server does not do.
constexpr std::pair<std::string_view, std::string_view> kRefusals[] = {
    {"create_kvs", "newkvs"},
    {"destroy_kvs", "kvs_destroyed"},
};

// "publish_name" of PMI-1, "name-publish" of PMI-2, and so on.
MpiMessageKind kind_of_question(std::string_view command) {
  if (command.find("unpublish") != std::string_view::npos) return MpiMessageKind::kUnpublish;
  return command.find("lookup") != std::string_view::npos ? MpiMessageKind::kLookup
                                                          : MpiMessageKind::kPublish;
}

size_t bytes_of(const PmiMessage& message) {
  size_t bytes = kPmiPairBytes + message.command.size();
  for (const auto& [key, value] : message.fields)
    bytes += kPmiPairBytes + key.size() + value.size();
  return bytes;
}

}  // namespace

const PmiNode::Command PmiNode::kCommands[] = {
    {kOne, "init", &PmiNode::init},
    {kOne, "get_maxes", &PmiNode::maxes},
    {kOne, "get_appnum", &PmiNode::app_number},
    {kOne, "get_universe_size", &PmiNode::universe_size},
    {kOne, "get_my_kvsname", &PmiNode::space_name},
    {kOne, "put", &PmiNode::put_one},
    {kOne, "get", &PmiNode::get_one},
    {kOne, "getbyidx", &PmiNode::get_by_index},
    {kOne, "barrier_in", &PmiNode::barrier},
    {kOne, "finalize", &PmiNode::finalize_one},
    {kOne, "abort", &PmiNode::abort},
    {kOne, "publish_name", &PmiNode::ask_for_name},
    {kOne, "unpublish_name", &PmiNode::ask_for_name},
    {kOne, "lookup_name", &PmiNode::ask_for_name},
    {kOne, "spawn", &PmiNode::spawn_one},
    {kTwo, "fullinit", &PmiNode::full_init},
    {kTwo, "job-getid", &PmiNode::job_id},
    {kTwo, "kvs-put", &PmiNode::put_two},
    {kTwo, "kvs-get", &PmiNode::get_two},
    {kTwo, "kvs-fence", &PmiNode::barrier},
    {kTwo, "info-getnodeattr", &PmiNode::node_get},
    {kTwo, "info-putnodeattr", &PmiNode::node_put},
    {kTwo, "info-getjobattr", &PmiNode::job_attribute},
    {kTwo, "finalize", &PmiNode::finalize_two},
    {kTwo, "abort", &PmiNode::abort},
    {kTwo, "name-publish", &PmiNode::ask_for_name},
    {kTwo, "name-unpublish", &PmiNode::ask_for_name},
    {kTwo, "name-lookup", &PmiNode::ask_for_name},
    {kTwo, "spawn", &PmiNode::spawn_two},
};

PmiNode::PmiNode(PmiJob job, Handlers handlers)
    : job_(std::move(job)), handlers_(std::move(handlers)), tasks_(job_.ranks.size()) {
  attributes_["universeSize"] = std::to_string(job_.num_tasks);
  if (job_.spawned) {
    for (const auto& [key, value] : job_.spawned->pairs) keep(key, attributes_[key] = value);
  }
  if (job_.process_mapping.empty()) return;
  attributes_[std::string(kMappingKey)] = job_.process_mapping;
  keep(std::string(kMappingKey), job_.process_mapping);
}

void PmiNode::received(uint32_t local, const PmiMessage& message) {
  const PmiVersion version = tasks_[local].version;
  const auto* found = std::find_if(
      std::begin(kCommands), std::end(kCommands),
      [&](const Command& row) { return row.version == version && row.name == message.command; });
  const Answer answer = found == std::end(kCommands) ? &PmiNode::unsupported : found->answer;
  (this->*answer)(local, message);
}

void PmiNode::reply(uint32_t local, const PmiMessage& message) {
  handlers_.send(local, encode_pmi(message, tasks_[local].version));
}

PmiMessage PmiNode::response(const PmiMessage& to) {
  PmiMessage message{to.command + "-response", {}};
  if (const auto thread = to.get("thrid"); !thread.empty()) message.add("thrid", thread);
  return message;
}

void PmiNode::init(uint32_t local, const PmiMessage& message) {
  const bool two = message.get("pmi_version") == "2";
  reply(local, PmiMessage{"response_to_init", {}}
                   .add("pmi_version", two ? "2" : "1")
                   .add("pmi_subversion", two ? "0" : "1")
                   .add("rc", kGood));
  if (two) tasks_[local].version = kTwo;
  if (std::exchange(tasks_[local].began, true) || ++began_ < tasks_.size()) return;
  if (job_.spawned) handlers_.ready();
}

std::string PmiNode::app_number_of(uint32_t local) const {
  return std::to_string(job_.spawned ? command_of(job_.spawned->tasks, job_.ranks[local]) : 0);
}

void PmiNode::maxes(uint32_t local, const PmiMessage&) {
  reply(local, PmiMessage{"maxes", {}}
                   .add("rc", kGood)
                   .add("kvsname_max", kMaxSpaceName)
                   .add("keylen_max", kMaxKey)
                   .add("vallen_max", std::to_string(kMaxPmiValue)));
}

void PmiNode::app_number(uint32_t local, const PmiMessage&) {
  reply(local, PmiMessage{"appnum", {}}.add("rc", kGood).add("appnum", app_number_of(local)));
}

void PmiNode::universe_size(uint32_t local, const PmiMessage&) {
  reply(local,
        PmiMessage{"universe_size", {}}.add("rc", kGood).add("size", attributes_["universeSize"]));
}

void PmiNode::space_name(uint32_t local, const PmiMessage&) {
  reply(local, PmiMessage{"my_kvsname", {}}.add("rc", kGood).add("kvsname", job_.id));
}

bool PmiNode::may_wait(const PmiMessage& message) {
  const size_t bytes = bytes_of(message);
  if (waiting_bytes_ + bytes > kMaxPmiWaiting) return false;
  waiting_bytes_ += bytes;
  return true;
}

void PmiNode::waits_no_more(const PmiMessage& message) {
  waiting_bytes_ -= std::min(waiting_bytes_, bytes_of(message));
}

bool PmiNode::has_room(std::string_view key, std::string_view value) {
  const size_t bytes = kPmiPairBytes + key.size() + value.size();
  if (put_bytes_ + bytes > kMaxPmiSpace) return false;
  put_bytes_ += bytes;
  return true;
}

// False when there is no room for it.
bool PmiNode::put(std::string_view key, std::string_view value) {
  if (!has_room(key, value)) return false;
  keep(std::string(key), value);
  fresh_.pairs.push_back({std::string(key), std::string(value)});
  return true;
}

void PmiNode::keep(const std::string& key, std::string_view value) {
  const auto [at, fresh] = space_.insert_or_assign(key, value);
  if (fresh) in_order_.push_back(at);
}

const std::string* PmiNode::find(std::string_view key) const {
  const auto found = space_.find(key);
  return found == space_.end() ? nullptr : &found->second;
}

void PmiNode::put_one(uint32_t local, const PmiMessage& message) {
  const bool good = message.get("kvsname") == job_.id && !message.get("key").empty() &&
                    put(message.get("key"), message.get("value"));
  reply(local, PmiMessage{"put_result", {}}
                   .add("rc", good ? kGood : kBad)
                   .add("msg", good ? "success" : "not_taken"));
}

void PmiNode::get_one(uint32_t local, const PmiMessage& message) {
  const std::string* value = message.get("kvsname") == job_.id ? find(message.get("key")) : nullptr;
  reply(local, PmiMessage{"get_result", {}}
                   .add("rc", value != nullptr ? kGood : kBad)
                   .add("msg", value != nullptr ? "success" : "no_such_key")
                   .add("value", value != nullptr ? *value : "unknown"));
}

void PmiNode::get_by_index(uint32_t local, const PmiMessage& message) {
  const auto index = to_number<size_t>(message.get("idx"));
  if (!index || *index >= in_order_.size()) {
    return reply(
        local, PmiMessage{"getbyidx_results", {}}.add("rc", kBad).add("reason", "no_more_keyvals"));
  }
  const auto& entry = in_order_[*index];
  reply(local, PmiMessage{"getbyidx_results", {}}
                   .add("rc", kGood)
                   .add("nextidx", std::to_string(*index + 1))
                   .add("key", entry->first)
                   .add("val", entry->second));
}

void PmiNode::barrier(uint32_t local, const PmiMessage& message) {
  if (tasks_[local].in_fence) return;
  tasks_[local].fence_thread = message.get("thrid");
  enter_fence(local);
}

void PmiNode::enter_fence(uint32_t local) {
  tasks_[local].in_fence = true;
  if (++in_fence_ < tasks_.size()) return;
  if (alone_) return fence_done(false, {});
  handlers_.fence(std::exchange(fresh_, {}));
}

void PmiNode::fence_done(bool good, const PmiPairs& pairs) {
  if (in_fence_ < tasks_.size()) return;
  for (const PmiPair& pair : pairs.pairs) {
    shared_bytes_ += kPmiPairBytes + pair.key.size() + pair.value.size();
    if (shared_bytes_ > kMaxPmiAll) good = false;
    else keep(pair.key, pair.value);
  }
  in_fence_ = 0;
  for (uint32_t local = 0; local < tasks_.size(); ++local) {
    Task& task = tasks_[local];
    task.in_fence = false;
    PmiMessage message{"barrier_out", {}};
    if (task.version == kTwo) {
      message = PmiMessage{"kvs-fence-response", {}};
      if (!task.fence_thread.empty()) message.add("thrid", task.fence_thread);
    }
    message.add("rc", good ? kGood : kBad);
    reply(local, message);
  }
}

void PmiNode::alone() {
  alone_ = true;
  fence_done(false, {});
  while (!questions_.empty()) name_answer(std::string(questions_.begin()->first), false, {});
  while (!spawns_.empty())
    static_cast<void>(spawn_answer(std::string(spawns_.begin()->first), false, {}));
}

void PmiNode::finalize_one(uint32_t local, const PmiMessage&) {
  reply(local, PmiMessage{"finalize_ack", {}}.add("rc", kGood));
}

void PmiNode::finalize_two(uint32_t local, const PmiMessage& message) {
  reply(local, response(message).add("rc", kGood));
  tasks_[local].version = kOne;  // the task may start another program, which begins anew
}

void PmiNode::abort(uint32_t local, const PmiMessage&) { handlers_.abort(job_.ranks[local]); }

void PmiNode::full_init(uint32_t local, const PmiMessage& message) {
  PmiMessage answer = response(message)
                          .add("rc", kGood)
                          .add("pmi-version", "2")
                          .add("pmi-subversion", "0")
                          .add("rank", std::to_string(job_.ranks[local]))
                          .add("size", std::to_string(job_.num_tasks))
                          .add("appnum", app_number_of(local))
                          .add("debugged", "FALSE")
                          .add("pmiverbose", "FALSE");
  if (job_.spawned) answer.add("spawner-jobid", job_.spawned->spawner);
  reply(local, answer);
}

void PmiNode::job_id(uint32_t local, const PmiMessage& message) {
  reply(local, response(message).add("rc", kGood).add("jobid", job_.id));
}

void PmiNode::put_two(uint32_t local, const PmiMessage& message) {
  const bool good = put(message.get("key"), message.get("value"));
  reply(local, response(message).add("rc", good ? kGood : kBadTwo));
}

void PmiNode::reply_found(uint32_t local, const PmiMessage& to, const std::string* value) {
  PmiMessage message = response(to);
  message.add("rc", kGood).add("found", value != nullptr ? "TRUE" : "FALSE");
  if (value != nullptr) message.add("value", *value);
  reply(local, message);
}

void PmiNode::get_two(uint32_t local, const PmiMessage& message) {
  reply_found(local, message, find(message.get("key")));
}

void PmiNode::node_get(uint32_t local, const PmiMessage& message) {
  const auto found = node_space_.find(message.get("key"));
  if (found != node_space_.end()) return reply_found(local, message, &found->second);
  if (message.get("wait") == "TRUE" && may_wait(message)) {
    waiting_[std::string(message.get("key"))].emplace_back(local, message);
  } else {
    reply_found(local, message, nullptr);
  }
}

void PmiNode::node_put(uint32_t local, const PmiMessage& message) {
  const std::string key(message.get("key"));
  const bool good = has_room(key, message.get("value"));
  if (good) node_space_[key] = message.get("value");
  reply(local, response(message).add("rc", good ? kGood : kBadTwo));
  const auto waiting = good ? waiting_.extract(key) : decltype(waiting_)::node_type();
  if (!waiting) return;
  for (const auto& [other, request] : waiting.mapped()) {
    waits_no_more(request);
    node_get(other, request);
  }
}

void PmiNode::job_attribute(uint32_t local, const PmiMessage& message) {
  const auto found = attributes_.find(message.get("key"));
  reply_found(local, message, found == attributes_.end() ? nullptr : &found->second);
}

void PmiNode::ask_for_name(uint32_t local, const PmiMessage& message) {
  const std::string_view name = message.get(tasks_[local].version == kTwo ? "name" : "service");
  const PublishedName what{std::string(name), std::string(message.get("port"))};
  const std::string question = "name." + std::to_string(++last_question_);
  const bool waits = may_wait(message);
  questions_[question] = {local, message};
  if (!waits) waiting_bytes_ += bytes_of(message);  // which its answer takes back
  if (!waits || alone_ || what.name.empty()) return name_answer(question, false, {});
  handlers_.name(question, kind_of_question(message.command), what);
}

void PmiNode::name_answer(const std::string& question, bool good, const std::string& value) {
  const auto asked = questions_.extract(question);
  if (!asked) return;
  const auto& [local, to] = asked.mapped();
  waits_no_more(to);
  const bool found = good && kind_of_question(to.command) == MpiMessageKind::kLookup;
  if (tasks_[local].version == kTwo) {
    PmiMessage message = response(to);
    message.add("rc", good ? kGood : kBadTwo);
    if (!good) message.add("errmsg", "the name is not published, or it is already");
    if (found) message.add("value", value);
    return reply(local, message);
  }
  PmiMessage message{to.command.substr(0, to.command.find('_')) + "_result", {}};
  message.add("rc", good ? kGood : kBad).add("msg", good ? "success" : "no_such_name_or_taken");
  if (found) message.add("port", value);
  reply(local, message);
}

void PmiNode::spawn_one(uint32_t local, const PmiMessage& message) {
  PmiSpawnReader& reader = tasks_[local].spawning;
  const PmiSpawnReader::State state = reader.add(message);
  if (state == PmiSpawnReader::State::kBad)
    return refuse_spawn(local, message, "the request makes no sense");
  if (state == PmiSpawnReader::State::kWhole)
    ask_for_spawn(local, PmiMessage{message.command, {}}, reader.take());
}

void PmiNode::spawn_two(uint32_t local, const PmiMessage& message) {
  const auto request = read_pmi2_spawn(message);
  if (!request) return refuse_spawn(local, message, "the request makes no sense");
  ask_for_spawn(local, message, *request);
}

void PmiNode::ask_for_spawn(uint32_t local, const PmiMessage& message,
                            const protocol::MpiSpawnRequest& request) {
  const uint32_t tasks = tasks_of(request);
  if (tasks == 0) return refuse_spawn(local, message, "too many tasks");
  if (alone_) return refuse_spawn(local, message, "there is no srun to start a step");
  if (!may_wait(message)) return refuse_spawn(local, message, "too many requests wait");
  const std::string question = fmt::format("spawn.{}", ++last_question_);
  spawns_[question] = {local, message, tasks};
  handlers_.spawn(question, job_.ranks[local], request);
}

void PmiNode::refuse_spawn(uint32_t local, const PmiMessage& message, std::string_view why) {
  if (tasks_[local].version == kTwo)
    return reply(local, response(message).add("rc", kBadTwo).add("errmsg", why));
  std::string word(why);
  std::ranges::replace(word, ' ', '_');
  reply(local, PmiMessage{"spawn_result", {}}.add("rc", kBad).add("msg", word));
}

bool PmiNode::spawn_answer(const std::string& question, bool good, const std::string& job) {
  const auto asked = spawns_.extract(question);
  if (!asked) return false;
  const auto& [local, to, tasks] = asked.mapped();
  waits_no_more(to);
  if (!good) return refuse_spawn(local, to, "the step was not started"), true;
  std::string codes = "0";
  for (uint32_t task = 1; task < tasks && tasks <= kMaxErrorCodes; ++task) codes += ",0";
  PmiMessage message =
      tasks_[local].version == kTwo ? response(to) : PmiMessage{"spawn_result", {}};
  message.add("rc", kGood).add("jobid", job);
  if (tasks_[local].version == kTwo)
    message.add("nerrs", std::to_string(tasks <= kMaxErrorCodes ? tasks : 0));
  if (tasks <= kMaxErrorCodes) message.add("errcodes", codes);
  reply(local, message);
  return true;
}

void PmiNode::unsupported(uint32_t local, const PmiMessage& message) {
  if (tasks_[local].version == kTwo) {
    return reply(local, response(message).add("rc", kBadTwo).add("errmsg", "not supported"));
  }
  const auto* found = std::find_if(std::begin(kRefusals), std::end(kRefusals),
                                   [&](const auto& row) { return row.first == message.command; });
  const std::string_view name =
      found == std::end(kRefusals) ? std::string_view(message.command) : found->second;
  reply(local, PmiMessage{std::string(name), {}}.add("rc", kBad).add("msg", "not_supported"));
}

}  // namespace sluice::stepd
