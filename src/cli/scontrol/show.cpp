// scontrol show.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "cli/scontrol/assoc_mgr.hpp"
#include "cli/scontrol/session.hpp"
#include "cli/format/environment.hpp"
#include "cli/format/shown_text.hpp"
#include "common/os/host_name.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/config/conf_render.hpp"
#include "common/names/errors.hpp"
#include "cli/format/job_json.hpp"
#include "cli/format/job_show.hpp"
#include "cli/format/node_show.hpp"
#include "common/format/partition_show.hpp"
#include "common/format/reservation_keys.hpp"
#include "cli/format/step_fields.hpp"
#include "common/names/step_names.hpp"
#include "common/protocol/config_query.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/node_query.hpp"

namespace sluice::cli::scontrol {
namespace {

// A record, and the blank line that follows it unless it is all in one line.
void print_record(const Session& session, const std::string& text) {
  print_text(text);
  if (!session.one_line) print_text("\n");
}

void print_json(Session& session, const std::string& key, Json records, Time now,
                std::vector<std::string> warnings = {}) {
  Json further = Json::object();
  if (key == "jobs") further["last_backfill"] = json_time(now);
  further["last_update"] = json_time(now);
  print_records(session, key, std::move(records), std::move(further), std::move(warnings));
}

struct JobAnswer {
  std::vector<protocol::JobRecord> jobs;
  Time now = kNoTime;
};

enum class About { kJobs, kSteps };

Result<JobAnswer> ask_for_jobs(Session& session, const std::string& id, About about) {
  protocol::QueryJobsRequest request;
  request.all_states = true;
  request.hidden_partitions = session.all || (about == About::kJobs && !id.empty());
  request.steps = about == About::kSteps || session.form;
  if (!id.empty()) request.ids.push_back(id);
  JobAnswer answer;
  const Status status = session.client()->query_jobs(request, [&](protocol::JobChunk&& chunk) {
    answer.now = chunk.now;
    std::move(chunk.jobs.begin(), chunk.jobs.end(), std::back_inserter(answer.jobs));
    return true;
  });
  if (!status) return tl::unexpected<Error>(status.error());
  if (answer.now == kNoTime) answer.now = current_time();
  return answer;
}

bool looks_like_job_id(const std::string& id) {
  return !id.empty() && id[0] >= '0' && id[0] <= '9' &&
         id.find_first_not_of("0123456789_+[]-,:%*") == std::string::npos &&
         id.substr(0, id.find('[')).find(',') == std::string::npos;
}

void show_jobs(Session& session, const std::string& id) {
  if (!id.empty() && !looks_like_job_id(id)) {
    return session.fail("scontrol_print_job error: Invalid job id specified");
  }
  const auto answer = ask_for_jobs(session, id, About::kJobs);
  if (!answer) return session.fail("slurm_load_jobs error: " + error_text(answer.error()));
  const RenderContext context = session.context(answer->now);
  if (session.form) {
    Json records = Json::array();
    const NodeShapes shapes = node_shapes(session.client()->nodes());
    for (const auto& job : answer->jobs)
      records.push_back(job_to_json({&job, kNoTask, {}}, context, shapes));
    return print_json(session, "jobs", std::move(records), answer->now);
  }
  session.say_loaded(answer->now, answer->jobs.size());
  for (const auto& job : answer->jobs) {
    const JobView whole{&job, kNoTask, {}};
    const auto print_one = [&](uint32_t task) {
      print_record(session, show_job({&job, task, {}}, context, session.one_line, session.details));
    };
    const auto tasks = is_pending_array(whole) ? tasks_asked_for({id}, whole) : std::nullopt;
    if (!tasks) {
      print_one(kNoTask);
      continue;
    }
    job.job.array->pending.for_each([&](uint32_t task) {
      if (tasks->contains(task)) print_one(task);
    });
  }
  if (!answer->jobs.empty()) return;
  if (!id.empty()) {
    session.exit_status = 1;
    if (!session.quiet) std::printf("Job %s not found\n", id.c_str());
  } else if (!session.quiet) {
    std::puts("No jobs in the system");
  }
}

void show_steps(Session& session, const std::string& id) {
  const size_t dot = id.find('.');
  const auto answer = ask_for_jobs(session, id.substr(0, dot), About::kSteps);
  if (!answer) return session.fail("slurm_get_job_steps error: " + error_text(answer.error()));
  const RenderContext context = session.context(answer->now);
  std::vector<StepView> steps;
  for (const auto& job : answer->jobs) {
    for (const auto& step : job.job.steps) {
      const StepView view{&job, step.get()};
      std::string text;
      append_step_id(view, text);
      // of which it is a part
      const bool whole = step_id_text({step->id.job, number_of_step(step->id.step)}) == id;
      if (dot == std::string::npos || text == id || step_id_text(step->id) == id || whole)
        steps.push_back(view);
    }
  }
  if (session.form) {
    Json records = Json::array();
    std::vector<std::string> warnings;
    for (const StepView& step : steps) records.push_back(step_to_json(step, context, warnings));
    return print_json(session, "steps", std::move(records), answer->now, std::move(warnings));
  }
  session.say_loaded(answer->now, steps.size());
  for (const StepView& step : steps) {
    print_record(session, show_step(step, context, session.one_line));
  }
  if (!steps.empty()) return;
  if (!id.empty()) {
    session.exit_status = 1;
    if (!session.quiet) std::printf("Job step %s not found\n", id.c_str());
  } else if (!session.quiet) {
    std::puts("No job steps in the system");
  }
}

void show_nodes(Session& session, const std::string& list) {
  protocol::QueryNodesRequest request;
  request.nodes_only = true;
  request.hidden_partitions = session.all;
  request.powered_down = session.future;
  const auto reply = session.client()->call<protocol::QueryNodesReply>(request);
  if (!reply) return session.fail("slurm_load_node error: " + error_text(reply.error()));
  std::vector<std::string> wanted;
  if (!list.empty() && !iequals(list, "ALL")) {
    const auto names = expand_hosts(list);
    if (!names) return session.fail(error_text(names.error()));
    wanted = *names;
  } else {
    for (const auto& node : reply->nodes) {
      const bool future = node.shown_base == NodeBaseState::kFuture;
      if (!future || session.future) wanted.push_back(node.node.name);
    }
  }
  const RenderContext context = session.context(reply->now);
  session.say_loaded(reply->now, reply->nodes.size());
  Json records = Json::array();
  for (const std::string& name : wanted) {
    const auto at = std::find_if(reply->nodes.begin(), reply->nodes.end(),
                                 [&](const auto& node) { return node.node.name == name; });
    if (at == reply->nodes.end()) {
      session.fail_to_find("Node " + name + " not found");
    } else if (session.form) {
      records.push_back(node_to_json(*at, context));
    } else {
      print_record(session, show_node(*at, context, session.one_line, session.details));
    }
  }
  if (session.form) {
    print_json(session, "nodes", std::move(records), reply->now);
  } else if (wanted.empty() && !session.quiet) {
    std::puts("No nodes in the system");
  }
}

void show_partitions(Session& session, const std::string& name) {
  protocol::QueryNodesRequest request;
  request.partitions_only = true;
  request.hidden_partitions = session.all;
  const auto reply = session.client()->call<protocol::QueryNodesReply>(request);
  if (!reply) return session.fail("slurm_load_partitions error: " + error_text(reply.error()));
  const RenderContext context = session.context(reply->now);
  session.say_loaded(reply->now, reply->partitions.size());
  bool any = false;
  Json records = Json::array();
  for (const auto& partition : reply->partitions) {
    if (!name.empty() && partition.config.name != name) continue;
    any = true;
    const std::string tres = partition_tres(partition, reply->nodes, context);
    if (session.form) records.push_back(partition_to_json(partition, tres));
    else print_record(session, show_partition(partition, tres, context, session.one_line));
  }
  if (session.form) { return print_json(session, "partitions", std::move(records), reply->now); }
  if (any) return;
  if (!name.empty()) {
    session.exit_status = 1;
    if (!session.quiet) std::printf("Partition %s not found\n", name.c_str());
  } else if (!session.quiet) {
    std::puts("No partitions in the system");
  }
}

void show_config(Session& session, const std::string&) {
  const auto reply =
      session.client()->call<protocol::QueryConfigReply>(protocol::QueryConfigRequest{});
  if (!reply) { return session.fail("slurm_load_ctl_conf error: " + error_text(reply.error())); }
  const RenderContext context = session.context(reply->now);
  tables::ConfigReport report;
  report.as_of = format_time(reply->now, context.time_form, reply->now);
  report.boot_time = format_time(reply->boot_time, context.time_form, reply->now);
  report.next_job_id = reply->next_job_id;
  for (const ControllerAnswer& answer : ping_controllers(session))
    report.ping_lines.push_back(ping_line(answer));
  ClusterConfig config = reply->config;
  for (const auto& [key, value] : reply->runtime) config.values[key] = value;
  print_text(tables::render_config(config, report));
}

bool same_host(std::string_view a, std::string_view b) {
  return a.substr(0, a.find('.')) == b.substr(0, b.find('.'));
}

void show_daemons(Session& session, const std::string&) {
  const ClusterConfig& config = session.client()->config();
  const std::string host = short_host_name();
  const bool controller = std::any_of(
      config.controllers.begin(), config.controllers.end(),
      [&](const auto& one) { return same_host(one.name, host) || one.name == "localhost"; });
  const std::vector<NodeConfig>& nodes = session.client()->nodes();
  const bool node = std::any_of(nodes.begin(), nodes.end(), [&](const NodeConfig& one) {
    return same_host(one.hostname, host) || one.hostname == "localhost";
  });
  std::string out;
  if (controller) out += "slurmctld ";
  if (node) out += "slurmd ";
  if (!out.empty()) out.pop_back();
  std::puts(out.c_str());
}

void show_aliases(Session& session, const std::string& given) {
  const std::string host = given.empty() ? short_host_name() : given;
  std::string out;
  for (const NodeConfig& node : session.client()->nodes()) {
    if (same_host(node.hostname, host)) out.append(out.empty() ? "" : " ").append(node.name);
  }
  std::puts(out.c_str());
}

void show_host_names(Session&, const std::string& list) {
  if (list.empty()) {
    std::fprintf(stderr, "scontrol: error: host list is empty\n");
    return;
  }
  const auto names = expand_hosts(list);
  if (!names) {  // as in Slurm, where this is no failure of the command
    std::fprintf(stderr, "%s\n", error_text(names.error()).c_str());
    return;
  }
  std::string out;
  for (const std::string& name : *names) out.append(name).append("\n");
  print_text(out);
}

void show_host_names_of_job(Session& session) {
  std::string list = environment("SLURM_JOB_NODELIST").value_or("");
  if (list.empty()) list = environment("SLURM_NODELIST").value_or("");
  show_host_names(session, list);
}

void refuse_no_names(Session& session) {
  session.fail("invalid encode argument");
  print_help();
}

// The names of a list, or of a file that is given by its absolute path. An empty list has none.
void fold_names(Session& session, const std::string& given, bool sorted) {
  std::string list = given;
  if (given.starts_with('/')) {
    std::ifstream file(given);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return session.fail("Can't open " + given);
    list = text.str();
    std::replace(list.begin(), list.end(), '\n', ',');
  }
  std::vector<std::string> names;
  for (const std::string& piece : split_hosts(list)) {
    const auto some = expand_hosts(trim(piece));
    if (!some) return session.fail(error_text(some.error()));
    names.insert(names.end(), some->begin(), some->end());
  }
  std::puts((sorted ? fold_hosts_sorted(names) : fold_hosts(names)).c_str());
}

void show_licenses(Session& session, const std::string& name) {
  const auto reply =
      session.client()->call<protocol::QueryLicensesReply>(protocol::QueryLicensesRequest{});
  if (!reply) return session.fail("slurm_load_licenses error: " + error_text(reply.error()));
  if (session.form) {
    Json records = Json::array();
    for (const auto& [license, total, used, reserved] : reply->licenses) {
      if (!name.empty() && name != license) continue;
      records.push_back({{"LicenseName", license},
                         {"Total", total},
                         {"Used", used},
                         {"Free", total - std::min(total, used)},
                         {"Remote", false},
                         {"Reserved", reserved},
                         {"LastConsumed", 0},
                         {"LastDeficit", 0},
                         {"LastUpdate", 0}});
    }
    return print_json(session, "licenses", std::move(records), current_time());
  }
  if (reply->licenses.empty()) {
    if (!session.quiet) std::puts("No licenses configured in Slurm.");
    return;
  }
  for (const auto& [license, total, used, reserved] : reply->licenses) {
    if (!name.empty() && name != license) continue;
    print_text(fmt::format("LicenseName={}{}Total={} Used={} Free={} Reserved={} Remote=no\n",
                           license, session.one_line ? " " : "\n    ", total, used,
                           total - std::min(total, used), reserved));
  }
}

void say(Session& session, const char* text) {
  if (!session.quiet) std::puts(text);
}

void show_reservations(Session& session, const std::string& name) {
  const auto reply = session.client()->call<protocol::QueryReservationsReply>(
      protocol::QueryReservationsRequest{});
  if (!reply) return session.fail("slurm_load_reservations error: " + error_text(reply.error()));
  Json records = Json::array();
  const RenderContext context = session.context(reply->now);
  const std::vector<std::string>& tres = context.accounting_tres;
  bool any = false;
  for (const auto& record : reply->reservations) {
    if (!name.empty() && record.reservation.name != name) continue;
    any = true;
    if (session.form) records.push_back(reservation_to_json(record, tres));
    else print_record(session, show_reservation(record, session.one_line, tres));
  }
  if (session.form) return print_json(session, "reservations", std::move(records), reply->now);
  if (any) return;
  if (name.empty()) return say(session, "No reservations in the system");
  session.exit_status = 1;
  if (!session.quiet) std::printf("Reservation %s not found\n", name.c_str());
}

// None of them is known. As in Slurm the exit status is 0.
void refuse_assoc_mgr_flags(const Session& session, const std::string& words) {
  if (session.quiet) return;
  for (const std::string& word : split_list(words, ' ')) {
    if (word.empty() || (word.front() != 'f' && word.front() != 'F')) continue;
    const std::string given = word.substr(word.find('=') + 1);
    std::fprintf(stderr, "invalid flag '%s', valid options are 'Assoc, QOS, and/or Users'\n",
                 given.c_str());
  }
}

void show_assoc_mgr(Session& session, const std::string& words) {
  protocol::QueryAssocMgrRequest request;
  const std::string unknown = read_assoc_mgr_words(words, request);
  if (!unknown.empty())
    return session.fail("Invalid argument: " + unknown + " for keyword:show assoc_mgr");
  if (request.no_associations && request.no_users && request.no_qos)
    return refuse_assoc_mgr_flags(session, words);
  const auto reply = session.client()->call<protocol::AssocMgrReply>(request);
  if (!reply) return session.fail("assoc_mgr_info error: " + error_text(reply.error()));
  if (!session.quiet) print_text(assoc_mgr_text(*reply, request, session.one_line));
}

struct Entity {
  std::string_view name;
  void (*show)(Session&, const std::string&);
  std::string_view records{};  // by this key in JSON and YAML; none: it gives text only
  bool needs_cluster = true;
  void (*show_unnamed)(Session&) = nullptr;  // in its place when nothing is named, not even ""
};
// Where two begin alike, the first one is meant by a beginning that both share only if it is one
// letter that Slurm takes that way ("d" for daemons).
constexpr Entity kEntities[] = {
    {"aliases", show_aliases},
    {"assoc_mgr", show_assoc_mgr},
    {"bbstat", [](Session&, const std::string&) {}},
    {"burstbuffer", [](Session&, const std::string&) {}},
    {"config", show_config},
    {"daemons", show_daemons},
    {"dwstat", [](Session&, const std::string&) {}},
    {"federation", [](Session&, const std::string&) {}},
    {"hostlist",
     [](Session& s, const std::string& id) { fold_names(s, id, false); },
     {},
     false,
     refuse_no_names},
    {"hostlistsorted",
     [](Session& s, const std::string& id) { fold_names(s, id, true); },
     {},
     false,
     refuse_no_names},
    {"hostnames", show_host_names, {}, false, show_host_names_of_job},
    {"jobs", show_jobs, "jobs"},
    {"jobid", show_jobs, "jobs"},
    {"licenses", show_licenses, "licenses"},
    {"nodes", show_nodes, "nodes"},
    {"partitions", show_partitions, "partitions"},
    {"partitionname", show_partitions, "partitions"},
    {"reservations", show_reservations, "reservations"},
    {"reservationname", show_reservations, "reservations"},
    {"slurmd", [](Session& s, const std::string&) { show_agent(s); }},
    {"steps", show_steps, "steps"},
    {"topology", show_topology},
};

const Entity* find_entity(std::string_view given) {
  const Entity* found = nullptr;
  for (const Entity& entity : kEntities) {
    if (iequals(entity.name, given)) return &entity;
    if (!starts_with_i(entity.name, given)) continue;
    if (found == nullptr) found = &entity;
    else if (found->show != entity.show && !iequals(given, "d")) return nullptr;
  }
  return found;
}

}  // namespace

void show(Session& session, const Words& words) {
  std::string name = words[1];
  std::string id = words.size() > 2 ? words[2] : "";
  const size_t equals = name.find('=');
  const bool unnamed = words.size() < 3 && equals == std::string::npos;
  if (equals != std::string::npos) {
    id = name.substr(equals + 1);
    name.resize(equals);
  }
  const Entity* entity = find_entity(name);
  const bool takes_words = entity != nullptr && entity->show == show_assoc_mgr;
  if (!takes_words && words.size() > 3) return session.fail("too many arguments for keyword:show");
  for (size_t at = 3; at < words.size(); ++at) id += " " + words[at];
  if (entity == nullptr || name.empty()) {
    return session.fail("invalid entity:" + name + " for keyword:show ");
  }
  if (session.form_wanted && entity->records.empty()) {  // text would only be taken for broken JSON
    return session.fail(fmt::format(
        "scontrol: error: show {} gives text only, neither JSON nor YAML", entity->name));
  }
  if (entity->needs_cluster && session.client() == nullptr) return;
  session.in_document = session.form && !entity->records.empty();
  if (unnamed && entity->show_unnamed != nullptr) entity->show_unnamed(session);
  else entity->show(session, id);
  if (session.in_document)
    print_json(session, std::string(entity->records), Json::array(), current_time());
}

}  // namespace sluice::cli::scontrol
