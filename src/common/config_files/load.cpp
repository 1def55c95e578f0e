// Reads configuration files for the pure parser.
#include "common/config_files/load.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/config/conf_parse.hpp"
#include "common/config/keys/conf_ignored.hpp"
#include "common/config_files/read_source.hpp"
#include "common/os/matching_paths.hpp"
#include "common/model/job_folders.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using tables::ConfLine;
using tables::ConfSource;

// `lacking`, where it is given, receives what is wrong with an Include, and the rest is read.
Result<std::vector<ConfLine>> read_lines(const std::string& path,
                                         std::vector<std::string>* lacking = nullptr) {
  Result<ConfSource> source = read_source(path);
  if (!source) return tl::unexpected(source.error());
  const fs::path folder = fs::path(path).parent_path();
  const auto include = [&](const std::string& name, const std::string&) {
    return read_included(folder, name);
  };
  return tables::conf_lines(*source, include, lacking);
}

struct User {
  uint32_t id = 0;
  std::string name;
};

// A user of this machine by name, or by number, which need not be anybody's.
Result<User> find_user(std::string_view key, const std::string& text) {
  std::string room(16384, '\0');
  passwd entry{};
  passwd* found = nullptr;
  const std::optional<uint32_t> number = to_number<uint32_t>(text);
  if (number) getpwuid_r(*number, &entry, room.data(), room.size(), &found);
  else getpwnam_r(text.c_str(), &entry, room.data(), room.size(), &found);
  if (found) return User{entry.pw_uid, entry.pw_name};
  if (number) return User{*number, text};
  return failure(ErrorCode::kInvalidConfig,
                 fmt::format("{}=\"{}\" is not valid; allowed: a user of this machine", key, text));
}

Status resolve_users(const std::string& path, ClusterConfig& config) {
  const Result<User> controller = find_user("SlurmUser", config.slurm_user);
  const Result<User> agent = config.slurmd_user == config.slurm_user
                                 ? controller
                                 : find_user("SlurmdUser", config.slurmd_user);
  for (const auto* one : {&controller, &agent}) {
    if (!*one) return failure(one->error().code, fmt::format("{}: {}", path, one->error().text));
  }
  config.slurm_user_id = controller->id;
  config.slurmd_user_id = agent->id;
  config.slurm_user = controller->name;
  config.slurmd_user = agent->name;
  return {};
}

// Those whose jobs may change features of nodes.
Status resolve_boot_users(HelpersConfig& helpers) {
  for (const std::string& name : helpers.allow_user_boot) {
    const Result<User> user = find_user("AllowUserBoot", name);
    if (!user)
      return failure(user.error().code, fmt::format("helpers.conf: {}", user.error().text));
    helpers.allow_user_boot_ids.push_back(user->id);
  }
  return {};
}

using ParseFile = Status (*)(const std::vector<ConfLine>&, tables::ParsedConfig&);
constexpr std::pair<const char*, ParseFile> kFilesBeside[] = {
    {"cgroup.conf", tables::parse_cgroup_conf},
    {"gres.conf", tables::parse_gres_conf},
    {"mpi.conf", tables::parse_mpi_conf},
    {"topology.conf", tables::parse_topology_conf},
    {"job_container.conf", tables::parse_container_conf},
    {"helpers.conf", tables::parse_helpers_conf},
};

// The lines of slurm.conf or a file beside it; nothing when it is not there.
using MaybeLines = std::optional<Result<std::vector<ConfLine>>>;
using ReadBeside = std::function<MaybeLines(const char* name)>;

MaybeLines read_beside(const fs::path& folder, const char* name,
                       std::vector<std::string>* lacking = nullptr) {
  const std::string path = (folder / name).string();
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  return read_lines(path, lacking);
}

// The lines of a file that came from a controller.
Result<std::vector<ConfLine>> sent_lines(const std::string& file, const std::string& text) {
  return tables::conf_lines({file, text}, [](const std::string&, const std::string&) {
    return failure(ErrorCode::kInvalidConfig, "a configuration that was sent includes no files");
  });
}

// The usual mailer when none is named: the first of the two places that has one.
void choose_mailer(ClusterConfig& config) {
  std::error_code error;
  if (!config.values.contains("MailProg") && !fs::exists(config.mail_prog, error) &&
      fs::exists("/usr/bin/mail", error)) {
    config.mail_prog = "/usr/bin/mail";
  }
}

tl::unexpected<Error> empty_file(const std::string& path) {
  return failure(ErrorCode::kInvalidConfig,
                 fmt::format("{}: there is nothing in it: ClusterName is not set", path));
}

// slurm.conf alone, with all that depends on this machine.
Result<tables::ParsedConfig> parse_main(const Result<std::vector<ConfLine>>& lines,
                                        const std::string& path, tables::ConfigScope scope) {
  if (!lines) return tl::unexpected(lines.error());
  if (lines->empty()) return empty_file(path);
  Result<tables::ParsedConfig> parsed = tables::parse_slurm_conf(*lines, scope);
  if (!parsed) return tl::unexpected(parsed.error());
  ClusterConfig& config = parsed->config;
  if (Status status = resolve_users(path, config); !status) return tl::unexpected(status.error());
  choose_mailer(config);
  config.config_path = path;
  return parsed;
}

Status refuse_namespace_yaml(const ClusterConfig& config, const ReadBeside& beside) {
  if (config.job_container_type != "namespace/linux" || !beside("namespace.yaml")) return {};
  return failure(
      ErrorCode::kInvalidConfig,
      "namespace.yaml: it is not read here; say what it says in job_container.conf, with "
      "NamespaceType=namespace/tmpfs, and remove it");
}

// Without it jobs would share the folders of the node after all.
Status require_container_conf(const ClusterConfig& config) {
  const std::string& type = config.job_container_type;
  const bool wants = type.ends_with("/tmpfs") || type.ends_with("/linux");
  if (!wants || !config.job_containers.empty()) return {};
  return failure(
      ErrorCode::kInvalidConfig,
      fmt::format("{}: JobContainerType={} needs a job_container.conf beside it, which says where "
                  "the folders of jobs are (BasePath)",
                  config.config_path, type));
}

bool lies_in(const std::string& path, const std::string& folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

// A job's own folder would hide from its processes what the agent keeps for it.
Status check_container_folders(const ClusterConfig& config) {
  for (const JobContainerLine& line : config.job_containers) {
    if (iequals(line.base_path, "none")) continue;
    const std::vector<std::string> folders =
        line.folders.empty() ? split_list(kUsualJobFolders) : line.folders;
    for (const std::string& folder : folders) {
      if (!lies_in(config.slurmd_spool_dir, folder)) continue;
      return failure(ErrorCode::kInvalidConfig,
                     fmt::format("{}: jobs have {} for themselves (Dirs of job_container.conf) and "
                                 "could not reach SlurmdSpoolDir={}: one of both must be elsewhere",
                                 config.config_path, folder, config.slurmd_spool_dir));
    }
  }
  return {};
}

Result<ClusterConfig> parse_all(const Result<std::vector<ConfLine>>& main, const std::string& path,
                                const ReadBeside& beside, std::vector<std::string>* warnings) {
  Result<tables::ParsedConfig> parsed = parse_main(main, path, tables::ConfigScope::kAll);
  if (!parsed) return tl::unexpected(parsed.error());
  if (Status ok = refuse_namespace_yaml(parsed->config, beside); !ok)
    return tl::unexpected(ok.error());
  for (const auto& [name, parse] : kFilesBeside) {
    const MaybeLines lines = beside(name);
    if (!lines) continue;
    if (!*lines) return tl::unexpected(lines->error());
    if (Status status = parse(**lines, *parsed); !status) return tl::unexpected(status.error());
  }
  if (Status ok = require_container_conf(parsed->config); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_container_folders(parsed->config); !ok) return tl::unexpected(ok.error());
  if (Status status = resolve_boot_users(parsed->config.helpers); !status)
    return tl::unexpected(status.error());
  if (warnings) *warnings = std::move(parsed->warnings);
  return std::move(parsed->config);
}

// plugstack.conf: SPANK plugins are not loaded, which a site must know of those that it requires.
void note_plugstack(const std::string& path, std::vector<std::string>& found, int depth = 0) {
  constexpr int kDeepest = 8;
  const Result<ConfSource> source = read_source(path);
  if (!source || depth > kDeepest) return;
  std::string_view rest = source->text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    std::string text(line.substr(0, line.find('#')));
    std::ranges::replace(text, '\t', ' ');
    const std::vector<std::string> words = split_list(text, ' ');
    if (words.size() < 2) continue;
    if (words[0] == "required") found.emplace_back("PlugStackConfig=required");
    else if (words[0] == "optional") found.emplace_back("PlugStackConfig");
    else if (words[0] == "include") {
      for (const std::string& one :
           matching_paths((fs::path(path).parent_path() / words[1]).string())) {
        note_plugstack(one, found, depth + 1);
      }
    }
  }
}

void note_plugstack(const fs::path& folder, ClusterConfig& config) {
  std::vector<std::string>& unused = config.without_effect;
  note_plugstack(config.plug_stack_config.empty() ? (folder / "plugstack.conf").string()
                                                  : config.plug_stack_config,
                 unused);
  std::sort(unused.begin(), unused.end());
  unused.erase(std::unique(unused.begin(), unused.end()), unused.end());
}

// Daemons leave the folder that they are started in.
std::string absolute_path(std::string_view path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? std::string(path) : absolute.string();
}

// Empty when it is not set.
std::string environment_value(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment of these programs
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// A file as it is sent.
Result<ConfigFile> read_to_send(const std::string& path, std::string_view name) {
  Result<ConfSource> source = read_source(path);
  if (!source) return tl::unexpected(source.error());
  bool includes = false;
  const fs::path folder = fs::path(path).parent_path();
  const Result<std::vector<ConfLine>> lines =
      tables::conf_lines(*source, [&](const std::string& included, const std::string&) {
        includes = true;
        return read_included(folder, included);
      });
  if (!lines) return tl::unexpected(lines.error());
  return ConfigFile{std::string(name),
                    includes ? tables::conf_text(*lines) : std::move(source->text)};
}

}  // namespace

std::string config_path(std::string_view given) {
  if (!given.empty()) return absolute_path(given);
  const std::string from_environment = environment_value("SLURM_CONF");
  return from_environment.empty() ? kUsualConfigPath : absolute_path(from_environment);
}

bool lacks_config(std::string_view file) {
  return file.empty() && environment_value("SLURM_CONF").empty() &&
         ::access(kUsualConfigPath, F_OK) != 0;
}

std::string config_servers(std::string_view given, std::string_view file) {
  if (!given.empty()) return std::string(given);
  return lacks_config(file) ? environment_value("SLURM_CONF_SERVER") : "";
}

Result<ExpectedController> expected_controller(const std::string& user) {
  ExpectedController out;
  struct stat about {};
  const bool safe =
      ::stat(kFetchedConfigPath, &about) == 0 && (about.st_uid == 0 || about.st_uid == ::geteuid());
  if (const auto known = safe ? load_global_config(kFetchedConfigPath)
                              : Result<ClusterConfig>(failure(ErrorCode::kNotFound, ""))) {
    out = {known->slurm_user_id, known->auth_type};
  }
  const std::string named = user.empty() ? environment_value("SLURM_CONF_SERVER_USER") : user;
  if (named.empty()) return out;
  const Result<User> found = find_user("SLURM_CONF_SERVER_USER", named);
  if (!found) return tl::unexpected(found.error());
  out.slurm_user = found->id;
  return out;
}

std::string readable_config_path() {
  std::string named = config_path();
  if (::access(named.c_str(), R_OK) == 0) return named;
  const bool may_be_elsewhere = named == kUsualConfigPath;
  return may_be_elsewhere && ::access(kFetchedConfigPath, R_OK) == 0 ? kFetchedConfigPath : "";
}

Result<ClusterConfig> load_global_config(const std::string& path) {
  Result<tables::ParsedConfig> parsed =
      parse_main(read_lines(path), path, tables::ConfigScope::kGlobalKeys);
  if (!parsed) return tl::unexpected(parsed.error());
  return std::move(parsed->config);
}

Result<ClusterConfig> load_config(const std::string& path, std::vector<std::string>* warnings) {
  const fs::path folder = fs::path(path).parent_path();
  auto config = parse_all(
      read_lines(path), path, [&folder](const char* name) { return read_beside(folder, name); },
      warnings);
  if (config) note_plugstack(folder, *config);
  return config;
}

WholeConfig load_whole_config(const std::string& path) {
  WholeConfig out;
  const auto add = [&out](const Error& error) {
    tables::append_errors(out.errors, tl::unexpected(error));
  };
  const auto lines = read_lines(path, &out.errors);
  if (!lines) return add(lines.error()), out;
  if (lines->empty()) return add(empty_file(path).value()), out;
  tables::ParsedConfig parsed = tables::parse_all_of_slurm_conf(*lines, out.errors);
  const fs::path folder = fs::path(path).parent_path();
  const auto beside = [&](const char* name) { return read_beside(folder, name, &out.errors); };
  if (Status ok = refuse_namespace_yaml(parsed.config, beside); !ok) add(ok.error());
  for (const auto& [name, parse] : kFilesBeside) {
    const MaybeLines found = beside(name);
    if (!found) continue;
    if (!*found) add(found->error());
    else tables::append_errors(out.errors, parse(**found, parsed));
  }
  out.config = std::move(parsed.config);
  out.config.config_path = path;
  out.warnings = std::move(parsed.warnings);
  choose_mailer(out.config);
  note_plugstack(folder, out.config);
  if (Status ok = require_container_conf(out.config); !ok) add(ok.error());
  if (Status ok = resolve_users(path, out.config); !ok) add(ok.error());
  if (Status ok = resolve_boot_users(out.config.helpers); !ok) add(ok.error());
  return out;
}

// FNV-1a (Fowler, Noll, Vo), of 64 bits: it tells files apart, and proves nothing.
std::string lines_digest(const std::string& path) {
  const auto lines = read_lines(path);
  if (!lines) return {};
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](char byte) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  };
  for (const ConfLine& line : *lines) {
    for (const char byte : line.text) add(byte);
    add('\n');
  }
  return fmt::format("{:016x}", hash);
}

FilesOfConfig files_of_config(const std::string& path) {
  FilesOfConfig out;
  const fs::path folder = fs::path(path).parent_path();
  const auto include = [&](const std::string& name, const std::string&) {
    const fs::path pattern = folder / name;
    std::error_code ignored;
    const bool searches = pattern.filename().string().find_first_of("*?[") != std::string::npos;
    if (searches && fs::is_directory(pattern.parent_path(), ignored))
      out.searched.push_back(pattern.parent_path().string());
    for (const std::string& one : matching_paths(pattern.string())) out.files.push_back(one);
    return read_included(folder, name);
  };
  const auto add = [&](const std::string& file) {
    const Result<ConfSource> source = read_source(file);
    if (!source) return;
    out.files.push_back(file);
    std::vector<std::string> lacking;
    (void)tables::conf_lines(*source, include, &lacking);
  };
  add(path);
  for (const auto& [name, parse] : kFilesBeside) add((folder / name).string());
  return out;
}

Result<ClusterConfig> load_config(const std::vector<ConfigFile>& files, const std::string& path,
                                  std::vector<std::string>* warnings) {
  if (Status ok = check_config_files(files); !ok) return tl::unexpected(ok.error());
  const auto lines_of = [&files](std::string_view name) -> MaybeLines {
    const std::string* text = find_config_file(files, name);
    if (text == nullptr) return std::nullopt;
    return sent_lines(std::string(name), *text);
  };
  const std::string main(kMainConfigFile);
  return parse_all(sent_lines(main, *find_config_file(files, main)), path, lines_of, warnings);
}

Status check_stopping_keys(const ClusterConfig& config) {
  // every job that runs would be ended with its nodes
  if (!config.config_path.empty() && config.nodes.empty() && config.max_node_count == 0) {
    return failure(config.config_path +
                   ": it has no NodeName line (was it cut off?), nor MaxNodeCount, with which a "
                   "cluster begins without nodes");
  }
  if (tables::check_ignored(config)) return {};
  tables::KeyPlaces places;
  if (const auto lines = read_lines(config.config_path)) {
    for (const ConfLine& line : *lines) {
      std::vector<tables::ConfPair> pairs;
      (void)tables::read_conf_pairs(line, pairs);
      for (const tables::ConfPair& pair : pairs)
        places.try_emplace(to_lower(pair.key), fmt::format("{}:{}", line.file, line.number));
    }
  }
  return tables::check_ignored(config, places);
}

Result<std::vector<ConfigFile>> read_config_files(const std::string& path) {
  std::vector<ConfigFile> files;
  Result<ConfigFile> main = read_to_send(path, kMainConfigFile);
  if (!main) return tl::unexpected(main.error());
  files.push_back(std::move(*main));
  const fs::path folder = fs::path(path).parent_path();
  for (const auto& [name, parse] : kFilesBeside) {
    const std::string beside = (folder / name).string();
    std::error_code error;
    if (!fs::exists(beside, error)) continue;
    Result<ConfigFile> file = read_to_send(beside, name);
    if (!file) return tl::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  if (Status ok = check_config_files(files); !ok) return tl::unexpected(ok.error());
  return files;
}

}  // namespace sluice
