// sacctmgr: what administrators change and look at in the accounting database.
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <getopt.h>

#include "cli/commands.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/sacctmgr/session.hpp"
#include "cli/shared/interactive.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"

namespace sluice::cli {
namespace {

using namespace sacctmgr;  // NOLINT(google-build-using-namespace): of this file only

constexpr const char* kHelp =
    "sacctmgr [OPTION...] [COMMAND]\n"
    "Looks at and changes accounts, users, associations and QOS of the accounting database.\n"
    "Without a command it reads commands, a line each, until \"quit\".\n"
    "\nOptions:\n"
    "  -h, --help           show this text\n"
    "  -i, --immediate      commit changes without a question\n"
    "  -n, --noheader       tables without a heading\n"
    "  -o, --oneliner       one line for each record\n"
    "  -p, --parsable       fields with '|' between them and at the end\n"
    "  -P, --parsable2      fields with '|' between them\n"
    "  -Q, --quiet          say errors only\n"
    "  -r, --readonly       refuse all changes\n"
    "  -s, --associations   list users and accounts with their associations\n"
    "  -v, --verbose        say more\n"
    "  -V, --version        show the version\n"
    "      --json[=PARSER], --yaml[=PARSER]  records as a document\n"
    "\nCommands:\n"
    "  add, create ENTITY NAMES [OPTION=VALUE...]\n"
    "  modify ENTITY [where CONDITION...] set OPTION=VALUE...\n"
    "  delete, remove ENTITY [where] CONDITION...\n"
    "  list, show ENTITY [CONDITION...] [format=FIELD%WIDTH,...]\n"
    "  dump CLUSTER [file=NAME]       write the cluster's tree to a flat file\n"
    "  load file=NAME [cluster=NAME] [clean]  make the database like the file\n"
    "  archive dump [OPTION=VALUE...]  purge what is old, and keep it in files\n"
    "  archive load file=NAME         put such a file back\n"
    "  reconfigure                    have the accounting daemon read slurmdbd.conf again\n"
    "  shutdown                       end the accounting daemon\n"
    "  associations, oneliner, parsable, parsable2, nonparsable, quiet, readonly, verbose\n"
    "  ping, version, help, exit, quit, !! (the last command again)\n"
    "\nEntities: account, association, cluster, configuration, coordinator, event, problem, qos,\n"
    "  runawayjobs, stats, transaction, tres, user, wckey; job to be modified alone. Options, fields and commands\n"
    "  may be shortened, and are the same in upper and lower case; docs/sacctmgr.md lists them.\n";

using V = const char*;
constexpr OptionRow<Session> kOptions[] = {
    {"associations", 's', Takes::kNothing,
     [](Session& s, V) { return s.associations = true, kGoOn; }},
    {"autocomplete", 0, Takes::kValue, no_effect<Session>},
    {"help", 'h', Takes::kNothing, [](Session&, V) { return print_and_end(kHelp); }},
    {"immediate", 'i', Takes::kNothing, [](Session& s, V) { return s.immediate = true, kGoOn; }},
    {"json", 0, Takes::kPerhaps,
     [](Session& s, V v) {
       return choose_structured("sacctmgr", StructuredForm::kJson, v, s.form);
     }},
    {"noheader", 'n', Takes::kNothing, [](Session& s, V) { return s.header = false, kGoOn; }},
    {"oneliner", 'o', Takes::kNothing, [](Session& s, V) { return s.oneliner = true, kGoOn; }},
    {"parsable", 'p', Takes::kNothing,
     [](Session& s, V) { return s.parsable = Parsable::kEnding, kGoOn; }},
    {"parsable2", 'P', Takes::kNothing,
     [](Session& s, V) { return s.parsable = Parsable::kNotEnding, kGoOn; }},
    {"quiet", 'Q', Takes::kNothing, [](Session& s, V) { return s.quiet = true, kGoOn; }},
    {"readonly", 'r', Takes::kNothing, [](Session& s, V) { return s.readonly = true, kGoOn; }},
    {"usage", 'h', Takes::kNothing, [](Session&, V) { return print_and_end(kHelp); }},
    {"verbose", 'v', Takes::kNothing, [](Session& s, V) { return s.verbose = true, kGoOn; }},
    {"version", 'V', Takes::kNothing,
     [](Session&, V) { return std::optional(print_slurm_version()); }},
    {"yaml", 0, Takes::kPerhaps,
     [](Session& s, V v) {
       return choose_structured("sacctmgr", StructuredForm::kYaml, v, s.form);
     }},
};

bool run_setting_command(Session& session, const Option& verb) {
  if (verb.is("associations", 3)) session.associations = true;
  else if (verb.is("nonparsable", 3)) session.parsable = Parsable::kNo;
  else if (verb.is("oneliner", 1)) session.oneliner = true;
  else if (verb.is("parsable2", 9)) session.parsable = Parsable::kNotEnding;
  else if (verb.is("parsable", 2)) session.parsable = Parsable::kEnding;
  else if (verb.is("quiet", 4)) session.quiet = true;
  else if (verb.is("readonly", 4)) session.readonly = true;
  else if (verb.is("verbose", 4)) session.verbose = true;
  else if (verb.is("exit", 1) || verb.is("quit", 1)) session.quit = true;
  else if (verb.is("help", 2)) std::fputs(kHelp, stdout);
  else if (verb.is("version", 4)) print_slurm_version();
  else return false;
  return true;
}

void run(Session& session, const Words& words) {
  if (words.empty()) return;
  session.told = false;
  const Option verb = split_option(words[0]);
  const Words rest(words.begin() + 1, words.end());
  if (verb.has_value) return void(session.fail("invalid keyword: " + words[0]));
  if (verb.is("add", 2) || verb.is("create", 2)) return add(session, rest);
  if (verb.is("archive", 2)) return archive(session, rest);
  if (verb.is("clear", 2)) return other(session, "clear", rest);
  if (verb.is("delete", 2) || verb.is("remove", 3)) return remove(session, rest);
  if (verb.is("dump", 2)) return dump(session, rest);
  if (verb.is("list", 2) || verb.is("show", 3)) return list(session, rest);
  if (verb.is("load", 2)) return load(session, rest);
  if (verb.is("modify", 1) || verb.is("update", 1)) return modify(session, rest);
  if (verb.is("ping", 2)) return other(session, "ping", rest);
  if (verb.is("reconfigure", 3)) return other(session, "reconfigure", rest);
  if (verb.is("shutdown", 2)) return other(session, "shutdown", rest);
  if (run_setting_command(session, verb)) return;
  session.fail("invalid keyword: " + words[0]);
}

}  // namespace

int sacctmgr_main(int argc, char** argv) {
  Session session;
  session.command_line.assign(argv, argv + argc);
  if (const auto status = read_option_rows<Session>("sacctmgr", kOptions, argc, argv, session))
    return *status;
  const Words words(argv + optind, argv + argc);
  if (words.empty()) {
    run_interactive("sacctmgr: ", [&](const Words& line) {
      run(session, line);
      return !session.quit;
    });
    return session.exit_code;
  }
  run(session, words);
  return session.exit_code;
}

}  // namespace sluice::cli
