// sshare: shares, usage and fair-share factors of associations.
#include <pwd.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/format/environment.hpp"
#include "cli/format/print_fields.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/shared/client.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/assoc_mgr.hpp"

namespace sluice::cli {
namespace {

using protocol::AssociationInUse;
using protocol::AssocMgrReply;

constexpr const char* kUsageText = "Usage: sshare [options]\n";

constexpr const char* kHelpText =
    "Usage: sshare [OPTIONS]\n"
    "  -A, --accounts=           only these accounts, separated by commas\n"
    "  -a, --all                 all users\n"
    "  -e, --helpformat          list the fields that --format takes\n"
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
    "\n"
    "Help options:\n"
    "  --help                    show this help message\n"
    "  --usage                   show the options in brief\n";

struct Options {
  protocol::QueryAssocMgrRequest request;
  std::string format, cluster;
  FieldSeparators separators = FieldSeparators::kColumns;
  bool all_users = false, long_form = false, by_partition = false, no_header = false;
  bool users_only = false;
  uint32_t verbose = 0;
};

struct Row {
  const AssociationInUse& one;
  const AssocMgrReply& all;
  [[nodiscard]] bool is_root() const { return one.depth == 0; }
  [[nodiscard]] bool is_user() const { return !one.record.user.empty(); }
};

std::string tres_name(const TresRecord& tres) {
  return tres.name.empty() ? tres.type : tres.type + "/" + tres.name;
}

// "cpu=200,mem=15680,…": of each TRES.
template <class Amount>
std::string each_tres(const Row& row, Amount&& amount) {
  std::string out;
  for (const TresRecord& tres : row.all.tres) {
    const protocol::TresInUse* found = nullptr;
    for (const protocol::TresInUse& one : row.one.use.tres) {
      if (one.id == tres.id) found = &one;
    }
    const uint64_t value = found == nullptr ? 0 : amount(*found);
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", tres_name(tres), value);
  }
  return out;
}

std::string limits(const Row& row, const TresAmounts& amounts) {
  std::string out;
  for (const TresAmount& amount : amounts) {
    std::string name = std::to_string(amount.id);
    for (const TresRecord& tres : row.all.tres) {
      if (tres.id == amount.id) name = tres_name(tres);
    }
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, amount.count);
  }
  return out;
}

std::string share(double value) { return fmt::format("{:.6f}", value); }

// Of users; with the classic formula of accounts, too.
std::string factor(const Row& row) {
  return row.is_user() || !row.all.fair_tree ? share(row.one.factor) : "";
}

std::string level_fs(const Row& row) {
  if (row.is_root() || !row.all.fair_tree) return "";
  return std::isinf(row.one.level_fs) ? "inf" : share(row.one.level_fs);
}

std::string raw_shares(const Row& row) {
  if (row.one.record.shares == kSharesOfParent) return "parent";
  return row.is_root() ? "" : std::to_string(row.one.record.shares);
}

struct Field {
  std::string_view name;
  int width;
  std::string (*value)(const Row& row);
};
constexpr Field kFields[] = {
    {"Account", -20,
     [](const Row& r) { return std::string(r.one.depth, ' ') + r.one.record.account; }},
    {"Cluster", 10, [](const Row& r) { return r.one.record.cluster; }},
    {"EffectvUsage", 13, [](const Row& r) { return share(r.one.effective_usage); }},
    {"FairShare", 10, factor},
    {"GrpTRESMins", 30, [](const Row& r) { return limits(r, r.one.record.group.tres_mins); }},
    {"GrpTRESRaw", 30,
     [](const Row& r) {
       return each_tres(r, [](const auto& t) { return static_cast<uint64_t>(t.seconds_used); });
     }},
    {"ID", 6, [](const Row& r) { return std::to_string(r.one.record.id); }},
    {"LevelFS", 10, level_fs},
    {"NormShares", 11, [](const Row& r) { return share(r.one.norm_shares); }},
    {"NormUsage", 11, [](const Row& r) { return r.is_root() ? "" : share(r.one.norm_usage); }},
    {"Partition", 12, [](const Row& r) { return r.one.record.partition; }},
    {"RawShares", 10, raw_shares},
    {"RawUsage", 11,
     [](const Row& r) { return std::to_string(static_cast<uint64_t>(r.one.use.usage_raw)); }},
    {"TRESRunMins", 30,
     [](const Row& r) { return each_tres(r, [](const auto& t) { return t.seconds_left / 60; }); }},
    {"User", 10, [](const Row& r) { return r.one.record.user; }},
};

// By name, or how it begins; null: there is none.
const Field* find_field(std::string_view name) {
  for (const Field& field : kFields) {
    if (!name.empty() && iequals(field.name.substr(0, name.size()), name)) return &field;
  }
  return nullptr;
}

std::string usual_format(const Options& o, bool fair_tree) {
  std::string format = "Account,User,";
  if (o.by_partition) format += "Partition,";
  format += "RawShares,NormShares,RawUsage,";
  if (o.long_form) format += "NormUsage,";
  format += "EffectvUsage,FairShare";
  if (o.long_form)
    format += fair_tree ? ",LevelFS,GrpTRESMins,TRESRunMins" : ",GrpTRESMins,TRESRunMins";
  return format;
}

int print_fields() {
  constexpr size_t kOnALine = 4;
  size_t at = 0;
  for (const Field& field : kFields) {
    const bool last = ++at == std::size(kFields) || at % kOnALine == 0;
    std::printf("%-*s%s", last ? 0 : 18, std::string(field.name).c_str(), last ? "\n" : " ");
  }
  return 0;
}

int show(const Options& o, const AssocMgrReply& all) {
  std::vector<PrintedField> printed;
  std::vector<const Field*> fields;
  const std::string format = o.format.empty() ? usual_format(o, all.fair_tree) : o.format;
  for (const std::string& item : split_list(format)) {
    const size_t percent = std::min(item.find('%'), item.size());
    const Field* field = find_field(item.substr(0, percent));
    if (field == nullptr) {
      std::fprintf(stderr, "sshare: error: Invalid field requested: \"%s\"\n",
                   item.substr(0, percent).c_str());
      return 1;
    }
    const int width = percent < item.size() ? std::atoi(item.c_str() + percent + 1) : 0;
    fields.push_back(field);
    printed.push_back({std::string(field->name), width != 0 ? width : field->width});
  }
  std::string out;
  if (!o.no_header) append_headings(printed, o.separators, out);
  for (const AssociationInUse& one : all.associations) {
    if (o.users_only && one.record.user.empty()) continue;
    std::vector<std::string> values;
    for (const Field* field : fields) values.push_back(field->value({one, all}));
    append_values(printed, o.separators, values, out);
  }
  std::fputs(out.c_str(), stdout);
  return 0;
}

std::string own_name() {
  const passwd* entry = getpwuid(getuid());
  return entry == nullptr ? std::to_string(getuid()) : entry->pw_name;
}

using O = Options;
using V = const char*;
constexpr OptionRow<O> kOptions[] = {
    {"accounts", 'A', Takes::kValue,
     [](O& o, V v) { return o.request.accounts = split_list(v), kGoOn; }},
    {"all", 'a', Takes::kNothing, [](O& o, V) { return o.all_users = true, kGoOn; }},
    {"autocomplete", 0, Takes::kValue, no_effect<O>},
    {"cluster", 'M', Takes::kValue, [](O& o, V v) { return o.cluster = v, kGoOn; }},
    {"clusters", 'M', Takes::kValue, nullptr},
    {"format", 'o', Takes::kValue, [](O& o, V v) { return o.format = v, kGoOn; }},
    {"help", 0, Takes::kNothing, [](O&, V) { return print_and_end(kHelpText); }},
    {"helpformat", 'e', Takes::kNothing, [](O&, V) { return std::optional(print_fields()); }},
    {"long", 'l', Takes::kNothing, [](O& o, V) { return o.long_form = true, kGoOn; }},
    {"noheader", 'n', Takes::kNothing, [](O& o, V) { return o.no_header = true, kGoOn; }},
    {"", 'h', Takes::kNothing, [](O& o, V) { return o.no_header = true, kGoOn; }},
    {"parsable", 'p', Takes::kNothing,
     [](O& o, V) { return o.separators = FieldSeparators::kAfterEach, kGoOn; }},
    {"parsable2", 'P', Takes::kNothing,
     [](O& o, V) { return o.separators = FieldSeparators::kBetween, kGoOn; }},
    {"partition", 'm', Takes::kNothing, [](O& o, V) { return o.by_partition = true, kGoOn; }},
    {"usage", 0, Takes::kNothing, [](O&, V) { return print_and_end(kUsageText); }},
    {"users", 'u', Takes::kValue, [](O& o, V v) { return o.request.users = split_list(v), kGoOn; }},
    {"Users", 'U', Takes::kNothing, [](O& o, V) { return o.users_only = true, kGoOn; }},
    {"verbose", 'v', Takes::kNothing, [](O& o, V) { return ++o.verbose, kGoOn; }},
    {"version", 'V', Takes::kNothing, [](O&, V) { return std::optional(print_slurm_version()); }},
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

}  // namespace

int sshare_main(int argc, char** argv) {
  Options o;
  if (const auto v = environment("SLURM_CLUSTERS")) o.cluster = *v;
  if (const auto status = read_option_rows<O>("sshare", kOptions, argc, argv, o)) return *status;
  if (optind < argc) {
    std::fprintf(stderr, "sshare: error: Unrecognized option: %s\n", argv[optind]);
    return 1;
  }
  if (!o.all_users && o.request.users.empty()) o.request.users = {own_name()};
  if (o.all_users) o.request.users.clear();
  o.request.no_users = o.request.no_qos = true;
  Result<Client> client = Client::open();
  if (!client) return report("sshare", client.error());
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
  return show(o, *reply);
}

}  // namespace sluice::cli
