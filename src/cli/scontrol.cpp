// scontrol: looks at and changes the cluster, one command or interactively.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <vector>

#include "cli/commands.hpp"
#include "cli/scontrol/session.hpp"
#include "cli/format/environment.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

using scontrol::Session;
using scontrol::Words;

struct Verb {
  std::string_view name;
  size_t least = 0;  // words after the verb
  size_t most = SIZE_MAX;
  void (*run)(Session&, const Words&);
};

void print_version(Session&, const Words&) { print_slurm_version(); }
void leave(Session& session, const Words&) { session.done = true; }

constexpr Verb kVerbs[] = {
    {"all", 0, 0, [](Session& s, const Words&) { s.all = true; }},
    {"cancel_reboot", 1, 1, scontrol::cancel_reboot},
    {"cluster", 0, 1, scontrol::cluster},
    {"completing", 0, 0, scontrol::completing},
    {"create", 1, SIZE_MAX, scontrol::create},
    {"delete", 1, SIZE_MAX, scontrol::remove},
    {"details", 0, 0, [](Session& s, const Words&) { s.details = true; }},
    {"errnostr", 1, 1, scontrol::error_number},
    {"errnumstr", 1, 1, scontrol::error_number},
    {"exit", 0, 0, leave},
    {"fairsharedampeningfactor", 1, 1, scontrol::dampening_factor},
    {"fsdampeningfactor", 1, 1, scontrol::dampening_factor},
    {"getaddrs", 1, 1, scontrol::get_addresses},
    {"getent", 0, 1, scontrol::not_here},
    {"help", 0, SIZE_MAX, [](Session&, const Words&) { scontrol::print_help(); }},
    {"hide", 0, 0, [](Session& s, const Words&) { s.all = false; }},
    {"hold", 1, SIZE_MAX, scontrol::change_jobs},
    {"holdu", 1, SIZE_MAX, scontrol::change_jobs},
    {"listjobs", 0, 1, scontrol::list_jobs},
    {"listpids", 0, 2, scontrol::list_pids},
    {"liststeps", 0, 1, scontrol::list_jobs},
    {"notify", 2, SIZE_MAX, scontrol::notify},
    {"oneliner", 0, 0, [](Session& s, const Words&) { s.one_line = true; }},
    {"pidinfo", 0, 1, scontrol::pid_info},
    {"ping", 0, 0, scontrol::ping},
    {"power", 2, SIZE_MAX, scontrol::change_power},
    {"quiet", 0, 0, [](Session& s, const Words&) { s.be_quiet(); }},
    {"quit", 0, 0, leave},
    {"reboot", 0, SIZE_MAX, scontrol::reboot},
    {"reboot_nodes", 0, SIZE_MAX, scontrol::reboot},
    {"reconfigure", 0, SIZE_MAX, scontrol::reconfigure},
    {"release", 1, SIZE_MAX, scontrol::change_jobs},
    {"requeue", 1, SIZE_MAX, scontrol::change_jobs},
    {"requeuehold", 1, SIZE_MAX, scontrol::change_jobs},
    {"resume", 1, SIZE_MAX, scontrol::change_jobs},
    {"schedloglevel", 1, 1, scontrol::schedule_log_level},
    {"setdebug", 1, 2, scontrol::set_debug},
    {"setdebugflags", 1, SIZE_MAX, scontrol::set_debug_flags},
    {"show", 1, 6, scontrol::show},  // assoc_mgr takes several words
    {"shutdown", 0, 1, scontrol::shutdown},
    {"suspend", 1, SIZE_MAX, scontrol::change_jobs},
    {"takeover", 0, 1, scontrol::takeover},
    {"token", 0, SIZE_MAX, scontrol::token},
    {"top", 1, 1, scontrol::change_jobs},
    {"uhold", 1, SIZE_MAX, scontrol::change_jobs},
    {"update", 1, SIZE_MAX, scontrol::update},
    {"verbose", 0, 0, [](Session& s, const Words&) { s.be_verbose(); }},
    {"version", 0, 0, print_version},
    {"wait_job", 1, 1, scontrol::wait_job},
    {"write", 1, 3, scontrol::write},
};

const Verb* find_verb(std::string_view given) {
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) names.push_back(verb.name);
  const auto found = match_prefix(given, names);
  return found ? &kVerbs[*found] : nullptr;
}

void too_few(Session& session, const Verb& verb, const std::string& typed) {
  if (verb.name == "create" || verb.name == "delete" || verb.name == "update") {
    session.fail("too few arguments for " + std::string(verb.name) + " keyword");
  } else if (verb.name.starts_with("err")) {
    session.fail("one arguments required for keyword:" + typed);
  } else if (verb.name == "cancel_reboot") {
    session.fail("missing argument for keyword:" + typed);
  } else {
    session.fail("too few arguments for keyword:" + typed);
  }
}

void run_words(Session& session, Words words) {
  if (words.empty()) return;
  const Verb* verb = find_verb(words[0]);
  if (verb == nullptr) {  // said in any case
    std::fflush(stdout);
    std::fprintf(stderr, "invalid keyword: %s\n", words[0].c_str());
    session.exit_status = 1;
    return;
  }
  const size_t given = words.size() - 1;
  if (given < verb->least) return too_few(session, *verb, words[0]);
  if (given > verb->most) return session.fail("too many arguments for keyword:" + words[0]);
  words[0] = verb->name;
  verb->run(session, words);
}

// Words of a line: blanks separate, quotes and backslashes hold together.
Words split_line(const std::string& line) {
  Words out;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      in_word = true;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
      else word += c;
    } else if ((c == '"' || c == '\'') &&
               line.find(c, i + 1) != std::string::npos) {  // one that is never closed is a letter
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      if (in_word) out.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) out.push_back(word);
  return out;
}

// Until exit, quit or the end of the input; "!!" repeats the line before. What no terminal has
// echoed is shown here.
void run_interactively(Session& session) {
  std::string previous;
  std::string line;
  const bool echo = isatty(STDIN_FILENO) == 0;
  while (!session.done) {
    std::cout << "scontrol: " << std::flush;
    if (!std::getline(std::cin, line)) {
      std::cout << '\n';
      return;
    }
    if (echo) std::cout << line << '\n' << std::flush;
    if (trim(line) == "!!") {
      line = previous;
      if (previous.empty()) session.exit_status = 1;
    }
    previous = line;
    run_words(session, split_line(line));
    std::fflush(stdout);
  }
}

struct Options {
  Session session;
  std::string cluster;
};

template <StructuredForm F>
std::optional<int> choose_form(Options& o, const char* value) {
  o.session.form_wanted = true;
  return choose_structured("scontrol", F, value, o.session.form);
}

std::optional<int> help(Options& /*options*/, const char* /*value*/) {
  return scontrol::print_help(), 0;
}

using O = Options;
using V = const char*;
constexpr OptionRow<O> kOptions[] = {
    {"all", 'a', Takes::kNothing, [](O& o, V) { return o.session.all = true, kGoOn; }},
    {"autocomplete", 0, Takes::kValue, no_effect<O>},
    {"cluster", 'M', Takes::kValue, [](O& o, V v) { return o.cluster = v, kGoOn; }},
    {"clusters", 'M', Takes::kValue, nullptr},
    {"details", 'd', Takes::kNothing, [](O& o, V) { return o.session.details = true, kGoOn; }},
    {"federation", 0, Takes::kNothing, no_effect<O>},
    {"future", 'F', Takes::kNothing, [](O& o, V) { return o.session.future = true, kGoOn; }},
    {"help", 'h', Takes::kNothing, help},
    {"hide", 0, Takes::kNothing, [](O& o, V) { return o.session.all = false, kGoOn; }},
    {"json", 0, Takes::kPerhaps, choose_form<StructuredForm::kJson>},
    {"local", 0, Takes::kNothing, no_effect<O>},
    {"oneliner", 'o', Takes::kNothing, [](O& o, V) { return o.session.one_line = true, kGoOn; }},
    {"quiet", 'Q', Takes::kNothing, [](O& o, V) { return o.session.be_quiet(), kGoOn; }},
    {"sibling", 0, Takes::kNothing, no_effect<O>},
    {"uid", 'u', Takes::kValue, no_effect<O>},
    {"usage", 0, Takes::kNothing, help},
    {"verbose", 'v', Takes::kNothing, [](O& o, V) { return o.session.be_verbose(), kGoOn; }},
    {"version", 'V', Takes::kNothing, [](O&, V) { return std::optional(print_slurm_version()); }},
    {"yaml", 0, Takes::kPerhaps, choose_form<StructuredForm::kYaml>},
};

// A word such as -Backfill after setdebugflags is no option.
bool takes_dashed_words(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) {
    return std::string_view(word).size() > 8 && starts_with_i("setdebugflags", word);
  });
}

}  // namespace

int scontrol_main(int argc, char** argv) {
  Options options;
  Session& session = options.session;
  session.command_line.assign(argv, argv + argc);
  session.all = environment("SCONTROL_ALL").has_value();
  session.future = environment("SCONTROL_FUTURE").has_value();
  if (const auto status = choose_structured("scontrol", session.form)) return *status;
  options.cluster = environment("SLURM_CLUSTERS").value_or("");
  const Reading dashed = takes_dashed_words(argc, argv) ? Reading::kOperandsEnd : Reading::kUsual;
  if (const auto status = read_option_rows<O>("scontrol", kOptions, argc, argv, options, dashed))
    return *status;
  if (!options.cluster.empty()) {
    Client* client = session.client();
    if (client == nullptr || !accept_cluster("scontrol", options.cluster, client->config()))
      return 1;
  }
  if (optind < argc) run_words(session, Words(argv + optind, argv + argc));
  else run_interactively(session);
  return session.exit_status;
}

}  // namespace sluice::cli
