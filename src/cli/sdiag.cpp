// sdiag: what the controller has counted since it was started, or since the counts were reset.
#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <pwd.h>

#include "cli/commands.hpp"
#include "cli/shared/client.hpp"
#include "cli/format/environment.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/format/statistics_text.hpp"
#include "cli/format/structured_output.hpp"
#include "cli/shared/version.hpp"
#include "common/names/errors.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kUsage =
    "Usage: sdiag [-M cluster] [-aritT] [--json[=parser]] [--yaml[=parser]]\n";
constexpr const char* kHelp =
    "Usage: sdiag [OPTIONS]\n"
    "  -a, --all              show all statistics (the default)\n"
    "  -r, --reset            set the counts to zero\n"
    "  -M, --cluster          the cluster to ask\n"
    "  -i, --sort-by-id       sort the calls by their numbers\n"
    "  -t, --sort-by-time     sort the calls by the time they took in all\n"
    "  -T, --sort-by-time2    sort the calls by the time that one took\n"
    "      --json[=parser]    JSON, in the form of this data parser\n"
    "      --yaml[=parser]    YAML, in the form of this data parser\n"
    "      --no-trunc         do not shorten\n"
    "  -V, --version          show the version\n"
    "\nHelp options:\n"
    "  -h, --help             show this help message\n"
    "      --usage            show a short list of the options\n";

struct Options {
  bool reset = false;
  std::string cluster;
  CallOrder order = CallOrder::kCount;
  StructuredChoice form;
  std::vector<std::string> command_line;
};

using O = Options;
using V = const char*;
constexpr OptionRow<O> kOptions[] = {
    {"all", 'a', Takes::kNothing, [](O& o, V) { return o.reset = false, kGoOn; }},
    {"autocomplete", 0, Takes::kValue, no_effect<O>},
    {"cluster", 'M', Takes::kValue, [](O& o, V v) { return o.cluster = v, kGoOn; }},
    {"clusters", 'M', Takes::kValue, nullptr},
    {"help", 'h', Takes::kNothing, [](O&, V) { return print_and_end(kHelp); }},
    {"json", 0, Takes::kPerhaps,
     [](O& o, V v) { return choose_structured("sdiag", StructuredForm::kJson, v, o.form); }},
    {"no-trunc", 0, Takes::kNothing, no_effect<O>},
    {"reset", 'r', Takes::kNothing, [](O& o, V) { return o.reset = true, kGoOn; }},
    {"sort-by-id", 'i', Takes::kNothing, [](O& o, V) { return o.order = CallOrder::kId, kGoOn; }},
    {"sort-by-time", 't', Takes::kNothing,
     [](O& o, V) { return o.order = CallOrder::kTotal, kGoOn; }},
    {"sort-by-time2", 'T', Takes::kNothing,
     [](O& o, V) { return o.order = CallOrder::kAverage, kGoOn; }},
    {"usage", 0, Takes::kNothing, [](O&, V) { return print_and_end(kUsage); }},
    {"version", 'V', Takes::kNothing, [](O&, V) { return std::optional(print_slurm_version()); }},
    {"yaml", 0, Takes::kPerhaps,
     [](O& o, V v) { return choose_structured("sdiag", StructuredForm::kYaml, v, o.form); }},
};

void print_structured(const Options& options, const Client& client, Json records,
                      std::vector<std::string> errors) {
  StructuredDocument document;
  document.key = "statistics";
  document.records = std::move(records);
  document.errors = std::move(errors);
  document.command_line = options.command_line;
  document.cluster = client.config().cluster_name;
  document.accounting_storage = client.config().accounting_storage_type;
  print_document(options.form, std::move(document));
}

int print_statistics(const Options& options, const Client& client,
                     const protocol::QueryStatisticsReply& reply) {
  if (options.form) {
    print_structured(options, client, statistics_json(reply), {});
  } else {
    const std::string text = statistics_text(reply, options.order);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return 0;
}

}  // namespace

int sdiag_main(int argc, char** argv) {
  Options options;
  options.command_line.assign(argv, argv + argc);
  if (const auto status = choose_structured("sdiag", options.form)) return *status;
  options.cluster = environment("SLURM_CLUSTERS").value_or("");
  if (const auto status = read_option_rows<O>("sdiag", kOptions, argc, argv, options))
    return *status;
  Result<Client> client = Client::open();
  if (!client) return report("sdiag", client.error());
  client->keep_asking();
  if (!options.cluster.empty() && !accept_cluster("sdiag", options.cluster, client->config()))
    return 1;
  const auto reply =
      client->call<protocol::QueryStatisticsReply>(protocol::QueryStatisticsRequest{options.reset});
  if (!reply) {
    const std::string why =
        fmt::format("{}: {}", options.reset ? "slurm_reset_statistics" : "slurm_get_statistics",
                    error_text(reply.error()));
    std::fprintf(stderr, "%s\n", why.c_str());
    if (options.form) print_structured(options, *client, Json::object(), {why});
    return 255;
  }
  if (!options.reset) return print_statistics(options, *client, *reply);
  std::puts("Reset scheduling statistics");
  return 0;
}

}  // namespace sluice::cli
