// scontrol update, create and delete.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "cli/scontrol/session.hpp"
#include "cli/format/environment.hpp"
#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "common/model/job_update.hpp"
#include "common/syntax/told_cpus.hpp"
#include "common/names/errors.hpp"
#include "common/names/job_states.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/empty.hpp"
#include "common/protocol/job_query.hpp"
#include "common/submit/update_keys.hpp"

namespace sluice::cli::scontrol {
namespace {

struct Pair {
  std::string key;
  std::string value;
  std::string typed;
  bool relative = false;  // += or -=: `value` begins with the sign
};

// "Key=Value", or a key and its value as two words. Nothing when the last has no value (said).
std::optional<std::vector<Pair>> read_pairs(Session& session, const Words& words) {
  std::vector<Pair> out;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals != std::string::npos) {
      Pair pair{words[i].substr(0, equals), words[i].substr(equals + 1), words[i]};
      pair.relative = !pair.key.empty() && (pair.key.back() == '+' || pair.key.back() == '-');
      if (pair.relative) {  // TimeLimit+=10
        pair.value.insert(0, 1, pair.key.back());
        pair.key.pop_back();
      }
      out.push_back(std::move(pair));
    } else if (iequals(words[i], "Nice") &&
               (i + 1 == words.size() || words[i + 1].find('=') != std::string::npos)) {
      out.push_back({words[i], "100", words[i]});
    } else if (iequals(words[i], "ResetAccrueTime")) {
      out.push_back({words[i], "", words[i]});
    } else if (i + 1 < words.size()) {
      out.push_back({words[i], words[i + 1], words[i] + "=" + words[i + 1]});
      ++i;
    } else {
      session.fail("Invalid input: " + words[i]);
      session.fail("Request aborted");
      return std::nullopt;
    }
  }
  return out;
}

bool is_key(const Pair& pair, std::string_view name, size_t least) {
  return pair.key.size() >= least && starts_with_i(name, pair.key);
}
// The last one counts, as in Slurm.
const Pair* find_pair(const std::vector<Pair>& pairs, std::string_view name, size_t least) {
  const auto found = std::find_if(pairs.rbegin(), pairs.rend(),
                                  [&](const Pair& pair) { return is_key(pair, name, least); });
  return found == pairs.rend() ? nullptr : &*found;
}

void reject(Session& session, const Pair& pair) {
  session.fail("Update of this parameter is not supported: " + pair.typed);
  session.fail("Request aborted");
}

// The limit of the job in force, for "TimeLimit=+10".
Result<Minutes> current_limit(Session& session, const std::string& job) {
  protocol::QueryJobsRequest request;
  request.ids.push_back(job);
  request.all_states = true;
  request.hidden_partitions = true;
  Minutes limit = 0;
  const Status status = session.client()->query_jobs(request, [&](protocol::JobChunk&& chunk) {
    if (!chunk.jobs.empty()) limit = chunk.jobs.front().job.time_limit;
    return true;
  });
  if (!status) return tl::unexpected<Error>(status.error());
  return limit;
}

// False when a key or value was refused (and that was said).
bool read_job_update(Session& session, const std::vector<Pair>& pairs, const std::string& job,
                     JobUpdate& update, bool& any) {
  for (const Pair& pair : pairs) {
    const JobUpdateKey* key = find_job_update_key(pair.key);
    if (key == nullptr || key->set == nullptr) {
      reject(session, pair);
      return false;
    }
    UpdateBase base;
    base.key = key->name;
    base.now = current_time();
    base.relative = pair.relative;
    const bool relative_limit = is_relative_limit(*key, pair.value, base);
    if (pair.relative && !relative_limit) {
      session.fail("scontrol: error: Option " + pair.typed + " does not accept [+|-]= syntax");
      return false;
    }
    if (relative_limit) {
      const auto limit = current_limit(session, job);
      if (!limit) {
        session.fail(error_text(limit.error()) + " for job " + job);
        return false;
      }
      base.time_limit = *limit;
    }
    const Status status = key->set(pair.value, base, update);
    if (!status) {
      const bool is_time = status.error().text.starts_with("Invalid time specification");
      const bool is_plain = is_time || status.error().text.starts_with("Invalid MailType:");
      session.fail((is_plain ? "" : "scontrol: error: ") + error_text(status.error()));
      if (is_time) session.fail("No changes specified");
      return false;
    }
    any = true;
  }
  return true;
}

// In a job's own environment its new size is told to its shell by a script, as Slurm leaves it.
void write_resize_scripts(Session& session, const std::string& job) {
  if (std::getenv("SLURM_JOBID") == nullptr && std::getenv("SLURM_JOB_ID") == nullptr) return;
  protocol::QueryJobsRequest request;
  request.ids.push_back(job);
  request.hidden_partitions = true;
  std::shared_ptr<const Allocation> allocation;
  std::shared_ptr<const JobSpec> spec;
  (void)session.client()->query_jobs(request, [&](protocol::JobChunk&& chunk) {
    if (chunk.jobs.empty()) return true;
    allocation = chunk.jobs.front().job.allocation;
    spec = chunk.jobs.front().job.spec;
    return true;
  });
  if (allocation == nullptr || spec == nullptr) return;
  std::vector<uint32_t> cpus;
  for (const NodeAllocation& part : allocation->nodes) cpus.push_back(told_cpus(*spec, part));
  const auto write = [&](const std::string& path, const char* set, const char* unset) {
    FILE* out = std::fopen(path.c_str(), "w");
    if (out == nullptr)
      return session.fail("Could not create file " + path + ": " + errno_text(errno));
    for (const char* name : {"SLURM_NODELIST", "SLURM_JOB_NODELIST"}) {
      fmt::print(out, "{}\"{}\"\n", fmt::format(fmt::runtime(set), name), allocation->node_list);
    }
    for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) {
      fmt::print(out, "{}{}\n", fmt::format(fmt::runtime(set), name), cpus.size());
    }
    fmt::print(out, "{}\"{}\"\n", fmt::format(fmt::runtime(set), "SLURM_JOB_CPUS_PER_NODE"),
               fold_counts(cpus));
    for (const char* name : {"SLURM_NPROCS", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE"}) {
      fmt::print(out, "{} {}\n", unset, name);
    }
    std::fclose(out);
    ::chmod(path.c_str(), 0700);
  };
  const std::string stem = "slurm_job_" + job + "_resize";
  write(stem + ".sh", "export {}=", "unset");
  write(stem + ".csh", "setenv {} ", "unsetenv");
  if (session.quiet) return;
  std::printf(
      "To reset Slurm environment variables, execute\n"
      "  For bash or sh shells:  . ./%s.sh\n"
      "  For csh shells:         source ./%s.csh\n",
      stem.c_str(), stem.c_str());
}

// `pairs`: what is to change.
void update_jobs(Session& session, const std::vector<Pair>& pairs, const Words& jobs) {
  for (const std::string& job : jobs) {
    protocol::UpdateJobRequest request;
    request.target = job;
    bool any = false;
    if (!read_job_update(session, pairs, job, request.update, any)) return;
    if (!any) return session.fail("No changes specified");
    const auto reply = session.client()->call<protocol::CountReply>(request);
    if (!reply) {
      refused(session, job, error_text(reply.error()));
      continue;
    }
    for (const std::string& error : reply->errors) session.fail(error);
    const bool size = request.update.min_nodes || request.update.required_nodes;
    if (size && reply->errors.empty()) write_resize_scripts(session, job);
  }
}

// "JobId= Nice=5": as in Slurm, what is wrong with the changes is all there is to tell.
void update_no_job(Session& session, const std::vector<Pair>& changes) {
  if (changes.empty()) return session.fail("No changes specified");
  JobUpdate unused;
  bool any = false;
  (void)read_job_update(session, changes, {}, unused, any);
}

bool is_job_id(const Pair& pair) { return is_key(pair, "JobId", 3); }
bool is_job_name(const Pair& pair) {
  return is_key(pair, "JobName", 4) || iequals(pair.key, "Name");
}
bool is_user(const Pair& pair) { return is_key(pair, "UserID", 4); }

// "JobName=foo UserID=bob": all jobs of that name, of all users where none is given.
void update_named_jobs(Session& session, std::vector<Pair> pairs) {
  const auto name = std::ranges::find_if(pairs, is_job_name);
  const std::string wanted = name->value;
  pairs.erase(name);  // a further one renames them
  std::optional<uint32_t> uid;
  if (const auto user = std::ranges::find_if(pairs, is_user); user != pairs.end()) {
    uid = user_id(user->value);
    if (!uid) uid = to_number<uint32_t>(user->value);  // of a user whose name is not known here
    if (!uid) {
      session.fail("Invalid UserID: " + user->value);
      return session.fail("Request aborted");
    }
  }
  std::erase_if(pairs, is_user);
  if (pairs.empty()) return session.fail("No changes specified");
  const auto jobs = jobs_named(session, wanted, uid);
  if (jobs && jobs->empty()) {
    return session.fail(fmt::format("scontrol: error: JobName {} not found", wanted));
  }
  if (jobs) update_jobs(session, pairs, *jobs);
}

bool check_node_state(Session& session, const NodeUpdate& update, const Pair* state) {
  if (state == nullptr) return true;
  const auto action = parse_node_action(state->value);
  if (!action) {
    session.fail("Invalid input: " + state->typed);
    session.fail("Request aborted");
    session.fail("Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN");
    session.fail("Not all states are valid given a node's prior state");
    return false;
  }
  const bool bad =
      *action == NodeAction::kDown || *action == NodeAction::kDrain || *action == NodeAction::kFail;
  if (bad && update.reason.value_or("").empty()) {
    session.fail("You must specify a reason when DOWNING or DRAINING a node. Request denied");
    return false;
  }
  return true;
}

void update_nodes(Session& session, const std::vector<Pair>& pairs, const std::string& nodes) {
  protocol::UpdateNodeRequest request;
  request.update.nodes = nodes;
  const Pair* state = nullptr;
  bool any = false;
  for (const Pair& pair : pairs) {
    if (is_key(pair, "NodeName", 3)) continue;
    const NodeUpdateKey* key = find_node_update_key(pair.key);
    if (key == nullptr || key->set == nullptr || pair.relative) return reject(session, pair);
    if (key->name == "State") state = &pair;
    const Status status = key->set(pair.value, {.key = key->name}, request.update);
    if (!status) {
      session.fail("scontrol: error: " + error_text(status.error()));
      return session.fail("No changes specified");
    }
    any = true;
  }
  if (!any) return session.fail("No changes specified");
  if (!check_node_state(session, request.update, state)) return;
  const auto reply = session.client()->call<protocol::Empty>(request);
  if (!reply) session.fail("slurm_update error: " + error_text(reply.error()));
}

// Changes or makes a partition; the controller knows its keys.
Status send_partition(Session& session, const std::vector<Pair>& pairs,
                      protocol::PartitionAction action, const std::string& name) {
  protocol::UpdatePartitionRequest request;
  request.action = action;
  request.name = name;
  for (const Pair& pair : pairs) {
    if (pair.relative) {
      return failure(ErrorCode::kInvalidUpdate,
                     "Update of this parameter is not supported: " + pair.typed +
                         "\nscontrol: error: Request aborted");
    }
    if (!is_key(pair, "PartitionName", 4)) request.values[pair.key] = pair.value;
  }
  const auto reply = session.client()->call<protocol::Empty>(request);
  if (!reply) return tl::unexpected<Error>(reply.error());
  return {};
}

// A key or value that is refused says so itself; of other errors `what` is said to have failed.
void partition_failed(Session& session, const Error& error, const std::string& what) {
  const bool is_value = error.code == ErrorCode::kInvalidUpdate;
  session.fail((is_value ? "scontrol: error: " : what) + error_text(error));
}

bool is_partition_key(const std::vector<Pair>& pairs, const Pair*& found) {
  found = find_pair(pairs, "PartitionName", 4);
  return found != nullptr;
}

}  // namespace

void update(Session& session, const Words& words) {
  if (session.client() == nullptr) return;
  const bool of_job = std::ranges::any_of(
      words, [](const std::string& word) { return starts_with_i(word, "job"); });
  if (!of_job && names_reservation(words)) return update_reservation(session, words);
  const auto read = read_pairs(session, words);
  if (!read) return;
  const std::vector<Pair>& pairs = *read;
  const Pair* entity = nullptr;
  if ((entity = find_pair(pairs, "NodeName", 3)) != nullptr) {
    return update_nodes(session, pairs, entity->value);
  }
  if ((entity = find_pair(pairs, "JobId", 3)) != nullptr) {
    const Words jobs = split_ids(entity->value);
    std::vector<Pair> changes = pairs;
    std::erase_if(changes, is_job_id);
    if (jobs.empty()) return update_no_job(session, changes);
    return update_jobs(session, changes, jobs);
  }
  if (std::ranges::any_of(pairs, is_job_name)) return update_named_jobs(session, pairs);
  if ((entity = find_pair(pairs, "StepId", 4)) != nullptr) { return update_step(session, words); }
  if (is_partition_key(pairs, entity)) {
    if (pairs.size() == 1) return session.fail("scontrol: error: No changes specified");
    const Status status =
        send_partition(session, pairs, protocol::PartitionAction::kUpdate, entity->value);
    if (!status) partition_failed(session, status.error(), "slurm_update error: ");
    return;
  }
  if ((entity = find_pair(pairs, "SlurmctldDebug", 10)) != nullptr) {
    return set_debug(session, {"setdebug", entity->value});
  }
  session.fail("No valid entity in update command");
  session.fail(
      "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", "
      "\"JobId\", or \"SlurmctldDebug\"");
}

void create(Session& session, const Words& words) {
  if (names_reservation(words)) return create_reservation(session, words);
  if (names_nodes(words)) return create_nodes(session, words);
  Words rest = words;
  // "create partition PartitionName=…" names the entity first
  if (rest.size() > 2 && rest[1].find('=') == std::string::npos) rest.erase(rest.begin() + 1);
  const auto read = read_pairs(session, rest);
  if (!read) return;
  const std::vector<Pair>& pairs = *read;
  const Pair* name = nullptr;
  if (!is_partition_key(pairs, name)) {
    return session.fail("scontrol: error: Invalid creation entity: " + words[1]);
  }
  if (session.client() == nullptr) return;
  const Status status =
      send_partition(session, pairs, protocol::PartitionAction::kCreate, name->value);
  if (!status) partition_failed(session, status.error(), "Error creating the partition: ");
}

void remove(Session& session, const Words& words) {
  if (words.size() < 3 && words[1].find('=') == std::string::npos) {
    return session.fail(
        "scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'");
  }
  const size_t equals = words[1].find('=');
  const std::string key = words[1].substr(0, equals);
  const std::string name = equals != std::string::npos ? words[1].substr(equals + 1)
                           : words.size() > 2          ? words[2]
                                                       : "";
  const std::string& typed = words[1];
  if (key.size() >= 3 && starts_with_i("ReservationName", key)) {
    return delete_reservation(session, typed, name);
  }
  if (key.size() >= 3 && starts_with_i("NodeName", key)) return delete_nodes(session, typed, name);
  if (key.size() < 4 || !starts_with_i("PartitionName", key)) {
    return session.fail("Invalid deletion entity: " + typed);
  }
  if (session.client() == nullptr) return;
  const Status status = send_partition(session, {}, protocol::PartitionAction::kDelete, name);
  if (!status) session.fail("delete_partition " + typed + ": " + error_text(status.error()));
}

}  // namespace sluice::cli::scontrol
