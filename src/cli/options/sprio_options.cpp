// See sprio_options.hpp.
#include "cli/options/sprio_options.hpp"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

#include "cli/format/environment.hpp"
#include "cli/format/priority_fields.hpp"
#include "cli/options/option_lines.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kUsageText =
    "Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions]\n"
    "   [--federation] [--local] [--sibling] [--usage] [-hlnvVw]\n";

constexpr const char* kHelpText =
    "Usage: sprio [OPTIONS]\n"
    "      --federation                accepted; there is no federation\n"
    "  -h, --noheader                  no heading line\n"
    "  -j, --jobs                      only these jobs, separated by commas\n"
    "      --local                     accepted; there is no federation\n"
    "  -l, --long                      further columns\n"
    "  -M, --cluster=cluster_name      the cluster to ask\n"
    "  -n, --norm                      factors as they are, before they are weighed\n"
    "  -o, --format=format             columns by letter: %[[.]width]letter\n"
    "      --sibling                   accepted; there is no federation\n"
    "  -p, --partition=partition_name  only these partitions, separated by commas\n"
    "  -S, --sort=fields               letters to sort by, - before one for downwards\n"
    "  -u, --user=user_name            only jobs of these users, separated by commas\n"
    "  -v, --verbose                   say more\n"
    "  -V, --version                   print the version and end\n"
    "  -w, --weights                   what each factor weighs, and no jobs\n"
    "\n"
    "Help options:\n"
    "  --help                          show this help message\n"
    "  --usage                         show the options in brief\n";

int fail(const std::string& text) {
  std::fprintf(stderr, "sprio: error: %s\n", text.c_str());
  return 1;
}

std::optional<int> take_jobs(const char* list, SprioOptions& o) {
  o.by_jobs = true;
  if (list == nullptr) return std::nullopt;
  o.jobs_given = list;
  o.request.jobs.clear();
  for (const std::string& one : split_list(list)) {
    const auto job = to_number<JobId>(one);
    if (!job || *job == 0) return fail("Invalid job id: " + one);
    o.request.jobs.push_back(*job);
  }
  return std::nullopt;
}

// Users that are not known are left out; when none is left nobody's jobs are shown.
void take_users(const char* list, SprioOptions& o) {
  o.by_users = true;
  o.users_given = list;
  o.request.uids.clear();
  for (const std::string& name : split_list(list)) {
    if (const auto uid = user_id(name)) o.request.uids.push_back(*uid);
    else fail("Invalid user: " + name + "\n");
  }
  o.nobody = o.nobody || o.request.uids.empty();
}

void take_partitions(const char* list, SprioOptions& o) {
  o.partitions_given = list;
  o.request.partitions = split_list(list);
  o.nobody = o.nobody || o.request.partitions.empty();
}

void print_priority_fields() {
  for (const auto& field : priority_fields()) {
    std::printf("%%%c %s\n", field.letter, std::string(field.heading).c_str());
  }
}

using O = SprioOptions;
using V = const char*;
constexpr OptionRow<O> kOptions[] = {
    {"autocomplete", 0, Takes::kValue, no_effect<O>},
    {"cluster", 'M', Takes::kValue, [](O& o, V v) { return o.cluster = v, kGoOn; }},
    {"clusters", 'M', Takes::kValue, nullptr},
    {"federation", 0, Takes::kNothing, no_effect<O>},
    {"format", 'o', Takes::kValue, [](O& o, V v) { return o.format = v, kGoOn; }},
    {"help", 0, Takes::kNothing, [](O&, V) { return print_and_end(kHelpText); }},
    {"helpformat", 0, Takes::kNothing,
     [](O&, V) { return print_priority_fields(), std::optional(0); }},
    {"jobs", 'j', Takes::kPerhaps, [](O& o, V v) { return take_jobs(v, o); }},
    {"local", 0, Takes::kNothing, no_effect<O>},
    {"long", 'l', Takes::kNothing, [](O& o, V) { return o.long_form = true, kGoOn; }},
    {"noheader", 'h', Takes::kNothing, [](O& o, V) { return o.no_header = true, kGoOn; }},
    {"norm", 'n', Takes::kNothing, [](O& o, V) { return o.normal = true, kGoOn; }},
    {"partition", 'p', Takes::kValue, [](O& o, V v) { return take_partitions(v, o), kGoOn; }},
    {"sib", 0, Takes::kNothing, [](O& o, V) { return o.sibling = true, kGoOn; }},
    {"sibling", 0, Takes::kNothing, [](O& o, V) { return o.sibling = true, kGoOn; }},
    {"sort", 'S', Takes::kValue, [](O& o, V v) { return o.sort = v, kGoOn; }},
    {"usage", 0, Takes::kNothing, [](O&, V) { return print_and_end(kUsageText); }},
    {"user", 'u', Takes::kValue, [](O& o, V v) { return take_users(v, o), kGoOn; }},
    {"users", 'u', Takes::kValue, nullptr},
    {"verbose", 'v', Takes::kNothing, [](O& o, V) { return ++o.verbose, kGoOn; }},
    {"version", 'V', Takes::kNothing, [](O&, V) { return std::optional(print_slurm_version()); }},
    {"weights", 'w', Takes::kNothing, [](O& o, V) { return o.weights_only = true, kGoOn; }},
};

}  // namespace

std::optional<int> parse_sprio_options(int argc, char** argv, SprioOptions& o) {
  if (const auto v = environment("SLURM_CLUSTERS")) o.cluster = *v;
  if (const auto status = read_option_rows<O>("sprio", kOptions, argc, argv, o)) return status;
  // what follows -j may stand apart from it
  if (o.by_jobs && optind < argc) {
    if (const auto status = take_jobs(argv[optind++], o)) return status;
  }
  if (optind < argc) {
    fail(std::string("Unrecognized option: ") + argv[optind]);
    std::fputs(kUsageText, stdout);
    return 1;
  }
  if (o.long_form && o.format) {
    std::fputs(
        "sprio: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove "
        "one and retry.\n",
        stderr);
    return 1;
  }
  if (!o.format && !o.long_form) o.format = environment("SPRIO_FORMAT");
  return std::nullopt;
}

std::string sprio_options_text(const SprioOptions& o) {
  constexpr size_t kNameWidth = 11;
  OptionLines lines(kNameWidth);
  lines.rule();
  lines.text("format", o.format.value_or(""));
  lines.number("job_flag", o.by_jobs);
  lines.text("jobs", o.jobs_given);
  lines.text("partition", o.partitions_given);
  lines.text("users", o.users_given);
  lines.number("verbose", o.verbose);
  for (size_t i = 0; o.verbose > 1 && i < o.request.jobs.size(); ++i)
    lines.raw(fmt::format("job_list[{}] = {}\n", i, o.request.jobs[i]));
  for (size_t i = 0; o.verbose > 1 && i < o.request.uids.size(); ++i)
    lines.raw(fmt::format("user_list[{}] = {}\n", i, o.request.uids[i]));
  lines.rule();
  lines.raw("\n\n");
  return lines.out();
}

}  // namespace sluice::cli
