// sbcast: copies a file to the nodes of a job.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/step/allocation.hpp"
#include "cli/step/broadcast.hpp"
#include "cli/shared/client.hpp"
#include "cli/format/environment.hpp"
#include "cli/shared/job_names.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kUsage = "Usage: sbcast [--exclude] [-CfFjpvVwZ] [--send-libs] SOURCE DEST\n";
constexpr const char* kHelp =
    "Usage: sbcast [OPTIONS] SOURCE DEST\n"
    "  -C, --compress[=lib]  send it compressed: lz4 (the default) or none\n"
    "  --exclude=<paths>     folders whose shared objects are not sent; none: all are\n"
    "  -f, --force           replace a file that is there\n"
    "  -F, --fanout=num      how many nodes each node passes it on to\n"
    "  -j, --jobid=#[+#][.#] the job, or a step of it, that has the nodes\n"
    "  -p, --preserve        keep mode and times of the file\n"
    "  --send-libs[=yes|no]  send the shared objects of a program, too\n"
    "  -s, --size=num        bytes in a block; with k or m, units of 1024\n"
    "  -t, --timeout=secs    how long to wait for the nodes' answers\n"
    "  --treewidth=num       the same as --fanout\n"
    "  -v, --verbose         say more\n"
    "  -V, --version         show the version and end\n"
    "  -w, --nodelist=nodes  with -Z: the nodes\n"
    "  -Z, --no-allocation   to nodes without a job (for SlurmUser and root)\n"
    "\nHelp options:\n"
    "  --help                show this help message\n"
    "  --usage               show in brief how to call it\n";

constexpr uint32_t kUsualBlock = 8U << 20;

struct Options {
  std::optional<std::string> compress;
  std::optional<std::string> exclude;
  std::optional<bool> send_libraries;
  std::string job;
  std::string nodes;
  bool no_allocation = false;
  uint32_t fanout = 0;
  uint32_t block_bytes = kUsualBlock;
  uint32_t timeout_seconds = 0;
  bool force = false;
  bool preserve = false;
  uint32_t verbose = 0;
};

// "10k", "8m", "512"; nothing when it is none, or too much for a block.
std::optional<uint32_t> block_size(std::string_view text) {
  uint64_t unit = 1;
  if (text.ends_with('k') || text.ends_with('K')) unit = 1024;
  if (text.ends_with('m') || text.ends_with('M')) unit = uint64_t{1} << 20;
  if (text.ends_with('g') || text.ends_with('G')) unit = uint64_t{1} << 30;
  const auto number = to_number<uint32_t>(text.substr(0, text.size() - (unit > 1 ? 1 : 0)));
  if (!number || *number * unit > INT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(*number * unit);
}

std::optional<int> set_size(Options& o, const char* text) {
  const auto size = block_size(text);
  if (!size) std::fputs("size specification is invalid, ignored\n", stderr);
  else o.block_bytes = *size == 0 ? kUsualBlock : std::min(*size, protocol::kMaxBlockBytes);
  return kGoOn;
}

std::optional<int> set_libraries(Options& o, const char* text) {
  const std::string_view value = text == nullptr ? "yes" : text;
  if (iequals(value, "yes")) o.send_libraries = true;
  else if (iequals(value, "no")) o.send_libraries = false;
  else print_error("sbcast", fmt::format("Ignoring unrecognized --send-libs value '{}'", value));
  return kGoOn;
}

template <uint32_t Options::*Member>
std::optional<int> set_number(Options& o, const char* text) {
  o.*Member = to_number<uint32_t>(text).value_or(0);
  return kGoOn;
}

using Row = OptionRow<Options>;
constexpr Row kRows[] = {
    {"autocomplete", 0, Takes::kValue, no_effect<Options>},
    {"compress", 'C', Takes::kPerhaps,
     [](Options& o, const char* name) {
       o.compress = name != nullptr ? name : "";
       return kGoOn;
     }},
    {"exclude", 0, Takes::kValue,
     [](Options& o, const char* list) {
       o.exclude = list;
       return kGoOn;
     }},
    {"fanout", 'F', Takes::kValue, set_number<&Options::fanout>},
    {"force", 'f', Takes::kNothing,
     [](Options& o, const char*) {
       o.force = true;
       return kGoOn;
     }},
    {"help", 0, Takes::kNothing, [](Options&, const char*) { return print_and_end(kHelp); }},
    {"jobid", 'j', Takes::kValue,
     [](Options& o, const char* job) {
       o.job = job;
       return kGoOn;
     }},
    {"no-allocation", 'Z', Takes::kPerhaps,
     [](Options& o, const char*) {
       o.no_allocation = true;
       return kGoOn;
     }},
    {"nodelist", 'w', Takes::kValue,
     [](Options& o, const char* list) {
       o.nodes = list;
       return kGoOn;
     }},
    {"preserve", 'p', Takes::kNothing,
     [](Options& o, const char*) {
       o.preserve = true;
       return kGoOn;
     }},
    {"send-libs", 0, Takes::kPerhaps, set_libraries},
    {"size", 's', Takes::kValue, set_size},
    {"timeout", 't', Takes::kValue, set_number<&Options::timeout_seconds>},
    {"treewidth", 0, Takes::kValue, set_number<&Options::fanout>},
    {"usage", 0, Takes::kNothing, [](Options&, const char*) { return print_and_end(kUsage); }},
    {"verbose", 'v', Takes::kNothing,
     [](Options& o, const char*) {
       ++o.verbose;
       return kGoOn;
     }},
    {"version", 'V', Takes::kNothing,
     [](Options&, const char*) { return std::optional<int>(print_slurm_version()); }},
};

// A variable stands for the option beside it.
constexpr std::pair<const char*, const char*> kVariables[] = {
    {"SBCAST_COMPRESS", "compress"},   {"SBCAST_EXCLUDE", "exclude"},
    {"SBCAST_FANOUT", "fanout"},       {"SBCAST_FORCE", "force"},
    {"SLURM_JOB_ID", "jobid"},         {"SBCAST_PRESERVE", "preserve"},
    {"SBCAST_SEND_LIBS", "send-libs"}, {"SBCAST_SIZE", "size"},
    {"SBCAST_TIMEOUT", "timeout"},     {"SBCAST_TREE_WIDTH", "treewidth"},
};

void read_variables(Options& options) {
  const std::span<const Row> rows(kRows);
  for (const auto& [variable, option] : kVariables) {
    const auto value = environment(variable);
    if (value) (void)take_named(rows, option, options, value->c_str());
  }
}

std::string absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  char folder[4096];
  return fmt::format("{}/{}", getcwd(folder, sizeof folder) != nullptr ? folder : "", path);
}

void show(const BroadcastOptions& o) {
  const auto line = [](std::string_view key, const auto& value) {
    say("sbcast", fmt::format("{:<10} = {}", key, value));
  };
  say("sbcast", "-----------------------------");
  line("block_size", o.block_bytes);
  line("compress", static_cast<uint32_t>(o.compression));
  line("exclude", join(o.exclude, ","));
  line("force", o.force);
  line("fanout", o.fanout);
  line("preserve", o.preserve);
  line("send_libs", o.send_libraries);
  line("timeout", to_seconds(o.timeout));
  line("verbose", o.verbose);
  line("source", o.source);
  line("dest", o.destination);
  say("sbcast", "-----------------------------");
}

BroadcastOptions broadcast_options(const Options& given, const ClusterConfig& config) {
  BroadcastOptions out;
  const auto usual = option_value(config.bcast_parameters, "Compression");
  if (given.compress) out.compression = compression_of("sbcast", *given.compress);
  else if (usual) out.compression = compression_of("sbcast", *usual);
  out.exclude = given.exclude ? excluded_folders(*given.exclude)
                              : excluded_folders(join(config.bcast_exclude, ","));
  out.send_libraries =
      given.send_libraries.value_or(has_option(config.bcast_parameters, "send_libs"));
  out.force = given.force;
  out.preserve = given.preserve;
  out.verbose = given.verbose;
  out.block_bytes = given.block_bytes;
  out.fanout = given.fanout;
  out.timeout = std::chrono::seconds(given.timeout_seconds);
  return out;
}

int check_receivers(const Options& options) {
  const bool lacks = options.no_allocation == options.nodes.empty();
  if (lacks && options.no_allocation) {
    print_error("sbcast", "must specify a node list with -Z, --no-allocation.");
  } else if (lacks) {
    print_error("sbcast", "--nodelist is for use with --no-allocation.");
  } else if (!options.no_allocation && options.job.empty()) {
    print_error(
        "sbcast",
        "Need a job id to run this command.  Run from within a Slurm job or use the --jobid option.");
  } else {
    return 0;
  }
  return 1;
}

}  // namespace

int sbcast_main(int argc, char** argv) {
  Options options;
  read_variables(options);
  if (const auto status =
          read_option_rows("sbcast", std::span<const Row>(kRows), argc, argv, options))
    return *status;
  if (argc - optind != 2) {
    std::fprintf(stderr,
                 "Need two file names, have %d names\nTry \"sbcast --help\" for more information\n",
                 argc - optind);
    return 1;
  }
  if (const int status = check_receivers(options); status != 0) return status;
  const std::string destination = argv[optind + 1];
  if (destination.empty() || destination.ends_with('/')) {
    print_error("sbcast", "Target filename cannot be a directory.");
    return 1;
  }
  Result<Client> client = Client::open();
  if (!client) return report("sbcast", client.error());
  BroadcastOptions what = broadcast_options(options, client->config());
  what.source = argv[optind];
  what.destination = absolute(destination);
  if (what.verbose > 0) show(what);
  if (options.no_allocation) return Broadcast(*client, std::move(what)).send_to(options.nodes);
  const auto named = parse_named_step(options.job);
  if (!named) {
    print_bad_step("sbcast", options.job);
    return 1;
  }
  const Result<JobId> job = find_job(*client, named->job);
  if (!job && job.error().code != ErrorCode::kInvalidJobId) return report("sbcast", job.error());
  const std::string name = number_of_job(named->job) ? options.job : "0";
  return Broadcast(*client, std::move(what))
      .send(job.value_or(kNoJob), named->step.value_or(protocol::kWholeJob), name);
}

}  // namespace sluice::cli
