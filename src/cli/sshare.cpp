// sshare: shares, usage and fair-share factors of associations.
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/format/environment.hpp"
#include "cli/format/structured_output.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/shared/client.hpp"
#include "cli/shared/user_names.hpp"
#include "cli/shared/version.hpp"
#include "cli/sshare_json.hpp"
#include "cli/sshare_table.hpp"
#include "common/base/text.hpp"
#include "common/model/cluster_config.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/assoc_mgr.hpp"

namespace sluice::cli {
namespace {

using protocol::AssocMgrReply;

constexpr const char* kUsageText = "Usage: sshare [options]\n";

constexpr const char* kHelpText =
    "Usage: sshare [OPTIONS]\n"
    "  -A, --accounts=           only these accounts, separated by commas\n"
    "  -a, --all                 all users\n"
    "  -e, --helpformat          list the fields that --format takes\n"
    "      --json[=PARSER]       print JSON in place of a table\n"
    "  -l, --long                further fields\n"
    "  -M, --clusters=name       the cluster to ask\n"
    "  -m, --partition           show the partitions of associations\n"
    "  -n, --noheader            no heading lines\n"
    "  -o, --format=             the fields to show, NAME%WIDTH separated by commas\n"
    "  -p, --parsable            values with | behind each\n"
    "  -P, --parsable2           values with | between them\n"
    "  -U, --Users               users only, without the accounts above them\n"
    "  -u, --users=              only these users, separated by commas\n"
    "  -v, --verbose             say more\n"
    "  -V, --version             print the version and end\n"
    "      --yaml[=PARSER]       print YAML in place of a table\n"
    "\n"
    "Help options:\n"
    "  --help                    show this help message\n"
    "  --usage                   show the options in brief\n";

struct Options {
  protocol::QueryAssocMgrRequest request;
  SshareLayout layout;
  std::string cluster;
  bool all_users = false;
  uint32_t verbose = 0;
  StructuredChoice form;
  std::vector<std::string> command_line;
};

using O = Options;
using V = const char*;
constexpr OptionRow<O> kOptions[] = {
    {"accounts", 'A', Takes::kValue,
     [](O& o, V v) { return o.request.accounts = split_list(v), kGoOn; }},
    // of -a and -u the last one counts
    {"all", 'a', Takes::kNothing,
     [](O& o, V) { return o.all_users = true, o.request.users.clear(), kGoOn; }},
    {"autocomplete", 0, Takes::kValue, no_effect<O>},
    {"cluster", 'M', Takes::kValue, [](O& o, V v) { return o.cluster = v, kGoOn; }},
    {"clusters", 'M', Takes::kValue, nullptr},
    {"format", 'o', Takes::kValue, [](O& o, V v) { return o.layout.format = v, kGoOn; }},
    {"help", 0, Takes::kNothing, [](O&, V) { return print_and_end(kHelpText); }},
    {"helpformat", 'e', Takes::kNothing,
     [](O&, V) { return std::fputs(sshare_fields().c_str(), stdout), std::optional(0); }},
    {"json", 0, Takes::kPerhaps,
     [](O& o, V v) { return choose_structured("sshare", StructuredForm::kJson, v, o.form); }},
    {"long", 'l', Takes::kNothing, [](O& o, V) { return o.layout.long_form = true, kGoOn; }},
    {"noheader", 'n', Takes::kNothing, [](O& o, V) { return o.layout.no_header = true, kGoOn; }},
    {"", 'h', Takes::kNothing, [](O& o, V) { return o.layout.no_header = true, kGoOn; }},
    {"parsable", 'p', Takes::kNothing,
     [](O& o, V) { return o.layout.separators = FieldSeparators::kAfterEach, kGoOn; }},
    {"parsable2", 'P', Takes::kNothing,
     [](O& o, V) { return o.layout.separators = FieldSeparators::kBetween, kGoOn; }},
    {"partition", 'm', Takes::kNothing,
     [](O& o, V) { return o.layout.by_partition = true, kGoOn; }},
    {"usage", 0, Takes::kNothing, [](O&, V) { return print_and_end(kUsageText); }},
    {"users", 'u', Takes::kValue,
     [](O& o, V v) { return o.all_users = false, o.request.users = split_list(v), kGoOn; }},
    {"Users", 'U', Takes::kNothing, [](O& o, V) { return o.layout.users_only = true, kGoOn; }},
    {"verbose", 'v', Takes::kNothing, [](O& o, V) { return ++o.verbose, kGoOn; }},
    {"version", 'V', Takes::kNothing, [](O&, V) { return std::optional(print_slurm_version()); }},
    {"yaml", 0, Takes::kPerhaps,
     [](O& o, V v) { return choose_structured("sshare", StructuredForm::kYaml, v, o.form); }},
};

void tell_filters(const Options& o) {
  if (o.verbose == 0) return;
  const auto list = [](const char* what, const std::vector<std::string>& names) {
    std::fprintf(stderr, "%s requested:\n", what);
    if (names.empty()) std::fputs("\t: all\n", stderr);
    for (const std::string& name : names) std::fprintf(stderr, "\t: %s\n", name.c_str());
  };
  list("Accounts", o.request.accounts);
  list("Users", o.request.users);
}

int print_structured(const Options& o, const Client& client, const AssocMgrReply& reply) {
  StructuredDocument document;
  document.key = "shares";
  document.records = shares_to_json(reply, o.layout.users_only);
  document.command_line = o.command_line;
  document.cluster = client.config().cluster_name;
  document.accounting_storage = client.config().accounting_storage_type;
  print_document(o.form, std::move(document));
  return 0;
}

}  // namespace

int sshare_main(int argc, char** argv) {
  Options o;
  o.command_line.assign(argv, argv + argc);
  if (const auto status = choose_structured("sshare", o.form)) return *status;
  if (const auto v = environment("SLURM_CLUSTERS")) o.cluster = *v;
  if (const auto status = read_option_rows<O>("sshare", kOptions, argc, argv, o)) return *status;
  if (optind < argc) {
    std::fprintf(stderr, "sshare: error: Unrecognized option: %s\n", argv[optind]);
    return 1;
  }
  if (!o.all_users && o.request.users.empty()) o.request.users = {own_name()};
  o.request.no_users = o.request.no_qos = true;
  Result<Client> client = Client::open();
  if (!client) return report("sshare", client.error());
  client->keep_asking();
  if (!accept_cluster("sshare", o.cluster, client->config())) return 1;
  tell_filters(o);
  const auto reply = client->call<AssocMgrReply>(o.request);
  if (!reply) return report("sshare", reply.error());
  if (!reply->followed) {
    std::fprintf(
        stderr,
        "sshare: error: the controller knows of no associations: AccountingStorageType=%s\n",
        client->config().accounting_storage_type.empty()
            ? "accounting_storage/none"
            : client->config().accounting_storage_type.c_str());
    return 1;
  }
  if (o.form) return print_structured(o, *client, *reply);
  const auto table = sshare_table(o.layout, *reply);
  if (!table) {
    std::fprintf(stderr, "sshare: error: %s\n", table.error().text.c_str());
    return 1;
  }
  if (!o.cluster.empty()) std::printf("CLUSTER: %s\n", client->config().cluster_name.c_str());
  std::fputs(table->c_str(), stdout);
  return 0;
}

}  // namespace sluice::cli
