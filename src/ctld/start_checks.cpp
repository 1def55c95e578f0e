#include "ctld/start_checks.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/file_rights.hpp"
#include "common/os/host_name.hpp"
#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/auth/auth_config.hpp"
#include "common/auth/auth_munge.hpp"
#include "common/auth/signer.hpp"
#include "common/config_files/load.hpp"
#include "common/net/address.hpp"
#include "common/net/listen_address.hpp"
#include "common/net/tls_config.hpp"
#include "common/rpc/tls_identity.hpp"
#include "common/rpc/token_server.hpp"
#include "ctld/journal/sqlite_schema.hpp"
#include "ctld/journal/state_folder.hpp"
#include "ctld/job_submit/submit_script.hpp"
#include "ctld/own_host.hpp"
#include "ctld/saved_state.hpp"

namespace sluice::ctld {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> in_order(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

class StartChecks {
 public:
  explicit StartChecks(const ClusterConfig& config)
      : config_(config), who_(host_user(config.slurm_user_id)) {}
  StartFindings all() {
    files();
    keys();
    certificates();
    folders();
    script();
    port();
    return {in_order(std::move(out_)), in_order(std::move(warnings_))};
  }

 private:
  void readable(std::string_view key, const std::string& path) {
    if (!who_) return;
    if (const std::string why = obstacle(*who_, path, kMayRead); !why.empty())
      out_.push_back(fmt::format("{}: {}", key, why));
  }

  // They are read again by the process that has become SlurmUser.
  void files() {
    const FilesOfConfig read = files_of_config(config_.config_path);
    for (const std::string& file : read.files) {
      // what is not there was told of when it was read
      if (fs::exists(file, ignored_)) readable("SlurmUser", file);
    }
    // where he may not look, a wildcard fits nothing
    for (const std::string& folder : read.searched) readable("SlurmUser", folder);
  }

  // Not too short, and for nobody else to read.
  void readable_key(std::string_view what, const std::string& path) {
    const size_t before = out_.size();
    readable(what, path);
    if (out_.size() > before) return;
    const auto key = net::ClusterKey::load(path, config_.slurm_user_id);
    if (!key && key.error().code == ErrorCode::kInvalidConfig)
      out_.push_back(fmt::format("{}: {}", what, key.error().text));
  }

  void key(std::string_view what, const std::string& path) {
    struct stat file {};
    if (::stat(path.c_str(), &file) == 0) return readable_key(what, path);
    if (errno == ENOENT) out_.push_back(fmt::format("{}: the key {} is not there", what, path));
  }
  void keys() {
    if (config_.auth_type == "auth/slurm")
      key("AuthType=auth/slurm", net::key_file_for(config_.config_path));
    socket();
    if (const net::JwtSettings jwt = net::jwt_settings(config_); !jwt.key_file.empty())
      key("AuthAltTypes=auth/jwt", jwt.key_file);
  }

  // Made by the process that has become SlurmUser.
  void socket() {
    const std::string path = net::auth_options(config_).token_socket;
    if (config_.auth_type != "auth/slurm" || path.empty() || !who_) return;
    const fs::path folder = fs::absolute(path, ignored_).parent_path();
    const std::string key = fmt::format("AuthInfo=socket={}", path);
    if (!fs::exists(folder, ignored_)) {
      if (!ignored_ || ignored_.value() == ENOENT || ignored_.value() == ENOTDIR)
        out_.push_back(fmt::format("{}: the folder is not there", key));
      return;
    }
    if (const std::string why = obstacle(*who_, folder, kMayWrite); !why.empty())
      out_.push_back(fmt::format("{}: {}", key, why));
    if (const std::string why = net::foreign_token_lock(path, who_->uid); !why.empty())
      out_.push_back(fmt::format("{}: {}", key, why));
  }

  void certificates() {
    if (!net::uses_tls(config_)) return;
    const net::TlsFiles own = net::controller_tls_files(config_);
    const bool some = fs::exists(own.ca, ignored_) || fs::exists(own.certificate, ignored_) ||
                      fs::exists(own.key, ignored_);
    if (!some && !net::names_tls_files(config_)) return made_at_start(own.ca);
    for (const std::string& file : {own.ca, own.certificate, own.key})
      readable("TLSType=tls/s2n", file);
    if (auto trust = net::tls_trust(config_); !trust)
      out_.push_back(fmt::format("TLSType=tls/s2n: {}", trust.error().text));
    const bool may_read_key = ::geteuid() == 0 || ::geteuid() == config_.slurm_user_id;
    if (!may_read_key) return;
    if (auto identity = net::TlsIdentity::open(own, config_.slurm_user_id); !identity) {
      out_.push_back(fmt::format("TLSType=tls/s2n: {}", identity.error().text));
    }
  }

  // The first start makes certificates beside slurm.conf.
  void made_at_start(const fs::path& authority) {
    if (!who_) return;
    const fs::path folder = fs::absolute(authority, ignored_).parent_path();
    const std::string why = ::geteuid() == 0 ? "" : obstacle(*who_, folder, kMayWrite);
    if (why.empty()) {
      warnings_.push_back(fmt::format(
          "TLSType=tls/s2n: there are no certificates: the start makes them in {}, with a CA of this cluster's own",
          folder.string()));
    } else {
      out_.push_back(fmt::format(
          "TLSType=tls/s2n: there are no certificates, and {}: make them as root, with slurmctld --make-certificates",
          why));
    }
  }

  // Root makes the files of a start before it becomes SlurmUser, who opens logs again later; who
  // starts the controller as SlurmUser needs the folder himself.
  enum class Opened { kOnce, kAgain };
  void place(std::string_view key, const std::string& file, Opened opened) {
    if (file.empty()) return;
    const fs::path folder = fs::absolute(file, ignored_).parent_path();
    if (!fs::is_directory(folder, ignored_)) {
      if (!ignored_ || ignored_.value() == ENOENT || ignored_.value() == ENOTDIR)
        out_.push_back(fmt::format("{}={}: the folder is not there", key, file));
      return;
    }
    if (fs::is_directory(file, ignored_))
      return out_.push_back(fmt::format("{}={}: it is a folder", key, file));
    const bool by_root = ::geteuid() == 0;
    if (!who_ || (by_root && opened == Opened::kOnce)) return;
    const bool there = fs::exists(file, ignored_);
    const std::string why = by_root ? obstacle(*who_, folder, kMayEnter)
                                    : obstacle(*who_, there ? fs::path(file) : folder, kMayWrite);
    if (!why.empty()) out_.push_back(fmt::format("{}={}: {}", key, file, why));
  }
  // False: SlurmUser cannot make what he needs there, and of what lies in it nothing more is said.
  [[nodiscard]] bool state_folder() {
    const std::string& folder = config_.state_save_location;
    if (Status ok = check_state_place(config_); !ok) out_.push_back(ok.error().text);
    if (!who_ || folder.empty()) return true;
    fs::path there = fs::absolute(folder, ignored_);
    while (!fs::exists(there, ignored_) && !ignored_ && there.has_relative_path())
      there = there.parent_path();
    const std::string why = obstacle(*who_, there, kMayWrite);
    if (!why.empty()) out_.push_back(fmt::format("StateSaveLocation={}: {}", folder, why));
    return why.empty();
  }

  // False: there is something that SlurmUser cannot use.
  bool state_file(const fs::path& path, mode_t what) {
    if (!fs::exists(path, ignored_)) return true;
    const std::string why = obstacle(*who_, path, what);
    if (!why.empty()) out_.push_back(fmt::format("StateSaveLocation: {}", why));
    return why.empty();
  }
  // What a start opens there as SlurmUser; root, who looks, may open all of it.
  [[nodiscard]] bool state_files() {
    if (!who_ || config_.state_save_location.empty()) return true;
    const fs::path folder = fs::absolute(config_.state_save_location, ignored_);
    const fs::path journal = folder / journal::kJournalFolder;
    const std::string database = journal::database_file(journal).string();
    bool good = state_file(journal, kMayWrite | kMayEnter);
    good = state_file(journal / "lock", kMayRead | kMayWrite) && good;
    // those beside the database are its owner's, too
    for (const char* end : {"", "-wal", "-shm"}) {
      const bool may = state_file(database + end, kMayRead | kMayWrite);
      good = good && may;
      if (!may) break;
    }
    return signing_key(folder / kSigningKeyFile) && good;
  }
  [[nodiscard]] bool signing_key(const fs::path& path) {
    if (!fs::exists(path, ignored_)) return true;
    if (!state_file(path, kMayRead)) return false;
    const auto key = net::CredentialSigner::load(path.string(), config_.slurm_user_id);
    if (key || key.error().code != ErrorCode::kInvalidConfig) return true;
    out_.push_back(fmt::format("StateSaveLocation: {}", key.error().text));
    return false;
  }
  void state() {
    const bool usable = state_folder() && state_files();
    // who may not open it would say the same once more
    if (!usable && ::geteuid() != 0) return;
    if (Status ok = check_saved_state(config_); !ok)
      out_.push_back(fmt::format("StateSaveLocation: {}", ok.error().text));
  }
  void folders() {
    state();
    if (holds_no_state(config_))
      warnings_.push_back(fmt::format(
          "StateSaveLocation={} holds no state: the first start begins a new cluster there. If there was "
          "one before, see that the folder is the right one, and mounted",
          config_.state_save_location));
    place("SlurmctldLogFile", config_.slurmctld_log_file, Opened::kAgain);
    place("SlurmctldPidFile", config_.slurmctld_pid_file, Opened::kOnce);
    place("SlurmSchedLogFile", config_.slurm_sched_log_file, Opened::kAgain);
  }

  // It is run once, as the controller does when it starts.
  void script() {
    if (const Status ok = check_submit_script(config_); !ok) out_.push_back(ok.error().text);
  }

  // The process of SlurmctldPidFile is a controller.
  [[nodiscard]] bool runs_already() const {
    const std::string text = read_file(config_.slurmctld_pid_file).value_or("");
    const auto pid = to_number<uint32_t>(trim(text));
    if (!pid) return false;
    const std::string command = read_file(fmt::format("/proc/{}/comm", *pid)).value_or("");
    return trim(command) == "slurmctld" || trim(command) == "sluicectld";
  }

  // A controller that runs has it, and one on another host its own.
  void port() {
    const std::string address = net::controller_listen_address(config_, short_host_name());
    const Status free = net::can_listen(address);
    if (free) return;
    const std::string host = address.substr(0, address.rfind(':'));
    const bool anywhere = host == "0.0.0.0";
    if (!anywhere && !net::is_own_address(host)) return;
    // without certificates, or with others than it has, it cannot be asked
    if (!runs_already() && !controller_answers(config_, anywhere ? "localhost" : host))
      out_.push_back("SlurmctldPort: cannot listen on " + free.error().text);
  }

  const ClusterConfig& config_;
  const std::optional<HostUser> who_;
  std::vector<std::string> out_, warnings_;
  std::error_code ignored_;
};

}  // namespace

StartFindings start_findings(const ClusterConfig& config) { return StartChecks(config).all(); }

void add_start_checks(ConfigCheck& check) {
  const auto [errors, warnings] = start_findings(check.config);
  check.errors.insert(check.errors.end(), errors.begin(), errors.end());
  const auto is_said = [&errors = errors](const std::string& warning) {
    // "AuthType=auth/slurm: the key /etc/slurm/slurm.key has mode 0644 …"
    const size_t key = warning.find(": the key /");
    const std::string about = key == std::string::npos ? warning : warning.substr(0, key + 2);
    return std::ranges::any_of(errors,
                               [&](const std::string& error) { return error.starts_with(about); });
  };
  std::erase_if(check.warnings, is_said);
  check.warnings.insert(check.warnings.end(), warnings.begin(), warnings.end());
  for (std::string& warning : net::auth_warnings(check.config))
    check.warnings.push_back(std::move(warning));
}

}  // namespace sluice::ctld
