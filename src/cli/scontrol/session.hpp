// One run of scontrol: its settings, its connection, and the exit status so far. Each verb is a
// function that takes the session and the words typed; a verb that fails says so itself and leaves
// exit status 1.
#pragma once

#include <chrono>
#include <cstdarg>
#include <optional>
#include <string>
#include <vector>

#include "cli/shared/client.hpp"
#include "cli/format/structured_output.hpp"
#include "common/format/field_row.hpp"

namespace sluice::cli::scontrol {

using Words = std::vector<std::string>;  // the verb first

struct Session {
  bool all = false;
  bool details = false;
  bool one_line = false;
  bool quiet = false;
  bool verbose = false;  // not with quiet: the one that was said last holds
  bool future = false;
  bool done = false;  // exit, quit
  int exit_status = 0;
  StructuredChoice form;
  bool form_wanted = false;  // by --json or --yaml, not by the environment alone
  Words command_line;
  std::vector<std::string> errors;  // for the document that is to be printed
  bool in_document = false;         // `show` is at it, and has not printed one

  // The connection; nothing (and the reason on stderr) when there is no configuration.
  [[nodiscard]] Client* client();
  [[nodiscard]] RenderContext context(Time now);
  // Something to stderr (unless --quiet) with a newline, and exit status 1; in a document, too.
  void fail(const std::string& text);
  // The same of a record that is not there, to stdout where that is no document.
  void fail_to_find(const std::string& text);
  void be_quiet() { quiet = true, verbose = false; }
  void be_verbose() { quiet = false, verbose = true; }
  // With --verbose: how much the controller gave.
  void say_loaded(Time time, size_t records);

 private:
  std::optional<Client> client_;
};

// The verbs, by file.
void show(Session& session, const Words& words);

void change_jobs(Session& session, const Words& words);  // hold … resume, top
void wait_job(Session& session, const Words& words);
void notify(Session& session, const Words& words);
void write(Session& session, const Words& words);
void completing(Session& session, const Words& words);

void update(Session& session, const Words& words);
void create(Session& session, const Words& words);
void remove(Session& session, const Words& words);  // delete
// create: a word begins with NodeName or a part of it
[[nodiscard]] bool names_nodes(const Words& words);
void create_nodes(Session& session, const Words& words);
// `typed` is the word that named the entity.
void delete_nodes(Session& session, const std::string& typed, const std::string& names);

// Whether they are about a reservation (and not about a job's).
[[nodiscard]] bool names_reservation(const Words& words);
void create_reservation(Session& session, const Words& words);
void update_reservation(Session& session, const Words& words);
void delete_reservation(Session& session, const std::string& typed, const std::string& name);

void list_pids(Session& session, const Words& words);
void pid_info(Session& session, const Words& words);
void list_jobs(Session& session, const Words& words);  // listjobs, liststeps
void show_agent(Session& session);                     // show slurmd

// administration
void reboot(Session& session, const Words& words);
void change_power(Session& session, const Words& words);  // power
void cancel_reboot(Session& session, const Words& words);
void get_addresses(Session& session, const Words& words);  // getaddrs
void cluster(Session& session, const Words& words);
void schedule_log_level(Session& session, const Words& words);
void dampening_factor(Session& session, const Words& words);
void write_config_file(Session& session, const Words& words);
void show_topology(Session& session, const std::string& name);
void update_step(Session& session, const Words& words);

void ping(Session& session, const Words& words);
void reconfigure(Session& session, const Words& words);
void shutdown(Session& session, const Words& words);
void set_debug(Session& session, const Words& words);
void set_debug_flags(Session& session, const Words& words);
void takeover(Session& session, const Words& words);
void error_number(Session& session, const Words& words);
void token(Session& session, const Words& words);
void not_here(Session& session, const Words& words);  // verbs whose feature is not built

// What asking each controller gave, in the order of the configuration.
struct ControllerAnswer {
  std::string name;  // SlurmctldHost
  std::string role;  // "primary", "backup", "backup2"
  bool up = false;
  std::chrono::steady_clock::duration took{};
};
[[nodiscard]] std::vector<ControllerAnswer> ping_controllers(Session& session);
// "Slurmctld(primary) at HOST is UP"
[[nodiscard]] std::string ping_line(const ControllerAnswer& answer);

// The document of --json or --yaml; `further` as in StructuredDocument.
void print_records(Session& session, std::string key, Json records, Json further = Json::object(),
                   std::vector<std::string> warnings = {});

void print_help();

// "12,13_[1-3,5]" as two; commas in brackets stay.
[[nodiscard]] Words split_ids(const std::string& text);
// The jobs of a name that are not over, of this user only where one is given, each once: an array
// or heterogeneous job as a whole where its first record has the name, else the tasks or components
// that have it. Nothing: the controller did not say (and that was said).
enum class Tasks { kAll, kWaiting };  // those of arrays that are meant
[[nodiscard]] std::optional<Words> jobs_named(Session& session, const std::string& name,
                                              std::optional<uint32_t> uid,
                                              Tasks meant = Tasks::kAll);
// Says why nothing was done to a job ("... for job 12") or to tasks ("12_1-3: ...").
void refused(Session& session, const std::string& target, const std::string& why);

}  // namespace sluice::cli::scontrol
