// sreport: what was used, by whom, of what there was.
#include <cstdio>

#include <fmt/format.h>
#include <getopt.h>

#include "cli/commands.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/shared/interactive.hpp"
#include "cli/shared/version.hpp"
#include "cli/sreport/report.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

using namespace sreport;  // NOLINT(google-build-using-namespace): of this file only

constexpr const char* kHelp =
    "sreport [OPTION...] [TYPE REPORT [CONDITION...]]\n"
    "Reports of what clusters were used for, in whole hours. Without a report it reads commands,\n"
    "a line each, until \"quit\".\n"
    "\nOptions:\n"
    "  -a, --all_clusters   of all clusters, not of this one\n"
    "  -M, --cluster=LIST   of these clusters\n"
    "  -n, --noheader       tables without a heading\n"
    "  -p, --parsable       fields with '|' between them and at the end\n"
    "  -P, --parsable2      fields with '|' between them\n"
    "  -t FORM              second, minute, hour, percent, secper, minper, hourper\n"
    "  -T, --tres=LIST      of these TRES, or ALL\n"
    "  -Q, --quiet, -v, --verbose, -V, --version, -h, --help\n"
    "\nReports:\n"
    "  cluster AccountUtilizationByQOS, AccountUtilizationByUser, UserUtilizationByAccount,\n"
    "          UserUtilizationByWckey, Utilization, WCKeyUtilizationByUser\n"
    "  job SizesByAccount, SizesByAccountAndWckey, SizesByWckey\n"
    "  reservation Utilization\n"
    "  user TopUsage\n"
    "\nConditions: start=, end=, clusters=, format=FIELD%WIDTH,..., accounts=, users=, wckeys=,\n"
    "  qos=, partitions=, names=, tree, group, topcount=, grouping=, flatview, acctasparent,\n"
    "  printjobcount\n";

std::optional<int> take_form(Session& session, const char* text) {
  const auto form = time_form(text);
  if (form) session.form = *form;
  else std::fprintf(stderr, "unknown time format %s", text);
  return kGoOn;
}

using V = const char*;
constexpr OptionRow<Session> kOptions[] = {
    {"all_clusters", 'a', Takes::kNothing,
     [](Session& s, V) { return s.all_clusters = true, kGoOn; }},
    {"autocomplete", 0, Takes::kValue, no_effect<Session>},
    {"cluster", 'M', Takes::kValue,
     [](Session& s, V v) { return s.clusters = split_list(v), kGoOn; }},
    {"clusters", 'M', Takes::kValue, nullptr},
    {"federation", 0, Takes::kNothing, no_effect<Session>},
    {"help", 'h', Takes::kNothing, [](Session&, V) { return print_and_end(kHelp); }},
    {"immediate", 'i', Takes::kNothing, no_effect<Session>},
    {"local", 0, Takes::kNothing, no_effect<Session>},
    {"noheader", 'n', Takes::kNothing, [](Session& s, V) { return s.header = false, kGoOn; }},
    {"parsable", 'p', Takes::kNothing,
     [](Session& s, V) { return s.parsable = sreport::Parsable::kEnding, kGoOn; }},
    {"parsable2", 'P', Takes::kNothing,
     [](Session& s, V) { return s.parsable = sreport::Parsable::kNotEnding, kGoOn; }},
    {"quiet", 'Q', Takes::kNothing, [](Session& s, V) { return s.quiet = true, kGoOn; }},
    {"sort", 's', Takes::kNothing, no_effect<Session>},
    {"", 't', Takes::kValue, take_form},
    {"tres", 'T', Takes::kValue, [](Session& s, V v) { return s.tres = split_list(v), kGoOn; }},
    {"usage", 'h', Takes::kNothing, [](Session&, V) { return print_and_end(kHelp); }},
    {"verbose", 'v', Takes::kNothing, no_effect<Session>},
    {"version", 'V', Takes::kNothing,
     [](Session&, V) { return std::optional(print_slurm_version()); }},
};

bool is(std::string_view word, std::string_view name, size_t least) {
  return word.size() >= least && starts_with_i(name, word);
}

// False: no more commands.
bool run(Session& session, const Words& words) {
  if (words.empty()) return true;
  const std::string& verb = words[0];
  const std::string report = words.size() > 1 ? words[1] : "";
  const Words rest(words.begin() + std::min<ptrdiff_t>(2, static_cast<ptrdiff_t>(words.size())),
                   words.end());
  const auto reports = [&](auto of) {
    if (words.size() < 2) session.fail("too few arguments for keyword:" + verb);
    else of(session, report, rest);
  };
  if (is(verb, "cluster", 1)) reports(cluster_report);
  else if (is(verb, "job", 1)) reports(job_report);
  else if (is(verb, "reservation", 2)) reports(reservation_report);
  else if (is(verb, "user", 1)) reports(user_report);
  else if (is(verb, "exit", 1) || is(verb, "quit", 4)) return false;
  else if (is(verb, "quiet", 4)) session.quiet = true;
  else if (is(verb, "help", 2)) std::fputs(kHelp, stdout);
  else if (is(verb, "nonparsable", 4)) session.parsable = sreport::Parsable::kNo;
  else if (is(verb, "parsable2", 9)) session.parsable = sreport::Parsable::kNotEnding;
  else if (is(verb, "parsable", 4)) session.parsable = sreport::Parsable::kEnding;
  else if (is(verb, "time", 1)) take_form(session, report.c_str());
  else if (is(verb, "verbose", 4)) return true;
  else if (is(verb, "version", 4)) print_slurm_version();
  else session.fail("invalid keyword: " + verb);
  return true;
}

}  // namespace

int sreport_main(int argc, char** argv) {
  Session session;
  if (const auto status = read_option_rows<Session>("sreport", kOptions, argc, argv, session))
    return *status;
  const Words words(argv + optind, argv + argc);
  if (words.empty())
    run_interactive("sreport: ", [&](const Words& line) { return run(session, line); });
  else run(session, words);
  return session.exit_code;
}

}  // namespace sluice::cli
