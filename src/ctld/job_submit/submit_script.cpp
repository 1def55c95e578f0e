#include "ctld/job_submit/submit_script.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/names/errors.hpp"
#include "ctld/job_submit/cluster_records.hpp"
#include "ctld/job_submit/job_fields.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/decide/job/submit_plugins.hpp"

namespace sluice::ctld {
namespace {

constexpr const char* kSubmit = "slurm_job_submit";
constexpr const char* kModify = "slurm_job_modify";

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// SUCCESS is 0; ERROR is -1; others are Slurm's numbers of errors.
Error refusal(double code, std::vector<std::string> messages) {
  const bool has_number = code > 0 && code <= UINT32_MAX;
  const std::string sentence = has_number ? error_number_text(static_cast<uint32_t>(code))
                                          : std::string(error_sentence(ErrorCode::kError));
  constexpr double kFirstOfJobs = 2000;  // those before it are of connections, and of the system
  const ErrorCode known = code < kFirstOfJobs ? ErrorCode::kError : error_code_of(sentence);
  if (known == ErrorCode::kError) messages.push_back(sentence);
  return {known, join(messages, "\n")};
}

}  // namespace

std::string submit_script_path(const ClusterConfig& config) {
  return (std::filesystem::path(config.config_path).parent_path() / "job_submit.lua").string();
}

bool SubmitScript::is_wanted(const ClusterConfig& config) {
  return has_option(config.job_submit_plugins, "lua");
}

Status check_submit_script(const ClusterConfig& config) { return SubmitScript().prepare(config); }

Status SubmitScript::prepare(const ClusterConfig& config) {
  if (!is_wanted(config)) return {};
  const std::scoped_lock lock(mutex_);
  const Status ok = read(config);
  return ok ? ok : failure(ErrorCode::kInvalidConfig, "JobSubmitPlugins=lua: " + ok.error().text);
}

Status SubmitScript::read(const ClusterConfig& config) {
  const std::string path = submit_script_path(config);
  struct stat now {};
  (void)::stat(path.c_str(), &now);  // what is not there cannot be read either
  auto fresh = LuaScript::load(path, {kSubmit, kModify}, config.cluster_name);
  if (!fresh) return tl::unexpected(fresh.error());
  script_ = std::move(*fresh);
  path_ = path;
  read_ = now;
  return {};
}

Result<LuaScript*> SubmitScript::script_for(const ClusterConfig& config) {
  const std::string path = submit_script_path(config);
  struct stat now {};
  const bool is_there = ::stat(path.c_str(), &now) == 0;
  const bool is_known = script_ != nullptr && path == path_;
  if (is_known && is_there && (is_same(now, read_) || is_same(now, refused_))) return script_.get();
  const Status ok = read(config);
  if (!ok && !is_known) return tl::unexpected(ok.error());
  if (!ok) {
    log::error("job_submit/lua: {}, using previous script", ok.error().text);
    refused_ = now;
  }
  return script_.get();
}

Result<LuaScript::Answer> SubmitScript::ask(const state::ClusterState& state, const char* function,
                                            std::vector<LuaFields*> tables,
                                            const state::Submitter& owner, uint32_t user) {
  const std::scoped_lock lock(mutex_);
  RecordTable partitions = partition_records(state, owner);
  RecordTable reservations = reservation_records(state);
  RecordTable jobs = job_records(state);
  tables.push_back(&partitions);
  const auto call = [&](LuaScript* script) {
    return script->call(function, tables, user, {{"jobs", &jobs}, {"reservations", &reservations}});
  };
  auto answer = script_for(*state.config).and_then(call);
  if (answer) return answer;
  log::error("job_submit/lua: {}", escape_controls(answer.error().text));
  return failure(std::string(error_sentence(ErrorCode::kError)));
}

Status SubmitScript::run_script(const state::ClusterState& state, const state::SubmitJob& command,
                                const Component& component, std::vector<std::string>& messages) {
  SubmissionFields job({component.spec, component.script, component.environment,
                        state::default_account(state.accounting, component.spec.user_name.view())});
  const state::Submitter owner{component.spec.uid, command.groups};
  const auto answer = ask(state, kSubmit, {&job}, owner, command.who.uid);
  if (!answer) return tl::unexpected(answer.error());
  job.finish();
  for (const std::string& line : answer->messages) messages.push_back(component.prefix + line);
  if (answer->code == 0) return {};
  return tl::unexpected(refusal(answer->code, messages));
}

Result<std::vector<std::string>> SubmitScript::submit(const state::ClusterState& state,
                                                      state::SubmitJob& command,
                                                      std::string& script,
                                                      std::string& environment) {
  std::vector<std::string> messages;
  std::string no_script;
  for (size_t i = 0; i <= command.components.size(); ++i) {
    JobSpec& spec = i == 0 ? command.job : command.components[i - 1];
    if (Status ok = state::check_rights(state, command.who.uid, spec); !ok)
      return tl::unexpected(ok.error());
    const Component component{spec, i == 0 ? script : no_script, environment,
                              command.components.empty() ? "" : fmt::format("{}: ", i)};
    const state::Submitter who{spec.uid, command.groups};
    for (const std::string& name : state.config->job_submit_plugins) {
      const Status ok = iequals(name, "lua") ? run_script(state, command, component, messages)
                                             : state::apply_submit_plugin(state, name, who, spec);
      if (!ok) return tl::unexpected(ok.error());
    }
  }
  command.seen_by_site = true;
  return messages;
}

// scontrol shows no words of the script's, in Slurm neither.
Status SubmitScript::modify(const state::ClusterState& state, const state::FoundJob& job,
                            state::UpdateJob& command) {
  ChangeFields change(command.update, command.who.uid);
  JobFields record(job);
  const uint32_t uid = job->spec->uid;
  const state::Submitter owner{
      uid, state::known_groups(state, uid).value_or(std::vector<std::string>())};
  const auto answer = ask(state, kModify, {&change, &record}, owner, command.who.uid);
  if (!answer) return tl::unexpected(answer.error());
  return answer->code == 0 ? Status() : tl::unexpected(refusal(answer->code, {}));
}

}  // namespace sluice::ctld
